# SPDX-License-Identifier: Apache-2.0
"""Values from papers (results/published), to stand beside figures of a run: only where axis
and settings fit, as series of their own, and never joined with what was measured.

Published(path) has the rows, its beside(group, metric) the Series that fit one figure.
"""
from collections import namedtuple

from . import Refused
from .load import header, number, records, whole
from .look import SUMS, STAGES

COLUMNS = 'source where platform path variable value metric stage unit number series axis at holds'.split()
KINDS = ('stack', 'size', 'sweep')      # that show them
# Variables that directories of earlier revisions don't have, and what these did: the defaults.
SINCE = {'sharing': 'exclusive', 'threads': 'auto', 'blocks': 'auto', 'queues': 'auto', 'load': 'none', 'workers': '1',
         'cpu_state': 'as-is'}
TO = {('us', 'ns'): 1e3, ('ns', 'ns'): 1.0, ('Mmsg/s', 'Mmsg/s'): 1.0}
Row = namedtuple('Row', ['line', *COLUMNS])
# at: {label of a point: value in the figure's unit}
Series = namedtuple('Series', 'name source where platform metric stage at')


def settings(path, line, text):
    """{variable: (values)}"""
    out = {}
    for word in text.split():
        name, eq, values = word.partition('=')
        if not eq or not name or not all(values.split('|')):
            raise Refused(f'{path}:{line}: holds has "{word}": no NAME=VALUE')
        out[name] = tuple(values.split('|'))
    return out


class Published:
    def __init__(self, path):
        self.path, self.rows = path, []
        whole(path)
        it = records(path)
        header(path, next(it), COLUMNS, more=False)
        for line, c in it:
            if len(c) != len(COLUMNS):
                raise Refused(f'{path}:{line}: {len(c)} cells under {len(COLUMNS)} columns')
            r = Row(line, *c)
            for name in ('source', 'where', 'platform', 'path', 'metric', 'stage', 'unit', 'number', 'series'):
                if not getattr(r, name).strip():
                    raise Refused(f'{path}:{line}: {name} is empty: a published value has one')
            if bool(r.axis) != bool(r.at):
                raise Refused(f'{path}:{line}: axis and at stand together or not at all')
            self.rows.append(r._replace(number=number(path, line, 'number', r.number),
                                        holds=settings(path, line, r.holds)))
        if not self.rows:
            raise Refused(f'{path}: no value in it')

    def misfit(self, group, row):
        """Why a row can't stand in this figure, '' when it can."""
        fixed = {**SINCE, **dict(group.fixed)}
        for name, values in row.holds.items():
            if fixed.get(name) not in values:
                here = f'{name}={fixed[name]}' if name in fixed else f'of no {name}'
                return f'they are of {name}={" or ".join(values)}, and this is {here}'
        return ''

    def beside(self, group, metric):
        """(series, ''), or ([], why not)."""
        metric = metric or next(iter(group.metrics), None)
        unit = group.results.unit.get(metric)
        stages = [s.name for s in SUMS + STAGES]
        usable = [r for r in self.rows if r.holds]
        mine = [r for r in usable if r.axis == group.varied]
        if not mine:
            axes = ', '.join(dict.fromkeys(r.axis for r in usable if r.axis)) or 'no variable'
            return [], f'it varies {group.varied or "nothing"}, and {self.path} has values by {axes}'
        whys = [self.misfit(group, r) for r in mine]
        fit = [r for r, why in zip(mine, whys) if not why]
        if not fit:
            return [], f'{self.path} has values {"by " + group.varied if group.varied else "for a single point"}, but {whys[0]}'
        fit = [r for r in fit if (r.unit, unit) in TO and r.stage in stages]
        if not fit:
            return [], f'{self.path} has none in a unit of {metric} [{unit}]'
        labels = [p.label for p in group.points]
        found = {}
        for r in fit:
            label = r.at if group.varied else labels[0]
            if label not in labels:
                continue
            key = (r.series, r.source, r.where, r.platform, r.metric, 'total' if r.stage == '-' else r.stage)
            at = found.setdefault(key, {})
            if label in at:
                raise Refused(f'{self.path}:{r.line}: a second value of {r.series} at {label}')
            at[label] = r.number * TO[(r.unit, unit)]
        if not found:
            return [], (f'{self.path} has values by {group.varied} at {", ".join(dict.fromkeys(r.at for r in fit))}, '
                        f'none of which is here')
        return [Series(*k, at) for k, at in found.items()], ''


def legend_text(s):
    return f'published, not measured here: {s.stage}, {s.metric} of {s.name}; {s.where} of {s.source}, {s.platform}'


def notes(group, series):
    if not series:
        return []
    out = [f'Published values ({", ".join(dict.fromkeys(s.metric for s in series))}) are the papers\' own, of other hardware '
           f'and with a real NIC; the other figures are means of this run.']
    if dict(group.fixed).get('nic') == 'null':
        out[0] += ' With nic=null nobody completes, so this run had no back-pressure.'
    return out

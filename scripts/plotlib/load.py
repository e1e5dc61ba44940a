# SPDX-License-Identifier: Apache-2.0
"""The files of a run, read strictly: they were written whole, so whatever is not
as `fivestage run` writes it means that the directory is another's, or cut.

load(DIR) gives a Results: the plan, and of each (experiment, point) its rows by
(stage, interval, metric) and the worst status of each repetition.
"""
import csv
import json
import os
from collections import namedtuple

from . import Refused
from .look import LOOK, ORIGIN

SCHEMA = 1
SUMMARY = ('schema,point,rep,seq,t_start_ns,experiment,probe,varied,value,nic,issuer,submitter,size_b,'
           'stage,interval,link,metric,unit,n,mean,ci_lo,ci_hi,min,p50,p90,p99,p999,max,mad,origin,'
           'order_class,status,reason_code,reason').split(',')
PLAN = ['point', 'experiment', 'probe', 'varied', 'value']
STATUSES = ('ok', 'flagged', 'skipped', 'failed')
LIMIT = 1e15    # nothing measured here is larger, in any of the units

Row = namedtuple('Row', 'rep n mean ci_lo ci_hi min p50 p90 p99 p999 max origin')
PlanRow = namedtuple('PlanRow', 'line point experiment probe varied value settings')


def open_text(path, newline=''):
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            raise Refused(f'{path}: not a regular file')
        return open(path, encoding='utf-8', newline=newline)
    except OSError as e:
        raise Refused(f'{path}: {e.strerror}') from e


def records(path):
    """(line, cells) of each record; the header first."""
    with open_text(path) as f:
        reader = csv.reader(f, strict=True)
        try:
            for cells in reader:
                yield reader.line_num, cells
        except csv.Error as e:
            raise Refused(f'{path}:{reader.line_num}: no CSV: {e}') from e
        except UnicodeDecodeError as e:
            raise Refused(f'{path}:{reader.line_num + 1}: not UTF-8') from e
        except OSError as e:
            raise Refused(f'{path}: {e.strerror}') from e


def whole(path):
    """Files of a run end with a line break; one that doesn't was cut."""
    with open_text(path) as f:
        try:
            end = f.seek(0, os.SEEK_END)
            if not end:
                raise Refused(f'{path}: empty')
            f.buffer.seek(end - 1)
            if f.buffer.read(1) != b'\n':
                raise Refused(f'{path}: half-written: its last line has no end')
        except OSError as e:
            raise Refused(f'{path}: {e.strerror}') from e


def header(path, found, wanted, more):
    """Exactly the columns that are known, and behind them others where `more`."""
    line, cells = found
    for i, name in enumerate(wanted):
        if i >= len(cells):
            raise Refused(f'{path}:{line}: column "{name}" is missing')
        if cells[i] != name:
            what = f'unknown column "{cells[i]}"' if cells[i] not in wanted else f'column "{cells[i]}"'
            raise Refused(f'{path}:{line}: {what} where "{name}" belongs')
    if len(cells) > len(wanted) and not more:
        raise Refused(f'{path}:{line}: unknown column "{cells[len(wanted)]}"')
    if len(set(cells)) != len(cells):
        raise Refused(f'{path}:{line}: column "{next(c for c in cells if cells.count(c) > 1)}" stands twice')


def number(path, line, name, text):
    if not text:
        return None
    try:
        x = float(text)
        if -LIMIT <= x <= LIMIT and '_' not in text:    # which nan is not
            return x
    except ValueError:
        pass
    raise Refused(f'{path}:{line}: {name} is "{text}": no number that was measured')


def integer(path, line, name, text, least):
    if not (text.isascii() and text.isdigit()) or len(text) > 15 or int(text) < least:
        raise Refused(f'{path}:{line}: {name} is "{text}": no whole number from {least}')
    return int(text)


def load_run(directory):
    path = os.path.join(directory, 'run.json')
    if not os.path.isdir(directory):
        why = 'no directory' if os.path.exists(directory) else 'no such directory'
        raise Refused(f'{directory}: {why}')
    if not os.path.exists(path):
        raise Refused(f'{path}: not there, so {directory} is no result directory of fivestage')
    with open_text(path) as f:
        try:
            run = json.load(f)
        except json.JSONDecodeError as e:
            raise Refused(f'{path}:{e.lineno}: no JSON: {e.msg}') from e
        except (UnicodeDecodeError, RecursionError, ValueError) as e:
            raise Refused(f'{path}: no JSON: {type(e).__name__}') from e
        except OSError as e:
            raise Refused(f'{path}: {e.strerror}') from e
    if not isinstance(run, dict) or run.get('tool') != 'fivestage':
        raise Refused(f'{path}: not of fivestage')
    if run.get('schema') != SCHEMA:
        raise Refused(f'{path}: schema {run.get("schema")}; known here is {SCHEMA}')
    if run.get('complete') is not True:
        raise Refused(f'{path}: the run is not finished ({run.get("how_far") or "it was broken off"}), '
                      f'so there is no whole summary.csv')
    repeat = run.get('repeat')
    if not isinstance(repeat, int) or isinstance(repeat, bool) or repeat < 1:
        raise Refused(f'{path}: repeat is {json.dumps(repeat)}: no number of repetitions')
    return run


def load_plan(directory):
    """The variables' names, and the rows."""
    path = os.path.join(directory, 'plan.csv')
    whole(path)
    it = records(path)
    top = next(it)
    header(path, top, PLAN, more=True)
    variables, rows, seen = top[1][len(PLAN):], [], set()
    for line, c in it:
        if len(c) != len(PLAN) + len(variables):
            raise Refused(f'{path}:{line}: {len(c)} cells under {len(PLAN) + len(variables)} columns')
        row = PlanRow(line, *c[:len(PLAN)], tuple(c[len(PLAN):]))
        if (row.experiment, row.point) in seen:
            raise Refused(f'{path}:{line}: point {row.point} stands twice in {row.experiment}')
        seen.add((row.experiment, row.point))
        rows.append(row)
    if not rows:
        raise Refused(f'{path}: no point in it')
    return variables, rows


class Results:
    """One result directory in memory."""

    def __init__(self, directory):
        self.dir = directory
        self.run = load_run(directory)
        self.plan_path = os.path.join(directory, 'plan.csv')
        self.path = os.path.join(directory, 'summary.csv')
        self.variables, self.plan = load_plan(directory)
        self.rows = {(p.experiment, p.point): {} for p in self.plan}
        self.status = {k: {} for k in self.rows}    # by repetition: (status, reason)
        self.unit = {}                              # of each metric
        self.load_summary()
        self.check_whole()

    def load_summary(self):
        whole(self.path)
        it = records(self.path)
        header(self.path, next(it), SUMMARY, more=False)
        for line, c in it:
            if len(c) != len(SUMMARY):
                raise Refused(f'{self.path}:{line}: {len(c)} cells under {len(SUMMARY)} columns')
            self.add(line, c)

    def add(self, line, c):
        (schema, point, rep, _, _, experiment, _, _, _, _, _, _, _, stage, interval, _, metric, unit) = c[:18]
        origin, _, status, _, reason = c[29:]
        key = (experiment, point)
        if schema != str(SCHEMA):
            raise Refused(f'{self.path}:{line}: schema "{schema}"; known here is {SCHEMA}')
        if key not in self.rows:
            raise Refused(f'{self.path}:{line}: point {point} of {experiment} is not in plan.csv')
        if status not in STATUSES:
            raise Refused(f'{self.path}:{line}: unknown status "{status}"')
        if stage not in LOOK:
            raise Refused(f'{self.path}:{line}: unknown stage "{stage}"')
        if origin not in ORIGIN:
            raise Refused(f'{self.path}:{line}: unknown origin "{origin}"')
        rep = integer(self.path, line, 'rep', rep, 1)
        before = self.status[key].get(rep, ('ok', ''))
        if rep not in self.status[key] or STATUSES.index(status) > STATUSES.index(before[0]):
            self.status[key][rep] = (status, reason)
        if not metric or status in ('skipped', 'failed'):
            return
        if self.unit.setdefault(metric, unit) != unit:
            raise Refused(f'{self.path}:{line}: {metric} in "{unit}" after "{self.unit[metric]}"')
        numbers = [number(self.path, line, name, x) for name, x in zip(SUMMARY[18:28], c[18:28])]
        rows = self.rows[key].setdefault((stage, interval, metric), [])
        # Repetitions of a point stand in order, so this rarely has to look far.
        if rows and rep <= rows[-1].rep and any(r.rep == rep for r in rows):
            raise Refused(f'{self.path}:{line}: a second row of point {point}, rep {rep}: '
                          f'{stage} {interval} {metric}')
        if numbers[1] is not None:
            rows.append(Row(rep, *numbers, ORIGIN[origin].name))

    def check_whole(self):
        """Cut at a line's end, a file looks whole: every run of the plan has to be there."""
        for key, status in self.status.items():
            for rep in range(1, self.run['repeat'] + 1):
                if rep not in status:
                    raise Refused(f'{self.path}: half-written: it has no row of point {key[1]}, rep {rep}, '
                                  f'of {key[0]}, which stands in plan.csv')
            if len(status) > self.run['repeat']:
                raise Refused(f'{self.path}: point {key[1]} has rep {max(status)}, '
                              f'but run.json says repeat {self.run["repeat"]}')

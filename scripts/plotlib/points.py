# SPDX-License-Identifier: Apache-2.0
"""From rows to what a figure shows of each point, and what may stand in one figure.

The unit is the run. With two repetitions or more a figure is the mean of the
runs' means, and its interval Student's over the runs (95 %). With one it is the
row's own mean and interval, which says nothing of the next run. Medians don't
add, so only means are stacked.
"""
import functools
import math
from collections import namedtuple

from . import Refused
from .load import STATUSES
from .look import FIVE, ORIGINS, STAGES

# over: 'runs' or 'row', what the interval is of ('' where there is none)
Mean = namedtuple('Mean', 'mean lo hi over runs emulated origin')
QUANTILES = ('min', 'p50', 'p90', 'p99', 'p999', 'max')
# Without --metric the first of these that an experiment has.
METRICS = ('latency', 'rate', 'goodput', 'bandwidth', 'store', 'register', 'deregister', 'floor', 'fence', 'violation_share', 'to_rung', 'to_first',
           'to_end', 'call', 'clock_error', 'responder', 'plant_delta', 'plant_wall', 'observer', 'polls', 'stale_wqe',
           'stale_record')
# What stands beside a metric as its upper bound, where rows have it.
CEILING = {'bandwidth': 'ceiling'}


# ---- statistics ----
def student_within(t, df):
    """How probable it is that |T| <= t; finite sums for whole degrees of freedom."""
    theta = math.atan(t / math.sqrt(df))
    s, c = math.sin(theta), math.cos(theta)
    term, total = (c if df % 2 else 1.0), 0.0
    for k in range(1 if df % 2 else 0, df - 1, 2):
        total += term
        term *= c * c * (k + 1) / (k + 2)
    return 2 / math.pi * (theta + s * total) if df % 2 else s * total


@functools.lru_cache(maxsize=None)
def t975(df):
    """The 97.5 % quantile of Student's t."""
    if df > 300:    # the next term is below 1e-4
        z = 1.959963985
        return z + (z ** 3 + z) / (4 * df)
    lo, hi = 0.0, 13.0
    for _ in range(60):
        mid = (lo + hi) / 2
        lo, hi = (mid, hi) if student_within(mid, df) < 0.95 else (lo, mid)
    return hi


def mean_of(rows):
    """One figure out of the rows of its repetitions, or None."""
    if not rows:
        return None
    origin = ORIGINS[max(ORIGINS_AT[r.origin] for r in rows)].name
    if len(rows) == 1:
        r = rows[0]
        known = r.ci_lo is not None and r.ci_hi is not None
        return Mean(r.mean, r.ci_lo if known else None, r.ci_hi if known else None, 'row' if known else '',
                    1, origin == 'emulated', origin)
    n = len(rows)
    m = math.fsum(r.mean for r in rows) / n
    half = t975(n - 1) * math.sqrt(math.fsum((r.mean - m) ** 2 for r in rows) / (n - 1) / n)
    return Mean(m, m - half, m + half, 'runs', n, origin == 'emulated', origin)


ORIGINS_AT = {o.name: i for i, o in enumerate(ORIGINS)}


# ---- one point ----
class Point:
    def __init__(self, row, label, cells, status, repeat):
        self.row, self.label, self.cells, self.repeat = row, label, cells, repeat
        self.id = row.point
        self.means, self.cut = {}, None
        runs = list(status.values())
        self.status = max((s for s, _ in runs), key=STATUSES.index)
        # Said of the point, by reason: in how many of its runs.
        self.reasons = {}
        for s, why in runs:
            if s != 'ok':
                self.reasons[(s, why)] = self.reasons.get((s, why), 0) + 1

    def runs(self, status):
        """How many of its repetitions have this one; self.status is the worst of them all."""
        return sum(n for (s, _), n in self.reasons.items() if s == status)

    def mean(self, stage, metric, interval='-'):
        key = (stage, interval, metric)
        if key not in self.means:
            self.means[key] = mean_of(self.cells.get(key))
        return self.means[key]

    def stages(self):
        """The five, and queueing where it has a row; None where one of the five has none."""
        found = {s.name: self.mean(s.name, 'latency') for s in STAGES}
        return found if all(found[s] for s in FIVE) else None

    def parts(self):
        """{(stage, origin): mean}. A stage is cut by the origin of its intervals where these
        add up to it, as means do; where they don't, or aren't there, it is one part."""
        if self.cut is not None:
            return self.cut
        out = self.cut = {}
        for s in STAGES:
            whole = self.mean(s.name, 'latency')
            if not whole:
                continue
            by = {}
            for (stage, interval, metric), rows in self.cells.items():
                if stage == s.name and interval != '-' and metric == 'latency' and len(rows) == whole.runs:
                    m = self.mean(stage, metric, interval)
                    by[m.origin] = by.get(m.origin, 0) + m.mean
            if len(by) < 2 or abs(sum(by.values()) - whole.mean) > 1e-3 * abs(whole.mean) or min(by.values()) < 0:
                by = {whole.origin: whole.mean}
            for o in ORIGINS:
                if o.name in by:
                    out[(s.name, o.name)] = by[o.name]
        return out

    def quantiles(self, stage, metric):
        """{name: value}; quantiles are averaged over the runs, min and max are over all."""
        rows, out = self.cells.get((stage, '-', metric), []), {}
        for q in QUANTILES:
            values = [getattr(r, q) for r in rows]
            if values and None not in values:
                out[q] = min(values) if q == 'min' else max(values) if q == 'max' else \
                    math.fsum(values) / len(values)
        return out

    def has_rungs(self):
        """Of a ladder, as the probe tlb has them: its rows name an arm, lines and pages."""
        return any(stage == 'translation' and metric == 'latency' and interval.split('-')[0] == 'packed'
                   for stage, interval, metric in self.cells)

    def figure_stages(self, metric):
        """Stages that have a whole figure of this metric, in the table's order."""
        have = {stage for (stage, interval, m), rows in self.cells.items() if m == metric and interval == '-' and rows}
        return [s for s in ('total', 'submit', '-', *(s.name for s in STAGES)) if s in have]


# ---- what stands in one figure ----
class Group:
    """Points that differ in one column of the plan, or in none.

    varied: that column's name, '' where there is one point alone.
    """

    def __init__(self, results, name, heading, rows, varied):
        names = ['probe', *results.variables]
        self.results, self.name, self.heading, self.varied = results, name, heading, varied
        at = names.index(varied) if varied else None
        values = [[r.probe, *r.settings] for r in rows]
        self.fixed = [(n, values[0][i]) for i, n in enumerate(names) if i != at]
        self.points = [Point(r, v[at] if varied else r.experiment, results.rows[(r.experiment, r.point)],
                             results.status[(r.experiment, r.point)], results.run['repeat'])
                       for r, v in zip(rows, values)]
        self.numeric = bool(varied) and all(plain_number(p.label) for p in self.points)
        if self.numeric:
            self.points.sort(key=lambda p: float(p.label))
        self.metrics = sorted({m for p in self.points for (_, _, m), rows in p.cells.items() if rows},
                              key=lambda m: METRICS.index(m) if m in METRICS else len(METRICS))

    def shown(self, metric):
        return [p for p in self.points if p.figure_stages(metric)]

    def stages(self, metric):
        have = {s for p in self.points for s in p.figure_stages(metric)}
        return [s for s in ('total', 'submit', '-', *(s.name for s in STAGES)) if s in have]


def plain_number(text):
    digits = text.replace('.', '', 1)
    return digits.isascii() and digits.isdigit() and len(digits) < 16


def differing(names, rows):
    values = [[r.probe, *r.settings] for r in rows]
    return [n for i, n in enumerate(names) if any(v[i] != values[0][i] for v in values)]


def one_column(results, rows, what):
    names = differing(['probe', *results.variables], rows)
    if len(names) > 1:
        raise Refused(f'{results.plan_path}: {what} differ in {len(names)} columns ({", ".join(names)}); '
                      f'what is compared may differ in one')
    return names[0] if names else ''


def experiments(results):
    out = {}
    for r in results.plan:
        out.setdefault(r.experiment, []).append(r)
    return out


def groups_of(results, name, rows, vary=None):
    """The figures' points of one experiment: itself, or the slices of a grid."""
    names = results.variables
    axes = rows[0].varied.split('*') if rows[0].varied else []
    for r in rows:
        if r.varied != rows[0].varied:
            raise Refused(f'{results.plan_path}:{r.line}: {name} varies "{r.varied}" here and '
                          f'"{rows[0].varied}" in line {rows[0].line}')
    for a in axes:
        if a not in names:
            raise Refused(f'{results.plan_path}:{rows[0].line}: varied is "{a}", which is no column')
    if vary and vary not in axes:
        raise Refused(f'{results.plan_path}:{rows[0].line}: {name} varies {", ".join(axes) or "nothing"}, '
                      f'not {vary}')
    if len(axes) < 2:
        found = one_column(results, rows, f'the points of {name}')
        if found and found not in axes:
            raise Refused(f'{results.plan_path}:{rows[0].line}: {name} says that it varies '
                          f'{axes[0] if axes else "nothing"}, but its points differ in {found}')
        return [Group(results, name, name, rows, found or (axes[0] if axes else ''))]
    # A grid was asked for: one figure for each combination of the other axes.
    at = {a: names.index(a) for a in axes}
    x = vary or max(axes, key=lambda a: len({r.settings[at[a]] for r in rows}))
    slices = {}
    for r in rows:
        slices.setdefault(tuple((a, r.settings[at[a]]) for a in axes if a != x), []).append(r)
    out = []
    for fixed, part in slices.items():
        one_column(results, part, f'the points of {name}')
        out.append(Group(results, '.'.join([name, *(f'{a}-{v}' for a, v in fixed)]),
                         f'{name}, {", ".join(f"{a}={v}" for a, v in fixed)}', part, x))
    return out


def group_together(results, names, rows_of):
    """--compare: the points of several experiments in one figure."""
    rows, seen = [], set()
    for n in names:
        for r in rows_of[n]:
            if r.point not in seen:
                rows.append(r)
                seen.add(r.point)
    varied = one_column(results, rows, f'the points of {" and ".join(names)}')
    return Group(results, '+'.join(names), ' + '.join(names), rows, varied)

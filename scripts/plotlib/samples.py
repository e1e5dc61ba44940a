# SPDX-License-Identifier: Apache-2.0
"""samples.csv of `--raw`: raw ticks of every mark, a line a message.

Ticks become ns without knowing any clock: the summary has the mean of the same
messages in ns, so their ratio is the clock's rate over that run. The issuer's
comes from the total, the NIC's from what it spent from `seen` to `completed`. As
in the summary the crossing is the total less what the agents spent themselves.

The file may be large: it is read once, run by run, into histograms between the
lowest and highest sample that the summary names.
"""
import math
import os
from array import array

from . import Refused
from .load import records, whole
from .look import HELPER_MARKS, NIC_MARKS, STAGES

NAME = 'samples.csv'
FIXED = ['point', 'rep', 'message']
PLANTS = ('plant', 'untold')
BINS = 90


def planted(results, point):
    """Whether something was planted: its samples are of all blocks, its rows of the planted ones alone."""
    settings = dict(zip(results.variables, point.row.settings))
    return any(settings.get(n, 'none') != 'none' for n in PLANTS)


class Hist:
    """Bins of equal width in the logarithm, or in plain ns where a sample may be below nought."""

    def __init__(self, lo, hi):
        self.log = 0 < lo <= hi
        self.lo, self.hi = (math.log(lo), math.log(hi)) if self.log else (lo, hi)
        self.bins, self.n = [0] * BINS, 0

    def edge(self, k):
        x = self.lo + (self.hi - self.lo) * k / BINS
        return math.exp(x) if self.log else x

    def add(self, values):
        width = (self.hi - self.lo) / BINS or 1.0
        for v in values:
            x = (math.log(v) if v > 0 else self.lo) if self.log else v
            # A run's rate is a mean over its blocks: the ends may lie a hair outside.
            self.bins[min(BINS - 1, max(0, int((x - self.lo) / width)))] += 1
        self.n += len(values)


class Wanted:
    """Histograms of some stages of one point."""

    def __init__(self, point, stages):
        self.cells = point.cells
        self.hist = {}
        for s in stages:
            q = point.quantiles(s, 'latency')
            if 'min' in q and 'max' in q and (s == 'total' or s in {x.name for x in STAGES}):
                # Where the lowest is below nought, the few down there share the lowest bin.
                lo = q['min'] if q['min'] > 0 or q.get('p50', 0) <= 0 else q['p50'] / 4
                self.hist[s] = Hist(lo, q['max'])

    def row(self, stage, interval, rep):
        return next((r for r in self.cells.get((stage, interval, 'latency'), ()) if r.rep == rep), None)

    def run(self, path, point, rep, ticks):
        """ticks: a column of each mark, of one run."""
        total = self.row('total', '-', rep)
        if not total or 'intent' not in ticks or 'noticed' not in ticks:
            return
        whole_ticks = [b - a for a, b in zip(ticks['intent'], ticks['noticed']) if a >= 0 and b >= 0]
        if len(whole_ticks) != total.n:
            raise Refused(f'{path}: half-written: {len(whole_ticks)} samples of point {point}, rep {rep}, where '
                          f'summary.csv counts {total.n:.0f}')
        rate = total.mean / (sum(whole_ticks) / len(whole_ticks)) if sum(whole_ticks) else 0.0
        for stage, values in self.stages(rep, ticks, whole_ticks, rate).items():
            self.hist[stage].add(values)

    def stages(self, rep, ticks, whole_ticks, rate):
        # With a helper there is a third clock, and `rung` may be on it: the total alone is sure then.
        helped = any(max(ticks[m], default=-1) >= 0 for m in HELPER_MARKS if m in ticks)
        if helped or set(self.hist) <= {'total'}:
            return {s: [t * rate for t in whole_ticks] for s in self.hist if s == 'total'}
        own, out, nic_rate = [0.0] * len(whole_ticks), {s: None for s in self.hist}, self.nic_rate(rep, ticks)
        for (stage, interval, metric), _ in self.cells.items():
            marks = interval.split('-')
            if metric != 'latency' or len(marks) != 2 or not all(marks) or any(m not in ticks for m in marks):
                continue
            nic = [m in NIC_MARKS for m in marks]
            if nic[0] != nic[1]:
                continue    # from one clock to another
            r = nic_rate if nic[0] else rate
            a, b = ticks[marks[0]], ticks[marks[1]]
            if r is None or len(a) != len(own) or min(a) < 0 or min(b) < 0:
                return {s: [t * rate for t in whole_ticks] for s in self.hist if s == 'total'}
            d = [(y - x) * r for x, y in zip(a, b)]
            own = [x + y for x, y in zip(own, d)]
            if stage in out:
                out[stage] = d if out[stage] is None else [x + y for x, y in zip(out[stage], d)]
        if 'total' in out:
            out['total'] = [t * rate for t in whole_ticks]
        if 'crossing' in out:
            out['crossing'] = [t * rate - o for t, o in zip(whole_ticks, own)]
        return {s: v for s, v in out.items() if v is not None}

    def nic_rate(self, rep, ticks):
        if 'seen' not in ticks or 'completed' not in ticks or min(ticks['seen']) < 0 or min(ticks['completed']) < 0:
            return None
        spent = 0.0
        for (stage, interval, metric) in self.cells:
            marks = interval.split('-')
            if metric == 'latency' and len(marks) == 2 and all(m in NIC_MARKS for m in marks):
                r = self.row(stage, interval, rep)
                spent += r.mean if r else 0.0
        took = sum(ticks['completed']) - sum(ticks['seen'])
        return spent * len(ticks['seen']) / took if spent > 0 and took > 0 else None


def there(results):
    return os.path.exists(os.path.join(results.dir, NAME))


def read(results, wanted):
    """wanted: {point id: Wanted}; fills their histograms from the file, which is there."""
    path = os.path.join(results.dir, NAME)
    whole(path)
    it = records(path)
    line, top = next(it)
    if top[:3] != FIXED or len(set(top)) != len(top):
        raise Refused(f'{path}:{line}: not the columns of samples: {",".join(top[:4])}...')
    marks = [(i, m) for i, m in enumerate(top) if i >= 3 and m != 'polls']
    points = {p.point for p in results.plan}
    now, ticks = None, None
    for line, c in it:
        if len(c) != len(top):
            raise Refused(f'{path}:{line}: {len(c)} cells under {len(top)} columns')
        if (c[0], c[1]) != now:
            flush(path, wanted, now, ticks)
            if c[0] not in points or not c[1].isdigit():
                raise Refused(f'{path}:{line}: point {c[0]}, rep {c[1]} is not in plan.csv')
            now, ticks = (c[0], c[1]), {m: array('q') for _, m in marks}
        if c[0] in wanted:
            try:
                for i, m in marks:
                    ticks[m].append(int(c[i]) if c[i] else -1)
            except (ValueError, OverflowError):
                raise Refused(f'{path}:{line}: {m} is "{c[i]}": no ticks') from None
    flush(path, wanted, now, ticks)
    return True


def flush(path, wanted, now, ticks):
    if now and now[0] in wanted:
        wanted[now[0]].run(path, now[0], int(now[1]), ticks)

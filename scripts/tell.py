#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Says in three sentences what a run of configs/default.ini shows.

  scripts/tell.py DIR [--drawn]

Every number is computed from DIR/summary.csv: where the time of an 8-byte message goes
on each path, which stage takes the most and whether a bare flag over the same way agrees,
and how the total grows with size. A fourth line warns where the run was disturbed.

  --drawn   name the figures that scripts/plot.py left in DIR/plots

Exit codes: 0 said; 2 refused, with one sentence that says why.
"""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

# pylint: disable=wrong-import-position
from plotlib import Refused, load, points
from plotlib.look import FIVE, STAGES

# The path figures of the config, the one with more paths first and this order otherwise:
# experiment, the bare crossing beside it, and what each value means.
PATHS = (
    ('gpu-peer-where', 'gpu-peer-where-pingpong', {'gpu': 'between SMs of one GPU', '1': 'between two GPUs'}),
    ('soft-issuer', 'soft-issuer-pingpong', {'gpu': 'from a GPU to a CPU over PCIe', 'cpu': 'from one CPU to another'}),
)
SIZES = ('gpu-peer-other-size', 'gpu-peer-size', 'gpu-soft-size', 'cpu-soft-size')
SIZE_SAYS = {'gpu-peer-other-size': 'between two GPUs', 'gpu-peer-size': 'between SMs of one GPU',
             'gpu-soft-size': 'from a GPU to a CPU', 'cpu-soft-size': 'from one CPU to another'}
DISTURBED = 2.0         # times the median that a mean of an undisturbed run stays below


def time_text(ns):
    for limit, divisor, unit in ((1e4, 1, 'ns'), (1e7, 1e3, 'us'), (1e10, 1e6, 'ms')):
        if ns < limit:
            x = ns / divisor
            return f'{x:.0f} {unit}' if unit == 'ns' or x >= 100 else f'{x:.1f} {unit}'
    return f'{ns / 1e9:.1f} s'


def size_text(n):
    for unit, shift in (('MiB', 20), ('KiB', 10)):
        if n >= 1 << shift and n % (1 << shift) == 0:
            return f'{n >> shift} {unit}'
    return f'{n} B'


def joined(words):
    return words[0] if len(words) == 1 else ', '.join(words[:-1]) + ' and ' + words[-1]


class Run:
    def __init__(self, where):
        self.results = load.Results(where)
        self.rows = points.experiments(self.results)

    def points(self, experiment):
        """{value: point} of those that have a total."""
        if experiment not in self.rows:
            return {}
        group = points.groups_of(self.results, experiment, self.rows[experiment])[0]
        return {p.row.value: p for p in group.points if p.mean('total', 'latency')}

    def paths(self):
        """[(experiment, pingpong, says, {value: point})], the best figure first."""
        found = [(e, b, says, {v: p for v, p in self.points(e).items() if p.stages()}) for e, b, says in PATHS]
        found = sorted((f for f in found if f[3]), key=lambda f: -len(f[3]))
        if not found:
            raise Refused(f'{self.results.path}: neither {" nor ".join(p[0] for p in PATHS)} has a figure: '
                          f'this speaks of runs of configs/default.ini')
        return found


def mean(point, stage, metric='latency'):
    m = point.mean(stage, metric)
    return m.mean if m else None


def sentence_paths(run, figure):
    told = [f'{time_text(mean(p, "total"))} {says[v]}' for _, _, says, at in run.paths() for v, p in at.items()]
    return f'{figure} one 8-byte message takes {joined(told)}, from the decision to send until its completion is seen.'


def sentence_stages(run):
    _, bare, says, at = run.paths()[0]
    value, p = next(iter(at.items()))
    total = mean(p, 'total')
    stages = {s: mean(p, s) for s in FIVE}
    order = sorted(stages, key=stages.get, reverse=True)
    parts = p.parts()
    emulated = sum(v for (_, origin), v in parts.items() if origin == 'emulated')
    by = [f'{s} {time_text(stages[s])} ({100 * stages[s] / total:.0f} %)' for s in order]
    most = 'Most of it' if 2 * stages[order[0]] > total else 'The largest part of it'
    text = (f'{most} ({says[value]}) is {by[0]}, before {joined(by[1:])}; {100 * emulated / total:.0f} % of the '
            f"total is a software NIC's own work (emulated, hatched), which says nothing of a device")
    flag = run.points(bare).get(value)
    flag = mean(flag, 'crossing') if flag else None
    if flag:
        text += (f', and a bare flag over the same way needs {time_text(flag)} where the message crosses in '
                 f'{time_text(stages["crossing"])}')
    return text + '.'


def sentence_sizes(run, plots):
    for e in SIZES:
        at = {int(v): p for v, p in run.points(e).items() if v.isdigit() and int(v)}
        if len(at) > 1:
            break
    else:
        return 'How the total grows with size could not be measured here: summary.csv says why.'
    sizes = sorted(at)
    totals = {n: mean(at[n], 'total') for n in sizes}
    twice = [n for n in sizes if totals[n] > 2 * totals[sizes[0]]]
    last = sizes[-1]
    stages = {s.name: mean(at[last], s.name) or 0 for s in STAGES}
    most = max(stages, key=stages.get)
    until = (f'first more than doubles at {size_text(twice[0])}' if twice
             else 'never doubles')
    shown = f'{plots}/{e}.size.svg shows it: ' if plots else ''
    return (f'By size ({shown}{SIZE_SAYS[e]}, payload fetched from memory) the total goes from {time_text(totals[sizes[0]])} at '
            f'{size_text(sizes[0])} to {time_text(totals[last])} at {size_text(last)}, '
            f'{until}, and at the end {most} is {100 * stages[most] / totals[last]:.0f} % of it.')


def warning(run):
    ratio = {}      # by point: one that stands in two experiments is one
    for experiment, rows in run.rows.items():
        for r in rows:
            cells = [x for x in run.results.rows[(experiment, r.point)].get(('total', '-', 'latency'), []) if x.p50]
            if cells:
                ratio[r.point] = max(x.mean / x.p50 for x in cells)
    bad = [x for x in ratio.values() if x > DISTURBED]
    if not bad:
        return ''
    return (f'Careful: at {len(bad)} of {len(ratio)} points the mean is more than {DISTURBED:.0f} times the median (up to '
            f'{max(bad):.0f}), so something else used these CPUs meanwhile; run it again when they are free.')


def skipped(run):
    """What was left out, by reason."""
    why = {}
    for (experiment, point), status in run.results.status.items():
        for s, reason in status.values():
            if s in ('skipped', 'failed'):
                why.setdefault((s, reason), set()).add(point)
    return [f'{len(ids)} point{"" if len(ids) == 1 else "s"} {s}: {reason}' for (s, reason), ids in why.items()]


def told(argv):
    if any(a in ('-h', '--help') for a in argv):
        return __doc__.strip()
    places = [a for a in argv if not a.startswith('-')]
    unknown = [a for a in argv if a.startswith('-') and a != '--drawn']
    if unknown:
        raise Refused(f'{unknown[0]} is no option; there are: --drawn, --help')
    if len(places) != 1:
        raise Refused(f'one result directory is read, {len(places)} are named; see --help')
    where = places[0]
    run = Run(where)
    plots = os.path.join(where, 'plots') if '--drawn' in argv else ''
    figure = f'In {plots}/{run.paths()[0][0]}.stack.svg (and .png)' if plots else 'Here'
    lines = [sentence_paths(run, figure), sentence_stages(run), sentence_sizes(run, plots), warning(run)]
    out = skipped(run)
    if out:
        lines.append('Left out: ' + '; '.join(out) + '.')
    lines.append(f'Everything lies in {where}: summary.csv has the numbers, run.json the machine.')
    return '\n'.join(x for x in lines if x)


def main():
    try:
        print(told(sys.argv[1:]), flush=True)
        return 0
    except Refused as e:
        print(''.join(c if c.isprintable() else '?' for c in f'scripts/tell.py: {e}'), file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as e:
        print(f'scripts/tell.py: {e.filename or "stdout"}: {e.strerror or e}', file=sys.stderr)
        return 2


if __name__ == '__main__':
    sys.exit(main())

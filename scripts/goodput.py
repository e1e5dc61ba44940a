#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From which message size on a path carries nearly all that it can, by the rows of a result directory
of `fivestage run`.

  scripts/goodput.py DIR [--share PERCENT] [--ceiling EXPERIMENT]

Each experiment that varies `size` and has rows `goodput` gets a line: the first size that reaches
the share of a ceiling. The ceiling is the experiment's own highest goodput, which is what its NIC
moves at best; with --ceiling it is the highest `bandwidth` of that experiment of the same run, which is what the
places between could carry. docs/method.md says how sizes and intervals are found.

  --share     percent of the ceiling, 1 to 100 (default: 90)
  --ceiling   an experiment of the probe `bandwidth` in the same directory

Needs Python alone. Exit codes: 0 said; 2 refused, with one sentence that says why.
"""
import os
import sys

sys.dont_write_bytecode = True      # the sources' directory may be shared, or read-only
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

# pylint: disable=wrong-import-position
from plotlib import Refused, ask, load, points, reach

OPTIONS = ('--share', '--ceiling')


def options(argv):
    """(directory, share, name of the ceiling's experiment or None)"""
    where, given = ask.options(argv, OPTIONS)
    try:
        share = float(given.get('--share', '90'))
    except ValueError:
        share = 0
    if not 1 <= share <= 100:
        raise Refused(f'--share: "{given["--share"]}" is no percentage; legal: 1 to 100')
    return where, share / 100, given.get('--ceiling')


def means(results, stage, metric):
    """{experiment: ({its setting of `size`, or another key: Mean}, [sizes without such a row], {the same: Point})}"""
    at, out = results.variables.index('size') if 'size' in results.variables else None, {}
    for r in results.plan:
        p = points.Point(r, r.experiment, results.rows[(r.experiment, r.point)], results.status[(r.experiment, r.point)],
                         results.run['repeat'])
        m = p.mean(stage, metric)
        arm, lost, of = out.setdefault(r.experiment, ({}, [], {}))
        key = float(r.settings[at]) if at is not None and r.varied == 'size' else (r.varied, r.value)
        if m is not None:
            arm[key] = m
            of[key] = p
        elif isinstance(key, float):
            lost.append(key)
    return {e: x for e, x in out.items() if x[0]}


def interval(m, unit='GB/s'):
    return f'{m.mean:.3g} [{m.lo:.3g}, {m.hi:.3g}] {unit}' if m.over else f'{m.mean:.3g} {unit}'


def said(arm, ceiling, name, share):
    """Of one experiment; `name` is the ceiling's, None for its own highest."""
    sizes = sorted(arm)
    of, top = reach.highest(arm)
    r = reach.reach(arm, ceiling or top, share)
    own = f'its own highest is {interval(top)} at {ask.size_text(of)}'
    what = f'{share * 100:g} % of {interval(ceiling)}, the highest of {name}' if ceiling else f'{share * 100:g} % of its own highest'
    over = f'of {ask.size_text(sizes[0])} to {ask.size_text(sizes[-1])} ({len(sizes)} sizes)'
    if r.at is None and r.lo is not None:
        return f'{what} is undecided from {ask.size_text(r.lo)} on, {over}; {own}'
    if r.at is None:
        return f'{what} is not reached, {over}; {own}'
    known = ''
    if r.known:
        known = f' [{ask.size_text(r.lo)}, {ask.size_text(r.hi) if r.hi is not None else "not sure at any"}]'
    text = f'{what} is reached at {ask.size_text(r.at)}{known}, {over}; {own}'
    if r.lost:
        text += f'; not at {", ".join(map(ask.size_text, r.lost))}'
    if not ceiling and of == sizes[-1]:
        text += '; the largest size has the highest: more may be possible'
    return text


def lines(argv):
    where, share, name = options(argv)
    results = load.Results(where)
    ceiling, limited, out = None, '', []
    if name is not None:
        of = means(results, 'crossing', 'bandwidth')
        if name not in of:
            raise Refused(f'--ceiling: "{name}" is no experiment with rows bandwidth in {where}; '
                          f'there are: {", ".join(of) or "none"}')
        at, ceiling = reach.highest(of[name][0])
        limited = ask.troubles([(of[name][2][at], ceiling)])
    for experiment, (arm, lost, of) in means(results, 'total', 'goodput').items():
        arm = {s: m for s, m in arm.items() if isinstance(s, float)}
        if len(arm) > 1:
            out.append(f'{experiment}: {said(arm, ceiling, name, share)}; intervals 95 % {ask.said_over(arm.values())}'
                       + (f'; no figure at {", ".join(map(ask.size_text, sorted(lost)))}' if lost else '')
                       + ask.troubles([(of[s], m) for s, m in arm.items()])
                       + (f'; of the highest of {name}{limited.replace(";", ":", 1)}' if limited else ''))
    if not out:
        raise Refused(f'{results.plan_path}: no experiment varies size and has rows goodput (metric=rate of the probe path)')
    return out


if __name__ == '__main__':
    sys.exit(ask.main('goodput.py', __doc__, lines))

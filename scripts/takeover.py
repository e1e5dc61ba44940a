#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which stage a message spends most of its time in, from which value of a variable on, and where two paths cost
the same, by the rows of a result directory of `fivestage run`.

  scripts/takeover.py DIR [--over VARIABLE] [--within PERCENT] [--paths EXPERIMENT,EXPERIMENT...]

Each experiment of the probe `path` that varies the variable gets a line: its largest stage at the first value, and each value
at which another stage is the largest. A stage takes over where its interval lies above the other's; between it
is undecided, and so is a figure without an interval. Each pair of experiments gets a line: at which values their totals are the same within so
many percent, and who is faster where they aren't. docs/method.md says more.

  --over      what is varied (default: size)
  --within    percent, more than 0 and at most 50 (default: 5)
  --paths     the experiments to hold against each other (default: all that vary it)

Needs Python alone. Exit codes: 0 said; 2 refused, with one sentence that says why.
"""
import itertools
import math
import os
import sys

sys.dont_write_bytecode = True      # the sources' directory may be shared, or read-only
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

# pylint: disable=wrong-import-position
from plotlib import Refused, ask, load, points

OPTIONS = ('--over', '--within', '--paths')


def options(argv):
    """(directory, variable, share, names or None)"""
    where, given = ask.options(argv, OPTIONS)
    try:
        share = float(given.get('--within', '5'))
    except ValueError:
        share = 0
    if not 0 < share <= 50:
        raise Refused(f'--within: "{given["--within"]}" is no such percentage; legal: more than 0, at most 50')
    names = given['--paths'].split(',') if '--paths' in given else None
    if names and (len(names) < 2 or len(set(names)) < len(names)):
        raise Refused('--paths: two experiments or more, each once')
    return where, given.get('--over', 'size'), share / 100, names


def arms(results, variable):
    """{experiment: {value: Point}} of those that vary it and have totals."""
    out = {}
    for r in results.plan:
        if r.varied != variable:
            continue
        try:
            value = float(r.value)
        except ValueError:
            continue
        p = points.Point(r, r.experiment, results.rows[(r.experiment, r.point)], results.status[(r.experiment, r.point)],
                         results.run['repeat'])
        if p.mean('total', 'latency') is not None:
            out.setdefault(r.experiment, {})[value] = p
    return {e: a for e, a in out.items() if len(a) > 1}


def text_of(variable, value):
    return ask.size_text(value) if variable == 'size' else f'{variable} {value:g}'


def bounds(m):
    """A time's interval; of one message there is none, and it may be any."""
    return (0, math.inf) if m.lo is None else (m.lo, m.hi)


def largest(stages):
    """(name, Mean) of the largest stage, and whether its interval lies above all others'."""
    known = {s: m for s, m in stages.items() if m}
    name = max(known, key=lambda s: known[s].mean)
    return name, known[name], all(bounds(known[name])[0] > bounds(m)[1] for s, m in known.items() if s != name)


def takeovers(arm, variable):
    """One sentence of an experiment, or None where it has no stages."""
    out, last, waiting, used = [], None, None, []
    for value in sorted(arm):
        stages = arm[value].stages()
        if not stages:
            continue
        name, m, sure = largest(stages)
        used += [x for x in stages.values() if x]
        if not sure:
            waiting = value if waiting is None else waiting
            continue
        if name != last:
            total = arm[value].mean('total', 'latency').mean
            between = f' (undecided from {text_of(variable, waiting)} on)' if waiting is not None else ''
            out.append(f'{name} from {text_of(variable, value)} on{between}, {100 * m.mean / total:.0f} % of the total there')
        last, waiting = name, None
    if not used:
        return None
    if not out:
        return 'no stage is surely the largest'
    tail = f'; undecided from {text_of(variable, waiting)} on' if waiting is not None else ''
    return f'the largest stage is {"; ".join(out)}{tail}; intervals 95 % {ask.said_over(used)}'


def spans(values, variable):
    """Values that follow each other as from-to; each item of `values` is (place in the row of all, value)."""
    out = []
    for at, v in values:
        if out and out[-1][1] == at - 1:
            out[-1][1:] = [at, v]
        else:
            out.append([v, at, v])
    return ', '.join(text_of(variable, a) if a == b else f'{text_of(variable, a)} to {text_of(variable, b)}' for a, _, b in out)


def ratio(a, b):
    """Of the totals, with the worst of both intervals."""
    (alo, ahi), (blo, bhi) = bounds(a), bounds(b)
    return a.mean / b.mean, alo / bhi, ahi / blo if blo > 0 else math.inf


def compared(one, other, names, variable, share):
    """One sentence of two experiments."""
    both = sorted(set(one) & set(other))
    if not both:
        return 'no value is in both'
    kinds = {}
    means = []
    for at, v in enumerate(both):
        a, b = one[v].mean('total', 'latency'), other[v].mean('total', 'latency')
        means += [a, b]
        _, lo, hi = ratio(a, b)
        kind = 'same' if 1 / (1 + share) < lo and hi < 1 + share else names[0] if hi < 1 / (1 + share) else names[1] if lo > 1 + share else \
            'undecided'
        kinds.setdefault(kind, []).append((at, v))
    parts = []
    if 'same' in kinds:
        parts.append(f'within {share * 100:g} % of each other at {spans(kinds["same"], variable)}')
    else:
        parts.append(f'nowhere surely within {share * 100:g} % of each other')
    for n in names:
        if n in kinds:
            best = max((v for _, v in kinds[n]), key=lambda v: abs(ratio(one[v].mean('total', 'latency'), other[v].mean('total', 'latency'))[0] - 1))
            r = ratio(one[best].mean('total', 'latency'), other[best].mean('total', 'latency'))[0]
            parts.append(f'{n} is faster at {spans(kinds[n], variable)} (most at {text_of(variable, best)}, '
                         f'{1 / r if n == names[0] else r:.3g} times)')
    if 'undecided' in kinds:
        parts.append(f'undecided at {spans(kinds["undecided"], variable)}')
    return f'{"; ".join(parts)}; intervals 95 % {ask.said_over(means)}'


def troubles(arm):
    return ask.troubles([(p, p.mean('total', 'latency')) for p in arm])


def lines(argv):
    where, variable, share, names = options(argv)
    results = load.Results(where)
    found = arms(results, variable)
    if names:
        for n in names:
            if n not in found:
                raise Refused(f'--paths: "{n}" is no experiment that varies {variable} and has totals; there are: {", ".join(found) or "none"}')
        found = {n: found[n] for n in names}
    if not found:
        raise Refused(f'{results.plan_path}: no experiment varies {variable} and has rows of a total')
    out = []
    for name, arm in found.items():
        text = takeovers(arm, variable)
        if text:
            out.append(f'{name}: {text}{troubles(arm.values())}')
    for a, b in itertools.combinations(found, 2):
        out.append(f'{a} and {b}: {compared(found[a], found[b], (a, b), variable, share)}'
                   + troubles(p for arm in (found[a], found[b]) for p in arm.values()))
    return out


if __name__ == '__main__':
    sys.exit(ask.main('takeover.py', __doc__, lines))

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""At which message size copying into a registered buffer costs less than registering on demand, by
the rows of a result directory of `fivestage run`.

  scripts/crossover.py DIR [--metric registration_cost|total_with_registration]

Points with registration=staged and with registration=on-demand, equal in all else but size and mechanism
(a copy has none), are two arms. A line each pair: the crossover with its interval, or that it is excluded
in the range of sizes that were measured, or that the rows can't decide it. docs/method.md says how it
is found.

  --metric   registration_cost (default): registering and taking back, against the copy alone;
             total_with_registration: each with its message

Needs Python alone. Exit codes: 0 said; 2 refused, with one sentence that says why.
"""
import os
import sys

sys.dont_write_bytecode = True      # the sources' directory may be shared, or read-only
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

# pylint: disable=wrong-import-position
from plotlib import Refused, crossover, load, points

METRICS = {'registration_cost': 'translation', 'total_with_registration': 'total'}
APART = ('registration', 'size')    # what the arms and their points differ in
COPIES = ('mechanism',)             # what a copy doesn't have


def options(argv):
    metric, places = 'registration_cost', []
    while argv:
        a = argv.pop(0)
        name, eq, text = a.partition('=')
        if name == '--metric':
            if not eq and not argv:
                raise Refused('--metric needs a value')
            metric = text if eq else argv.pop(0)
        elif a.startswith('-'):
            raise Refused(f'{a} is no option; there are: --metric, --help')
        else:
            places.append(a)
    if metric not in METRICS:
        raise Refused(f'--metric: there is no "{metric}"; there are: {", ".join(METRICS)}')
    if len(places) != 1:
        raise Refused(f'one result directory is looked at, {len(places)} are named; see --help')
    return places[0], metric


def arms(results, metric):
    """{settings without registration, size and mechanism: {(registration, mechanism): {size: Mean}}}"""
    names, out = results.variables, {}
    at = {n: names.index(n) for n in (*APART, *COPIES) if n in names}
    if len(at) < len(APART) + len(COPIES):
        raise Refused(f'{results.plan_path}: there is no column registration: an older program wrote it')
    for r in results.plan:
        which = r.settings[at['registration']]
        if r.probe != 'path' or which == 'persistent':
            continue
        rest = tuple((n, v) for n, v in zip(names, r.settings) if n not in at)
        p = points.Point(r, r.experiment, results.rows[(r.experiment, r.point)], results.status[(r.experiment, r.point)],
                         results.run['repeat'])
        mean = p.mean(METRICS[metric], metric)
        key = (which, '' if which == 'staged' else r.settings[at['mechanism']])
        out.setdefault(rest, {}).setdefault(key, {}).setdefault(float(r.settings[at['size']]), mean)
    return out


def size_text(x):
    """As a number that can be typed, where it is a whole one; three digits else."""
    for unit, shift in (('MiB', 20), ('KiB', 10)):
        if x >= 1 << shift:
            return f'{x / (1 << shift):.3g} {unit}'
    return f'{x:.3g} B'


def said(f, arm):
    """Arm `a` is the copy."""
    if not f.n:
        return 'no size has a figure in both arms'
    over = f'{size_text(f.sizes[0])} to {size_text(f.sizes[1])} ({f.n} sizes)'
    name = {'a': 'staging', 'b': arm}
    if f.found == 'crossover':
        return (f'crossover at {size_text(f.at)} [{size_text(f.lo)}, {size_text(f.hi)}]: '
                f'{name[f.below]} costs less below it, of {over}')
    if f.found == 'excluded':
        return f'no crossover: excluded in the range {over}, {name[f.below]} costs less at each'
    if f.found == 'several':
        return f'more than one crossover, of {over}'
    if f.at is not None:
        return f'undecided: near {size_text(f.at)}, but other sizes of {over} can\'t be told apart either'
    return f'undecided: the two can\'t be told apart at some sizes of {over}'


def run(argv):
    if any(a in ('-h', '--help') for a in argv):
        print(__doc__.strip())
        return
    where, metric = options(argv)
    results = load.Results(where)
    lines = []
    for rest, have in arms(results, metric).items():
        copy = have.get(('staged', ''))
        for (which, mechanism), arm in have.items():
            if which != 'on-demand' or copy is None:
                continue
            shown = ' '.join([f'mechanism={mechanism}', *(f'{n}={v}' for n, v in rest if n in ('host_page', 'page'))])
            over = {m.over for m in [*copy.values(), *arm.values()] if m}
            what = 'over the runs' if over == {'runs'} else 'within the run, which says nothing of the next one'
            lost = sorted(s for s in {*copy, *arm} if copy.get(s) is None or arm.get(s) is None)
            lines.append(f'{shown}: {said(crossover.crossover(copy, arm), mechanism)}; {metric}, intervals 95 % {what}'
                         + (f'; not in both arms: {", ".join(size_text(s) for s in lost)}' if lost else ''))
    if not lines:
        raise Refused(f'{results.plan_path}: no two arms: points with registration=on-demand and with staged, alike '
                      f'in all but size and mechanism')
    for text in lines:
        print(text)


def main():
    try:
        run(sys.argv[1:])
        return 0
    except Refused as e:
        why = str(e)
    except OSError as e:
        why = f'{e.filename or "stdout"}: {e.strerror or e}'
    print(f'scripts/crossover.py: {why}', file=sys.stderr)
    return 2


if __name__ == '__main__':
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where one way of sending becomes better than another, by the rows of a result directory of
`fivestage run`.

  scripts/crossover.py DIR [--metric registration_cost|total_with_registration]
  scripts/crossover.py DIR --of VARIABLE [--over VARIABLE] [--but VARIABLE,...] [--metric NAME] [--stage NAME]

Without --of: at which message size copying into a registered buffer costs less than registering on
demand. Points with registration=staged and with registration=on-demand, equal in all else but size,
mechanism (a copy has none) and staged_from (a registration has none), are two arms.
With --of, say of `submitter` over `size`: each value of that variable is an arm, of points of one probe that are
equal in all else but the variable that they lie over; each arm is held against each other one.

A line each pair: between which measured values the two change sides, and where straight lines put it, with an interval;
or that it is excluded in the range that was measured, or that the rows can't decide it. docs/method.md says how it is found.

  --of       the variable whose values are the arms
  --over     the numeric variable that the points of an arm lie over (default: size)
  --but      variables in which arms may differ besides, where one arm has no choice; each arm's are said
  --metric   without --of registration_cost (default): registering and taking back, against the copy alone;
             or total_with_registration: each with its message. With --of any of the rows (default: latency);
             of rates and the like (rate, goodput, bandwidth, reach) the larger is the better one, of times and
             counts of faults the smaller; a metric that is neither is refused (plotlib/better.py)
  --stage    the rows' stage (default: total)

Needs Python alone. Exit codes: 0 said; 2 refused, with one sentence that says why.
"""
import itertools
import os
import sys

sys.dont_write_bytecode = True      # the sources' directory may be shared, or read-only
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

# pylint: disable=wrong-import-position
from plotlib import Refused, ask, better, crossover, load, points

METRICS = {'registration_cost': 'translation', 'total_with_registration': 'total'}
APART = ('registration', 'size')    # what the arms and their points differ in
DEMANDS, COPIES = 'mechanism', 'staged_from'    # what one arm alone has; older programs have no staged_from
OPTIONS = ('--metric', '--of', '--over', '--but', '--stage')


def options(argv):
    """(directory, {option: text})"""
    where, given = ask.options(argv, OPTIONS)
    if '--of' not in given:
        for name in ('--over', '--but', '--stage'):
            if name in given:
                raise Refused(f'{name} belongs to --of VARIABLE')
        if given.get('--metric', 'registration_cost') not in METRICS:
            raise Refused(f'--metric: there is no "{given["--metric"]}" without --of; there are: {", ".join(METRICS)}')
    return where, given


def point_of(results, r):
    return points.Point(r, r.experiment, results.rows[(r.experiment, r.point)], results.status[(r.experiment, r.point)],
                        results.run['repeat'])


def arms(results, metric):
    """{settings without those: {(registration, mechanism or staged_from): Arm}}; a size without a figure has None there"""
    names, out = results.variables, {}
    at = {n: names.index(n) for n in (*APART, DEMANDS, COPIES) if n in names}
    if not {*APART, DEMANDS} <= {*at}:
        raise Refused(f'{results.plan_path}: there is no column registration: an older program wrote it')
    for r in results.plan:
        which = r.settings[at['registration']]
        if r.probe != 'path' or which == 'persistent':
            continue
        rest = tuple((n, v) for n, v in zip(names, r.settings) if n not in at)
        p = point_of(results, r)
        own = COPIES if which == 'staged' else DEMANDS
        key = (which, r.settings[at[own]] if own in at else 'auto')
        arm = out.setdefault(rest, {}).setdefault(key, Arm(*key))
        if float(r.settings[at['size']]) not in arm:
            arm.add(float(r.settings[at['size']]), p, p.mean(METRICS[metric], metric))
    return out


class Arm(dict):
    """{value of the axis: Mean}, and the points that these are of."""

    def __init__(self, value, text):
        super().__init__()
        self.value, self.text, self.figures = value, text, {}

    def add(self, at, point, mean):
        self[at] = mean
        self.figures[at] = (point, mean)


def arms_of(results, of, over, but, stage, metric):
    """{(probe, settings without these): {arm as it is said: Arm}}"""
    names, out, words = results.variables, {}, 0
    for what, n in (('--of', of), ('--over', over), *(('--but', n) for n in but)):
        if n not in names:
            raise Refused(f'{what}: {results.plan_path} has no variable "{n}"')
    if len({of, over, *but}) < 2 + len(but):
        raise Refused(f'--of, --over and --but name a variable twice: {", ".join([of, over, *but])}')
    for r in results.plan:
        settings = dict(zip(names, r.settings))
        p = point_of(results, r)
        mean = p.mean(stage, metric)
        if mean is None:
            continue
        try:
            at = float(settings[over])
        except ValueError:      # of other points, which don't vary it
            words += 1
            continue
        rest = (r.probe, *((n, v) for n, v in settings.items() if n not in (of, over, *but)))
        text = settings[of] + (f' ({" ".join(f"{n}={settings[n]}" for n in but)})' if but else '')
        arm = out.setdefault(rest, {}).setdefault(text, Arm(settings[of], text))
        arm.add(at, p, mean)
    if not out and words:
        raise Refused(f'--over: {over} is no number in any point with rows {stage} {metric} of {results.plan_path}')
    return out


def said(f, a, b, words):
    """Of arms a and b; `words` say of the better one how it is, and of the axis what its values are called."""
    better, plural, text = words
    if not f.n:
        return f'no {plural[:-1]} has a figure in both arms'
    over = f'{text(f.sizes[0])} to {text(f.sizes[1])} ({f.n} {plural})' if f.n > 1 else f'{text(f.sizes[0])} (1 {plural[:-1]})'
    name = {'a': a, 'b': b}
    if f.found == 'crossover':
        return (f'crossover between {text(f.between[0])} and {text(f.between[1])}, by straight lines at {text(f.at)} '
                f'[{text(f.lo)}, {text(f.hi)}]: {name[f.below]} {better} below it, of {over}')
    if f.found == 'excluded':
        return f'no crossover: excluded in the range {over}, {name[f.below]} {better} at each'
    if f.found == 'several':
        return f'more than one crossover, of {over}'
    if f.at is not None:
        return (f'undecided: between {text(f.between[0])} and {text(f.between[1])}, by straight lines near {text(f.at)}, '
                f'but other {plural} of {over} can\'t be told apart either')
    if f.below:
        return f'undecided: {name[f.below]} {better} at each, but of {over} too few to exclude a crossover, {crossover.RANGE} are wanted'
    return f'undecided: the two can\'t be told apart at some {plural} of {over}'


def pair(metric, a, b, names, words):
    """What a line says of arms a and b behind which they are."""
    bare = crossover.bare(a, b)
    over = ask.said_over([m for m in [*a.values(), *b.values()] if m and m.over])
    found = crossover.crossover(a, b)
    lost = sorted(s for s in {*a, *b} if a.get(s) is None or b.get(s) is None)
    _, plural, text = words
    if bare and not found.n:
        out = f'undecided: none of {len(bare)} {plural} has an interval in both arms; --repeat 5 gives one; {metric}'
    else:
        out = f'{said(found, *names, words)}; {metric}, intervals 95 % {over}' + (
            f'; left out without an interval, which --repeat 5 gives: {", ".join(map(text, bare))}' if bare else '')
    return out + (f'; not in both arms: {", ".join(map(text, lost))}' if lost else '')


def registrations(results, metric):
    words = ('costs less', 'sizes', ask.size_text)
    groups = {rest: have for rest, have in arms(results, metric).items() if len({which for which, _ in have}) > 1}
    # beside the pages what tells the groups apart
    differ = {c[0] for rest in groups for c in rest if any(c not in other for other in groups)} | {'host_page', 'page'}
    for rest, have in groups.items():
        of = [f'{n}={v}' for n, v in rest if n in differ]
        for (a, own), copy in have.items():
            for (b, mechanism), arm in have.items():
                if (a, b) != ('staged', 'on-demand'):
                    continue
                shown = ' '.join([f'mechanism={mechanism}', *([] if own == 'auto' else [f'staged_from={own}']), *of])
                yield f'{shown}: {pair(metric, copy, arm, ("staging", mechanism), words)}{troubles(copy, arm)}'


def turned(arm):
    """Of what is better when it is more, the one that falls short costs more."""
    return {k: m._replace(mean=-m.mean, lo=None if m.hi is None else -m.hi, hi=None if m.lo is None else -m.lo)
            for k, m in arm.items()}


def troubles(one, other):
    """Of two arms: a flagged point may be limited by something that isn't the arm's own."""
    return ask.troubles([*one.figures.values(), *other.figures.values()])


def ways(results, of, over, but, stage, metric):
    groups = {rest: have for rest, have in arms_of(results, of, over, but, stage, metric).items()
              if len({a.value for a in have.values()}) > 1}
    # only what tells the groups apart is said of them
    differ = {c[0] for rest in groups for c in rest[1:] if any(c not in other for other in groups)}
    words = ('is better', 'sizes' if over == 'size' else 'values',
             ask.size_text if over == 'size' else lambda x: f'{over}={x:.4g}')
    for rest, have in groups.items():
        shown = ' '.join([rest[0], *(f'{n}={v}' for n, v in rest[1:] if n in differ)])
        turn = turned if better.more_is(metric, results.unit) else dict
        for one, other in itertools.combinations(have.values(), 2):
            if one.value == other.value:    # two of `--but` alone
                continue
            said_of = pair(f'{metric} {stage}', turn(one), turn(other), (one.text, other.text), words)
            yield f'{shown}: {one.text} against {other.text}: {said_of}{troubles(one, other)}'


def lines(argv):
    where, given = options(argv)
    results = load.Results(where)
    if '--of' in given:
        of, over = given['--of'], given.get('--over', 'size')
        stage, metric = given.get('--stage', 'total'), given.get('--metric', 'latency')
        but = [n for n in given.get('--but', '').split(',') if n]
        better.more_is(metric, results.unit)
        out = list(ways(results, of, over, but, stage, metric))
        if not out:
            raise Refused(f'{results.plan_path}: no two values of {of} with rows {stage} {metric}, alike in all but '
                          f'{", ".join([of, over, *but])}')
        return out
    out = list(registrations(results, given.get('--metric', 'registration_cost')))
    if not out:
        raise Refused(f'{results.plan_path}: no two arms: points with registration=on-demand and with staged, '
                      f'alike in all but size and mechanism')
    return out


if __name__ == '__main__':
    sys.exit(ask.main('crossover.py', __doc__, lines))

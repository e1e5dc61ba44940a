# SPDX-License-Identifier: Apache-2.0
"""Ladders of the probe `tlb`: a dependent load's latency by the lines that it touches, an arm
a line, with the reach of each translation cache as a band. Medians, by which knees are decided."""
import math
from collections import namedtuple

from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from . import Refused, words
from .bars import trouble_legend
from .curves import y_of
from .look import STAGES
from .page import Page
from .points import Mean

# As in stages/translation/ladder.c: what they are, and how they look.
ARMS = {
    'one': ('one line a page', '-', 'o'),
    'four': ('four lines a page', ':', None),
    'packed': ('packed: the working set', '--', None),
}
COLOURS = [s.colour for s in STAGES[:5]]
STAGE = 'translation'
# lo, hi: pages; in `runs` of the repetitions that have a ladder
Reach = namedtuple('Reach', 'lo hi runs of')


def rungs(point):
    """{arm: {lines: median}}, averaged over the runs."""
    out = {}
    for (stage, interval, metric), rows in point.cells.items():
        arm, *counts = interval.split('-')
        if stage == STAGE and metric == 'latency' and arm in ARMS and len(counts) == 2 and counts[0].isdigit():
            values = [r.p50 for r in rows if r.p50 is not None]
            if values:
                out.setdefault(arm, {})[int(counts[0])] = math.fsum(values) / len(values)
    return out


def matched(found):
    """[(repetition, lo, hi)] of knees -> lists of those that are one knee: they overlap, and none is of a repetition that
    is there already. Where several would do, the one that is overlapped most."""
    out = []
    for rep, lo, hi in sorted(found, key=lambda f: (f[1], f[2], f[0])):
        best = None
        for knee in out:
            by = max(min(hi, b) - max(lo, a) for _, a, b in knee)
            if by >= 0 and rep not in [r for r, _, _ in knee] and (best is None or by > best[0]):
                best = by, knee
        if best:
            best[1].append((rep, lo, hi))
        else:
            out.append([(rep, lo, hi)])
    return out


def reaches(point):
    """[Reach], by pages, which are lines in the arm `one`; of several repetitions the widest. Rows number the knees
    in the order in which each repetition found them, so where one missed the first knee its second one is called
    knee-1: they are told apart by how far they reach."""
    found, ladders = [], set()
    for (stage, interval, metric), rows in point.cells.items():
        if stage == STAGE and metric == 'latency' and interval.split('-')[0] in ARMS:
            ladders |= {r.rep for r in rows}
        elif stage == STAGE and metric == 'reach_pages' and interval.startswith('knee-'):
            found += [(r.rep, r.ci_lo, r.ci_hi) for r in rows if None not in (r.ci_lo, r.ci_hi)]
    return [Reach(min(lo for _, lo, _ in knee), max(hi for _, _, hi in knee), len(knee), len(ladders)) for knee in matched(found)]


def si_count(n):
    for unit, shift in (('G', 30), ('M', 20), ('K', 10)):
        if n >= 1 << shift:
            return f'{n >> shift}{unit}'
    return str(n)


def band_key(b):
    return (True, 0, 0) if b.runs == b.of else (False, b.runs, b.of)


def band_of(make, colour, whole, *args, **more):
    """A knee that not every repetition has is fainter, and outlined by dashes."""
    if whole:
        return make(*args, facecolor=colour, alpha=0.25, linewidth=0, **more)
    return make(*args, facecolor=(*to_rgb(colour), 0.1), edgecolor=colour, linestyle='--', linewidth=0.7, **more)


def ladder(group):
    path = group.results.path
    have = [(p, r) for p in group.points if (r := rungs(p))]
    if not have:
        raise Refused(f'{path}: {group.heading}: no ladder: no rows of rungs, as the probe tlb has them')
    if len(have) > len(COLOURS):
        raise Refused(f'{path}: {group.heading}: {len(have)} ladders in one figure can\'t be told apart; '
                      f'at most {len(COLOURS)} can')
    lines = [n for _, r in have for arm in r.values() for n in arm]
    lo, hi = math.log2(min(lines)), math.log2(max(lines))
    ticks = [(k, si_count(1 << k)) for k in range(math.ceil(lo), math.floor(hi) + 1, 2)]
    values = [v for _, r in have for arm in r.values() for v in arm.values()]
    legend = []
    for i, (p, r) in enumerate(have):
        name = f'{words.value_text(group.varied, p.label)}: ' if len(group.points) > 1 else ''
        legend += [(Line2D([], [], color=COLOURS[i], linestyle=ARMS[a][1], marker=ARMS[a][2], markersize=3), name + ARMS[a][0])
                   for a in ARMS if a in r]
        legend += [(band_of(Patch, COLOURS[i], whole),
                    name + 'reach of a translation cache, in pages' + ('' if whole else f', in {n} of {of} runs'))
                   for whole, n, of in sorted({band_key(b) for b in reaches(p)}, reverse=True)]
    without = [p for p in group.points if not rungs(p)]
    legend += trouble_legend([], without)
    notes = ['Medians of 16 chases at each rung. A knee is called a translation cache\'s where the arm of four lines a '
             'page has it at the same number of pages (docs/method.md).',
             *words.troubles(group, without, 'it has no rungs'), *words.source(group)]
    page = Page(words.title(group, 'a dependent load by lines touched'), words.about(group), ticks,
                (lo - 0.4, hi + 0.4), 'lines touched, logarithmic', legend, notes, 6.5)
    lowest, scale = y_of(page, [Mean(v, None, None, '', 1, False, 'measured') for v in values], group.results.unit['latency'],
                         'a load')
    del lowest
    for i, (p, r) in enumerate(have):
        for k, b in enumerate(reaches(p)):
            band_of(page.ax.axvspan, COLOURS[i], b.runs == b.of, math.log2(b.lo), math.log2(b.hi), zorder=1, gid=f'reach.{i}.{k}')
        for arm, at in r.items():
            x = sorted(at)
            page.ax.plot([math.log2(n) for n in x], [at[n] / scale for n in x], color=COLOURS[i], linestyle=ARMS[arm][1],
                         linewidth=1.2, zorder=4, marker=ARMS[arm][2], markersize=3).pop().set_gid(f'line.{arm}.{i}')
    return page

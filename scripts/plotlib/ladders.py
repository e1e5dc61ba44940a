# SPDX-License-Identifier: Apache-2.0
"""Ladders of the probe `tlb`: a dependent load's latency by the lines that it touches, an arm
a line, with the reach of each translation cache as a band. Medians, by which knees are decided."""
import math

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


def reaches(point):
    """[(from, to)] in pages, which are lines in the arm `one`; of several runs the widest."""
    out = []
    for k in range(1, 100):
        rows = point.cells.get((STAGE, f'knee-{k}', 'reach_pages'))
        if not rows:
            break
        out.append((min(r.ci_lo for r in rows), max(r.ci_hi for r in rows)))
    return out


def si_count(n):
    for unit, shift in (('G', 30), ('M', 20), ('K', 10)):
        if n >= 1 << shift:
            return f'{n >> shift}{unit}'
    return str(n)


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
        if reaches(p):
            legend.append((Patch(facecolor=COLOURS[i], alpha=0.25), name + 'reach of a translation cache, in pages'))
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
        for k, (a, b) in enumerate(reaches(p)):
            page.ax.axvspan(math.log2(a), math.log2(b), color=COLOURS[i], alpha=0.25, linewidth=0, zorder=1,
                            gid=f'reach.{i}.{k}')
        for arm, at in r.items():
            x = sorted(at)
            page.ax.plot([math.log2(n) for n in x], [at[n] / scale for n in x], color=COLOURS[i], linestyle=ARMS[arm][1],
                         linewidth=1.2, zorder=4, marker=ARMS[arm][2], markersize=3).pop().set_gid(f'line.{arm}.{i}')
    return page

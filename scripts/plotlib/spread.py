# SPDX-License-Identifier: Apache-2.0
"""Distributions: quantiles of the rows, and behind them the samples where there are some."""
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from . import Refused, words
from .bars import BAR, MANY, mark_troubles, slots, strokes, trouble_legend, troubled
from .look import LOOK, METRIC_SAYS, STAGES
from .page import Page

MARKERS = (('p50', 'o', '-', 'median'), ('p90', '^', '--', '90 %'), ('p99', 's', '-.', '99 %'),
           ('p999', 'D', ':', '99.9 %'))
COLUMN_PT = 5
MEAN = '#d00000'
COLOURED = {s.name for s in STAGES} - {'queueing'}    # too light for a thin line


class Column:
    """One column of the figure: a point, or a stage of the only point."""

    def __init__(self, point, stage, metric, hist):
        self.point, self.stage = point, stage
        self.quantiles = point.quantiles(stage, metric)
        self.mean = point.mean(stage, metric)
        self.hist = hist and hist.get((point.id, stage))


def wanted(group, metric, stage):
    """[(point, stage)]: the columns. Without --stage: every stage of a single point,
    else the total of each (or what the rows have in its place)."""
    metric = metric or next(iter(group.metrics), None)
    have = group.stages(metric) if metric else []
    if stage and stage not in have:
        raise Refused(f'{group.results.path}: {group.heading}: no {metric} of stage {stage}; there are: '
                      f'{", ".join(have) or "none"}')
    if not stage and len(group.points) == 1:
        return metric, [(group.points[0], s) for s in have]
    stage = stage or (have[0] if have else None)
    return metric, [(p, stage) for p in group.points]


def dist(group, metric=None, stage=None, hist=None):
    path = group.results.path
    metric, pairs = wanted(group, metric, stage)
    columns = [Column(p, s, metric, hist) for p, s in pairs]
    if not any(c.quantiles for c in columns):
        raise Refused(f'{path}: {group.heading}: no quantiles of {metric or "anything"} in its rows')
    if len(group.points) == 1:      # columns are stages
        columns = [c for c in columns if c.quantiles]
        ticks = [(i, (metric if c.stage == '-' else c.stage) + star(c)) for i, c in enumerate(columns)]
        xlim, wide, xlabel = (-0.6, len(ticks) - 0.4), max(3.2, 0.75 * len(ticks)), 'stage'
        what = ' by stage' if len(columns) > 1 else ''
        at, without = [None], []
        flagged, absent = [], []
    else:
        ticks, xlim, wide = slots(group)
        without = [c.point for c in columns if not c.quantiles]
        flagged, absent = troubled(group, without)
        ticks = [(i, label + star(c)) for (i, label), c in zip(ticks, columns)]
        at, xlabel = list(range(len(columns))), words.variable_text(group.varied)
        what = '' if pairs[0][1] == '-' else f' ({pairs[0][1]})'
    said = METRIC_SAYS.get(metric, metric).replace('mean ', '')
    page = Page(words.title(group, f'distribution of {said}{what}'), words.about(group), ticks, xlim, xlabel,
                legend_of(columns, flagged, absent), notes_of(group, columns, without, metric), wide)
    draw(page, columns, group.results.unit[metric], said)
    mark_troubles(page, at, flagged, absent)
    return page


def star(column):
    return '*' if column.mean and column.mean.emulated else ''


def legend_of(columns, flagged, absent):
    qs = {q for c in columns for q in c.quantiles}
    out = [(Line2D([], [], color='#444444', linewidth=0.9), 'lowest to highest')] if 'max' in qs else []
    if {'p50', 'p99'} <= qs:
        out.append((Line2D([], [], color='#444444', linewidth=3), 'median to 99 %'))
    few = len(columns) <= MANY
    out += [(Line2D([], [], color='black', marker=m if few else None, markerfacecolor='white',
                    linestyle='' if few else dash, linewidth=0.8, markersize=COLUMN_PT), says)
            for q, m, dash, says in MARKERS if q in qs]
    out.append((Line2D([], [], **mean_look(few)), 'mean'))
    if any(c.hist for c in columns):
        out.append((Patch(facecolor='#c9c9c9', edgecolor='#777777', linewidth=0.4), 'samples: how many, by time'))
    if any(star(c) for c in columns):
        hatched = any(c.hist for c in columns if star(c))
        out.append((Patch(facecolor='white', edgecolor='black' if hatched else 'none', linewidth=0.4,
                          hatch='////' if hatched else ''),
                    f"*{' and hatched' if hatched else ''}: holds emulated spans, a software NIC's own work"))
    return out + trouble_legend(flagged, absent)


def notes_of(group, columns, without, metric):
    runs = max((c.mean.runs for c in columns if c.mean), default=1)
    out = []
    if runs > 1:
        out.append(f'Quantiles are those of each run, averaged over up to {runs} runs; '
                   'lowest and highest are over all.')
    else:
        out.append('Quantiles are over the messages of one run.')
    below = [c for c in columns if c.quantiles.get('min', 1) <= 0 < c.quantiles.get('max', 0)]
    if below:
        names = [c.stage if len(group.points) == 1 else words.value_text(group.varied, c.point.label) for c in below]
        out.append(f'Lowest at or below nought: {words.listed(names)}; a logarithmic axis shows what lies above.')
    drawn = [c for c in columns if c.hist]
    if drawn:
        n = sum(c.hist.n for c in drawn)
        lack = len(columns) - len(drawn) - len(without)
        out[0] += (f' Samples of samples.csv: {n} in all, of all runs together, widths scaled in each column'
                   + (f'; {lack} columns have none.' if lack else '.'))
    return [*out, *words.troubles(group, without, f'its rows have no quantiles of {metric}'), *words.source(group)]


def draw(page, columns, unit, said):
    values = [v for c in columns for v in c.quantiles.values()] + [c.mean.mean for c in columns if c.quantiles]
    # A crossing is a difference: its lowest may lie below nought, off a logarithmic axis (a note says so).
    above = [v for v in values if v > 0]
    lo, hi = min(values), max(values)
    if lo <= 0 and 3 * len(above) > 2 * len(values) and hi > 20 * min(above):
        lo = min(min(above), min(c.quantiles.get('p50', hi) for c in columns if c.quantiles) / 4)
        lo = lo if lo > 0 else min(values)
    # The unit of the middle: a far tail shouldn't make the rest illegible.
    middles = sorted(c.quantiles.get('p50', c.mean.mean) for c in columns if c.quantiles)
    scale, unit = words.si(max(middles[len(middles) // 2], 0), unit)
    log = lo > 0 and hi / lo > 3
    if log:
        page.y_axis(f'{said} [{unit}], logarithmic', lo / 1.25 / scale, hi * 1.7 / scale, log=True)
    else:
        room = (hi - lo) * 0.12 or abs(hi) * 0.1 or 1.0
        page.y_axis(f'{said} [{unit}]', (lo - room) / scale, (hi + room) / scale)
    for i, c in enumerate(columns):
        if c.hist:
            outline(page, i, c, scale)
    spans(page, columns, scale, 'span.all', 'min', 'max', 0.9)
    spans(page, columns, scale, 'span.p50-p99', 'p50', 'p99', 3)
    few = len(columns) <= MANY
    for q, marker, dash, _ in MARKERS:
        at = [i for i, c in enumerate(columns) if q in c.quantiles]
        if at:
            page.ax.plot(at, [columns[i].quantiles[q] / scale for i in at], color='black', linewidth=0.8,
                         linestyle='' if few else dash, marker=marker if few else None, markersize=COLUMN_PT,
                         markerfacecolor='white', markeredgewidth=0.8, zorder=5).pop().set_gid(f'quantile.{q}')
    at = [i for i, c in enumerate(columns) if c.quantiles and c.mean]
    page.ax.plot(at, [columns[i].mean.mean / scale for i in at], zorder=6, **mean_look(few)).pop().set_gid('mean')


def mean_look(few):
    return {'color': MEAN, 'linestyle': '' if few else '-', 'linewidth': 1.2, 'marker': '_' if few else None,
            'markersize': 12, 'markeredgewidth': 1.6}


def spans(page, columns, scale, gid, low, high, thick):
    """A line a column; where columns are stages, in the stage's colour."""
    by = {}
    for i, c in enumerate(columns):
        if low in c.quantiles and high in c.quantiles:
            stage = c.stage in COLOURED and len({x.stage for x in columns}) > 1
            by.setdefault(c.stage if stage else '', []).append(
                [(i, c.quantiles[low] / scale), (i, c.quantiles[high] / scale)])
    for stage, lines in by.items():
        strokes(page, f'{gid}.{stage}' if stage else gid, lines, zorder=4,
                edgecolor=LOOK[stage].colour if stage else '#444444',
                linewidth=thick if len(columns) <= MANY else thick / 3)


def outline(page, x, column, scale):
    """How many samples by time, mirrored about the column, the fullest bin as wide as a bar."""
    h = column.hist
    most = max(h.bins)
    if not most:
        return
    right, left = [], []
    for k, n in enumerate(h.bins):
        if not n:
            continue
        w = BAR / 2 * n / most
        lo, hi = h.edge(k) / scale, h.edge(k + 1) / scale
        right += [(x + w, lo), (x + w, hi)]
        left += [(x - w, lo), (x - w, hi)]
    look = LOOK[column.stage]
    stage = column.stage in {s.name for s in STAGES}
    strokes(page, f'samples.{column.stage}.{x}', [right + left[::-1]], closed=True, zorder=2, linewidth=0.4,
            facecolor=look.colour if stage else '#c9c9c9', edgecolor=look.ink if stage else '#777777',
            hatch='////' if column.mean and column.mean.emulated else None)

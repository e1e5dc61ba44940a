# SPDX-License-Identifier: Apache-2.0
"""Sweeps: means by one variable, a line a stage; numbers on an axis, names in slots."""
import math

from matplotlib.lines import Line2D

from . import Refused, published, words
from .bars import MANY, mark_troubles, slots, trouble_legend, troubled, whiskers
from .look import LOOK, METRIC_SAYS
from .page import Page
from .points import CEILING, Mean


def places(group):
    """x of each point. Numbers stand where they belong, on a logarithmic axis when they
    span decades; nought has no place there and is set apart, one step before the first."""
    values = [float(p.label) for p in group.points]
    above = [v for v in values if v > 0]
    log = len(above) > 2 and max(above) / min(above) >= 16 or len(above) > 1 and max(above) / min(above) >= 1000
    if not log:
        return values, False, False
    at = [math.log2(v) if v > 0 else None for v in values]
    known = sorted({x for x in at if x is not None})
    step = (known[-1] - known[0]) / max(1, len(known) - 1)
    return [known[0] - step if x is None else x for x in at], True, None in at


def axis_of(group):
    """(x of each point, ticks, ends, label, inches)"""
    name = words.variable_text(group.varied)
    if not group.numeric:
        ticks, xlim, wide = slots(group)
        return [x for x, _ in ticks], ticks, xlim, name, max(4.2, wide)
    at, log, nought = places(group)
    margin = (max(at) - min(at)) * 0.05 or 0.5
    ticks = [(x, words.value_text(group.varied, p.label)) for x, p in zip(at, group.points)]
    label = name + (', logarithmic' if log else '') + (' (0 set apart)' if nought else '')
    return at, ticks, (min(at) - margin, max(at) + margin), label, 6.0


def sweep(group, metric, kind='sweep', beside=()):
    path = group.results.path
    if kind == 'size' and group.varied != 'size':
        raise Refused(f'{path}: {group.heading}: it varies {group.varied or "nothing"}, not size')
    if not group.varied:
        raise Refused(f'{path}: {group.heading}: a single point, and a sweep needs two')
    metric = metric or next(iter(group.metrics), None)
    shown = {id(p) for p in group.shown(metric)}
    if len(shown) < 2:
        raise Refused(f'{path}: {group.heading}: {len(shown) or "no"} point{"" if len(shown) == 1 else "s"} '
                      f'with a mean of {metric or "anything"}, and a sweep needs two')
    names = group.stages(metric)
    series = {s: [p.mean(s, metric) if id(p) in shown else None for p in group.points] for s in names}
    means = [m for line in series.values() for m in line if m]
    tops = {s: [p.mean(s, CEILING.get(metric)) for p in group.points] for s in names}
    tops = {s: line for s, line in tops.items() if any(line)}
    without = [p for p in group.points if id(p) not in shown]
    flagged, absent = troubled(group, without)
    few = len(group.points) <= MANY
    emulated = {s: any(m and m.emulated for m in line) for s, line in series.items()}
    legend = [(handle(s, group.numeric, emulated[s], few),
               label(s, metric, len(names) == 1) + ('*' if emulated[s] and not few else '')) for s in names]
    if any(m.emulated for m in means):
        legend.append((Line2D([], [], color='black', marker='o' if few else None, markerfacecolor='white',
                              linestyle='' if few or not group.numeric else '--'),
                       f"{'hollow' if few else '*'}: holds emulated spans, a software NIC's own work"))
    legend += [(published_handle(s), published.legend_text(s)) for s in beside]
    if tops:
        legend.append((Line2D([], [], **CEILING_LOOK), 'ceiling, computed from what the machine says of the link'))
    legend += trouble_legend(flagged, absent)
    at, ticks, xlim, xlabel, wide = axis_of(group)
    said = METRIC_SAYS.get(metric, metric)
    notes = [*words.intervals(means), *words.troubles(group, without, f'it has no mean of {metric}'),
             *published.notes(group, beside), *words.source(group)]
    page = Page(words.title(group, f'{said} by stage' if len(names) > 1 else said), words.about(group), ticks, xlim,
                xlabel, legend, notes, wide)
    unit = group.results.unit[metric]
    lowest, scale = y_of(page, means + [m for line in tops.values() for m in line if m] +
                         [Mean(v, None, None, '', 1, False, '') for s in beside for v in s.at.values()], unit, said)
    if not group.numeric and len(at) <= 60:
        page.ax.vlines([x + 0.5 for x in at[:-1]], 0, 1, transform=page.ax.get_xaxis_transform(), color='#dddddd',
                       linewidth=0.5)
    # The total last, so that it lies on top.
    for i, s in enumerate(reversed(names)):
        line(page, group, s, at, series[s], scale, lowest, ((len(names) - 1) / 2 - i) * 0.09)
    for s, found in tops.items():
        ceiling(page, group, s, at, found, scale)
    for k, s in enumerate(beside):
        published_line(page, group, s, k, at, scale)
    mark_troubles(page, at, flagged, absent)
    return page


CEILING_LOOK = {'color': '#1a7a3a', 'linestyle': '--', 'linewidth': 1.2}


def ceiling(page, group, stage, at, means, scale):
    """Joined as the means are; names have a dash each."""
    y = [m.mean / scale if m else math.nan for m in means]
    if group.numeric:
        page.ax.plot(at, y, zorder=3, **CEILING_LOOK).pop().set_gid(f'ceiling.{stage}')
    else:
        page.ax.plot(at, y, zorder=3, **{**CEILING_LOOK, 'linestyle': ''}, marker='_', markersize=22,
                     markeredgewidth=1.4).pop().set_gid(f'ceiling.{stage}')




def label(stage, metric, alone):
    return metric if stage == '-' else f'{metric} ({stage})' if alone else stage


def handle(stage, joined, hollow, few):
    """What holds emulated spans is hollow, or dashed where there are too many points for markers."""
    look = LOOK[stage]
    dash = '' if not joined else '--' if hollow and not few else '-'
    size = 2 if not few else 8 if stage == 'total' else 5.5
    return Line2D([], [], color=look.colour if stage != 'queueing' else '#9a9a9a', linestyle=dash, linewidth=1.2,
                  marker=look.marker if few else None if joined else '.', markersize=size,
                  markerfacecolor='white' if hollow and few else look.colour,
                  markeredgecolor='#555555' if stage in ('queueing', 'completion') else look.colour)


def published_handle(series):
    """Half a marker, dotted lines: neither the full ones of what was measured nor the hollow ones of what was emulated."""
    look = LOOK[series.stage]
    return Line2D([], [], color=look.colour, linestyle=':', linewidth=0.9, marker=look.marker, markersize=8.5,
                  fillstyle='left', markerfacecolor=look.colour, markerfacecoloralt='white', markeredgecolor='#d0007a',
                  markeredgewidth=0.9)


def published_line(page, group, series, k, at, scale):
    """To the right of what was measured where values are names; joined by dots where they are numbers."""
    h = published_handle(series)
    here = [(x + (0 if group.numeric else 0.4 + 0.03 * k), series.at[p.label] / scale)
            for x, p in zip(at, group.points) if p.label in series.at]
    x, y = [a for a, _ in here], [b for _, b in here]
    if group.numeric and len(here) > 1:
        page.ax.plot(x, y, color=h.get_color(), linestyle=':', linewidth=0.9, zorder=4).pop().set_gid(
            f'published-line.{series.stage}.{k}')
    h.set_linestyle('')
    page.ax.plot(x, y, linestyle='', marker=h.get_marker(), markersize=h.get_markersize(), fillstyle='left', zorder=6,
                 markerfacecolor=h.get_markerfacecolor(), markerfacecoloralt='white', markeredgecolor='#d0007a',
                 markeredgewidth=0.9, clip_on=False).pop().set_gid(f'published.{series.stage}.{k}')


def y_of(page, means, unit, said):
    """Logarithmic where the means span more than a decade and none is at or below nought."""
    highest = max(max(m.mean, m.hi if m.over else m.mean) for m in means)
    least = min(m.mean for m in means)
    scale, unit = words.si(highest, unit)
    if least > 0 and highest / least > 12:
        lowest = least / 1.6
        page.y_axis(f'{said} [{unit}], logarithmic', lowest / scale, highest * 2 / scale, log=True)
        return lowest, scale
    ends = [m.lo if m.over else m.mean for m in means]
    bottom = min(0.0, *ends) if ends else 0.0
    top = max(highest, 0.0)
    room = (top - bottom) * 0.12 or 1.0
    page.y_axis(f'{said} [{unit}]', (bottom - (room if bottom < 0 else 0)) / scale, (top + room) / scale)
    return -math.inf, scale


def line(page, group, stage, at, means, scale, lowest, shift):
    """Points with numbers are joined; names have no order, so they stand beside each other."""
    few = len(at) <= MANY
    h = handle(stage, group.numeric, any(m and m.emulated for m in means), few)
    x = [a + (0 if group.numeric else shift) for a in at]
    y = [m.mean / scale if m else math.nan for m in means]
    if group.numeric or not few:
        page.ax.plot(x, y, color=h.get_color(), linewidth=1.2, linestyle=h.get_linestyle(), zorder=4, markersize=2,
                     marker=None if few else h.get_marker()).pop().set_gid(f'line.{stage}')
    if few:     # else markers would hide the line
        for hollow in (False, True):
            which = [i for i, m in enumerate(means) if m and m.emulated == hollow]
            if which:
                page.ax.plot([x[i] for i in which], [y[i] for i in which], linestyle='', marker=h.get_marker(),
                             markersize=h.get_markersize(), markeredgewidth=1.1, zorder=4,
                             markerfacecolor='white' if hollow else LOOK[stage].colour,
                             markeredgecolor=h.get_markeredgecolor() if not hollow else h.get_color()
                             ).pop().set_gid(f'points.{stage}.{"emulated" if hollow else "measured"}')
    wide = (page.ax.get_xlim()[1] - page.ax.get_xlim()[0]) / 160
    whiskers(page, f'interval.{stage}', x, means, wide, scale, h.get_color(), lowest)

# SPDX-License-Identifier: Apache-2.0
"""The kinds of figures with one bar a point, and what all kinds share. Each takes a
Group and gives a Page, or refuses.

Artists carry ids (`part.STAGE.ORIGIN`, `interval.STAGE`, `line.STAGE`, ...), which
stand in the SVG: tests and others read the figure back by them.
"""
import math

from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path

from . import Refused, published, words
from .look import FLAGGED, LOOK, ORIGIN, ORIGINS, STAGES
from .page import Page, slot_wide

BAR = 0.72              # of a slot
# An exclamation mark, drawn: a marker made of text would depend on how text is parsed.
BANG = Path([(-.18, 1), (.18, 1), (.08, -.35), (-.08, -.35), (0, 0),
             (-.13, -.7), (.13, -.7), (.13, -1), (-.13, -1), (0, 0)],
            [Path.MOVETO, *3 * [Path.LINETO], Path.CLOSEPOLY] * 2)
MANY = 120              # points; with more of them caps and markers would only hide lines
PUBLISHED_HATCH = ('\\\\\\\\', '....')
TALL = 0.965            # where flags stand, of the axes' height


# ---- what the kinds share ----
def slots(group):
    ticks = [(i, words.value_text(group.varied, p.label)) for i, p in enumerate(group.points)]
    n = len(ticks)
    return ticks, (-0.6, n - 0.4), min(11.0, max(3.2, slot_wide([x for _, x in ticks[:40]]) * (n + 0.2)))


def troubled(group, without):
    """(flagged, absent): which marks the legend has to explain."""
    absent = {id(p) for p in without}
    return ([i for i, p in enumerate(group.points) if p.reasons and id(p) not in absent],
            [i for i, p in enumerate(group.points) if id(p) in absent])


def trouble_legend(flagged, absent):
    out = []
    if flagged:
        out.append((Line2D([], [], color=FLAGGED, marker=BANG, linestyle='', markersize=8), 'flagged, see below'))
    if absent:
        out.append((Line2D([], [], color=FLAGGED, marker='x', linestyle='', markersize=6), 'no figure, see below'))
    return out


def mark_troubles(page, at, flagged, absent):
    """at: x of each point, None where it has no place."""
    across = page.ax.get_xaxis_transform()
    for which, marker, y, size, gid in ((flagged, BANG, TALL, 9, 'flagged'), (absent, 'x', 0.03, 6, 'absent')):
        if which:
            page.ax.plot([at[i] for i in which], [y] * len(which), linestyle='', marker=marker, color=FLAGGED,
                         markersize=size, transform=across, clip_on=False, zorder=6).pop().set_gid(gid)


def whiskers(page, gid, at, means, half, scale, colour='black', lowest=-math.inf):
    """Intervals, with caps where these can be seen: one path, three lines a point."""
    caps = len(means) <= MANY
    lines = []
    for x, m in zip(at, means):
        if m and m.over and m.hi > lowest:
            lo, hi = max(m.lo, lowest) / scale, m.hi / scale
            lines.append([(x, lo), (x, hi)])
            if caps:
                lines += [[(x - half, lo), (x + half, lo)], [(x - half, hi), (x + half, hi)]]
    strokes(page, gid, lines, edgecolor=colour, linewidth=0.8, zorder=5)


def strokes(page, gid, lines, **how):
    """Many lines, or with closed=True polygons, as one path: a file of thousands of points stays small."""
    closed = how.pop('closed', False)
    verts, codes = [], []
    for line in lines:
        verts += line + [line[0]] * closed
        codes += [Path.MOVETO] + [Path.LINETO] * (len(line) - 1) + [Path.CLOSEPOLY] * closed
    if verts:
        page.ax.add_artist(PathPatch(Path(verts, codes), fill=closed, gid=gid, **how))


def origin_legend(used):
    return [(Patch(facecolor='white', edgecolor='black', linewidth=0.5, hatch=o.hatch), o.says)
            for o in ORIGINS if o.name in used and o.hatch]


def bars(page, boxes, gid, stage, origin):
    """boxes: (x, from, to)"""
    look = LOOK[stage]
    r = BAR / 2
    strokes(page, gid, [[(x - r, lo), (x + r, lo), (x + r, hi), (x - r, hi)] for x, lo, hi in boxes],
            closed=True, facecolor=look.colour, edgecolor=look.ink, linewidth=0.4 if len(boxes) < 60 else 0,
            hatch=ORIGIN[origin].hatch or None, zorder=3)


# ---- stack and share ----
def stacked(group, metric, share, beside=()):
    if metric not in (None, 'latency'):
        raise Refused(f'{group.results.path}: {group.heading}: the stages of {metric} do not add up: '
                      f'stack and share are of latency alone')
    have = [p.stages() for p in group.points]
    drawn = [p if h else None for p, h in zip(group.points, have)]
    if share:
        drawn = [p if p and whole_of(p) > 0 and min(p.parts().values()) >= 0 else None for p in drawn]
    if not any(drawn):
        raise Refused(f'{group.results.path}: {group.heading}: no point has a mean of each of the five stages'
                      + (', all above nought' if share and any(have) else ''))
    parts = [p.parts() if p else {} for p in drawn]
    totals = [p.mean('total', 'latency') if p else None for p in drawn]
    without = [p for p, d in zip(group.points, drawn) if not d]
    flagged, absent = troubled(group, without)
    means = [m for h, d in zip(have, drawn) if d for m in h.values() if m] + [m for m in totals if m]
    ticks, xlim, wide = slots(group)
    notes = words.intervals(means)
    lacking = 'it lacks a mean of one of the stages'
    if share:
        notes.append("An interval is that of the stage's mean, scaled as its bar; what reaches beyond the axis is cut.")
        lacking += ', or has one below nought'
    notes += words.troubles(group, without, lacking) + published.notes(group, beside) + words.source(group)
    legend = stack_legend({k for p in parts for k in p}, [] if share else totals)
    legend += [(published_patch(s), published.legend_text(s)) for s in beside] + trouble_legend(flagged, absent)
    what = 'share of each stage in the mean time' if share else 'mean time of a message by stage'
    page = Page(words.title(group, what), words.about(group), ticks, xlim, words.variable_text(group.varied),
                legend, notes, wide)
    drawing = draw_stack(page, parts, [whole_of(p) if p else 0 for p in drawn], have, share)
    at = list(range(len(group.points)))
    if share:
        page.y_axis('share of the sum of stages [%]', 0, min(130, max(112 if flagged else 104, drawing['top'] * 1.02)))
        label_shares(page, parts, wide / len(at))
    else:
        scale, unit = drawing['scale']
        ends = [drawing['top']] + [(m.hi if m.over else m.mean) / scale for m in totals if m]
        ends += [v / scale for s in beside for v in s.at.values()]
        page.y_axis(f'mean time [{unit}]', min(0.0, drawing['bottom'] * 1.08), max(ends) * 1.16)
        draw_totals(page, totals, scale, wide / len(at), drawing['tops'])
        draw_published(page, group, beside, scale)
    mark_troubles(page, at, flagged, absent)
    return page


def published_patch(series):
    """An outline, and a hatch that nothing of the run has."""
    return Patch(facecolor='white', edgecolor=LOOK[series.stage].colour, linewidth=0.9, linestyle='--',
                 hatch=PUBLISHED_HATCH[series.stage == 'submit'])


def draw_published(page, group, beside, scale):
    """A bar for each paper's series, in the gap to the right of a stack: of sums alone, the
    paper has no stages. `submit` is a part of `total`, so it stands in the same bar."""
    names = list(dict.fromkeys(s[:4] for s in beside))
    room = (0.49 - BAR / 2) / max(1, len(names))
    for k, s in enumerate(beside):
        left = BAR / 2 + 0.015 + names.index(s[:4]) * room
        right = left + room * 0.9
        boxes = [[(i + left, 0), (i + right, 0), (i + right, s.at[p.label] / scale), (i + left, s.at[p.label] / scale)]
                 for i, p in enumerate(group.points) if p.label in s.at]
        strokes(page, f'published.{s.stage}.{k}', boxes, closed=True, facecolor='white', edgecolor=LOOK[s.stage].colour,
                linewidth=0.9, linestyle='--', hatch=PUBLISHED_HATCH[s.stage == 'submit'], clip_on=False,
                zorder=4 if s.stage == 'submit' else 3)


def stack_legend(used, totals):
    """used: the parts that are drawn; the uppermost stage first, as in the bars."""
    out = [(Patch(facecolor=s.colour, edgecolor='black', linewidth=0.4), s.name)
           for s in reversed(STAGES) if any((s.name, o.name) in used for o in ORIGINS)]
    out += origin_legend({o for _, o in used})
    if any(totals):
        star = '; * holds emulated spans' if any(m and m.emulated for m in totals) else ''
        out.append((Line2D([], [], color='black', marker='_', markersize=9, linestyle=''),
                    'total, with its interval' + star))
    return out


def whole_of(point):
    return sum(point.parts().values())


def draw_stack(page, parts, wholes, have, share):
    """Bars from the axis outwards, what is below nought (a crossing may be) downwards."""
    scale, unit = (1.0, '%') if share else words.si(max(wholes), 'ns')
    up, down, ends = [0.0] * len(parts), [0.0] * len(parts), [0.0]
    shift = {s.name: (i - 2.5) * BAR / 7 for i, s in enumerate(STAGES)}
    for s in STAGES:
        before = list(up)
        for o in ORIGINS:
            boxes = []
            for i, p in enumerate(parts):
                h = p.get((s.name, o.name))
                if h is None:
                    continue
                h = 100 * h / wholes[i] if share else h / scale
                side = up if h >= 0 else down
                boxes.append((i, side[i], side[i] + h))
                side[i] += h
            if boxes:
                bars(page, boxes, f'part.{s.name}.{o.name}', s.name, o.name)
        if len(parts) > 60:
            continue    # bars of a hair's breadth: the total's interval alone is legible
        tops = []
        for i, p in enumerate(parts):
            m = have[i].get(s.name) if p else None
            f = (100 / wholes[i] if share else 1 / scale) if p else 1
            end = up[i] if p and up[i] != before[i] else down[i]
            tops.append(m._replace(lo=end + (m.lo - m.mean) * f, hi=end + (m.hi - m.mean) * f)
                        if m and m.over else None)
        ends += [m.hi for m in tops if m]
        whiskers(page, f'interval.{s.name}', [i + shift[s.name] for i in range(len(parts))], tops, BAR / 24, 1.0,
                 '#8a8a8a')
    return {'scale': (scale, unit), 'top': max(up + ends), 'bottom': min(down), 'tops': up}


def draw_totals(page, totals, scale, slot, tops):
    """The total is a figure of its own, on one clock: it is drawn beside the sum, not from it."""
    at = [i for i, m in enumerate(totals) if m]
    if not at:
        return
    page.ax.plot(at, [totals[i].mean / scale for i in at], linestyle='', marker='_', color='black', zorder=5,
                 markersize=min(24, 72 * slot * BAR * 0.9)).pop().set_gid('total')
    whiskers(page, 'interval.total', at, [totals[i] for i in at], BAR / 10, scale)
    if slot < 0.42 or len(at) > 24:
        return
    for i in at:
        m = totals[i]
        v = m.mean / scale
        star = ' *' if m.emulated else ''
        top = max(tops[i], (m.hi if m.over else m.mean) / scale)
        page.ax.annotate(f'{v:.0f}{star}' if v >= 100 else f'{v:.3g}{star}', (i, top),
                         xytext=(0, 3), textcoords='offset points', ha='center', size=7.5, gid=f'value.{i}')


def label_shares(page, parts, slot):
    if slot < 0.42 or len(parts) > 24:
        return
    for i, p in enumerate(parts):
        whole, at = sum(p.values()), 0.0
        for s in STAGES:
            h = 100 * sum(v for (stage, _), v in p.items() if stage == s.name) / whole if whole else 0
            if h >= 6:
                page.ax.text(i, at + h / 2, f'{h:.0f}', ha='center', va='center', size=7, color=s.ink, zorder=6,
                             gid=f'share.{s.name}.{i}',
                             bbox={'facecolor': s.colour, 'edgecolor': 'none', 'pad': 0.8})
            at += h

# SPDX-License-Identifier: Apache-2.0
"""One page: title, what is fixed, axes, legend, notes; and its files.

Every text is measured and placed before anything is drawn (in inches, from the
top), so that no two texts can meet: long ones are wrapped, tick labels that don't
fit are broken, turned upright, and at last thinned, which a note then says.
"""
import functools
import os
import re
import tempfile
import warnings

import matplotlib
from matplotlib import ticker
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from . import Refused

STYLE = {
    'svg.fonttype': 'none',             # text stays text
    'svg.hashsalt': 'fivestage',        # the same rows give the same file
    'font.family': 'sans-serif', 'font.size': 8,
    'hatch.linewidth': 0.6, 'axes.linewidth': 0.7, 'path.simplify': True,
    'axes.spines.top': False, 'axes.spines.right': False,
    'axes.unicode_minus': False,
}
PNG_DPI = 120
PNG_LEVEL = 3           # of zlib: a tenth of the time less than at 6, and files hardly larger
TITLE_PT, TEXT_PT, NOTE_PT = 11, 8, 7.5
EDGE, GAP = 0.15, 0.1           # inches
LEFT = 0.85                     # tick labels and label of the y axis
AXES_HIGH = 3.6
LEGEND_ROW, LEGEND_WIDE = 0.2, 1.75
SLACK = 1.08                    # another font may be wider than the one measured


@functools.lru_cache(maxsize=None)
def renderer():
    return RendererAgg(16, 16, 72)


@functools.lru_cache(maxsize=65536)
def width(text, pt, bold=False):
    """Inches."""
    font = FontProperties(family='sans-serif', size=pt, weight='bold' if bold else 'normal')
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return SLACK * renderer().get_text_width_height_descent(text, font, False)[0] / 72


def line_high(pt):
    return 1.35 * pt / 72


def plain(text):
    """What was read, fit for a figure: one line, nothing that XML or a font chokes on."""
    text = ''.join(c if c.isprintable() else ' ' if c.isspace() else '?' for c in text)
    return text


def wrap(text, wide, pt, bold=False):
    """Lines of at most `wide` inches; a word that is wider is cut."""
    lines, line = [], ''
    for word in text.split():
        while width(word, pt, bold) > wide:
            n = max(1, int(len(word) * wide / width(word, pt, bold)))
            while n > 1 and width(word[:n], pt, bold) > wide:
                n -= 1
            if line:
                lines.append(line)
                line = ''
            lines.append(word[:n])
            word = word[n:]
        both = f'{line} {word}' if line else word
        if width(both, pt, bold) > wide:
            lines.append(line)
            line = word
        elif word:
            line = both
    return lines + [line] if line else lines


# ---- tick labels of the x axis ----
def broken(label):
    """At hyphens and the like, into short lines."""
    lines = ['']
    for part in re.findall(r'[^-:*_.+ ]+[-:*_.+ ]?|[-:*_.+ ]', label):
        if lines[-1] and len(lines[-1]) + len(part) > 8:
            lines.append('')
        lines[-1] += part
    return lines


def slot_wide(labels):
    """Inches that a slot needs, so that its label stands level; within reason."""
    need = max(min(width(x, TEXT_PT), max(width(y, TEXT_PT) for y in broken(x))) for x in labels) + 0.08
    return min(1.0, max(0.62, need))


def fit_ticks(ticks, scale):
    """ticks: (position, label), ascending; scale: inches a unit. Gives those that are
    shown, whether upright, and the height of the row in inches."""
    def wide(label):
        return max(width(x, TEXT_PT) for x in label.split('\n'))

    def meet(a, b, size):
        return (b[0] - a[0]) * scale < (size(a[1]) + size(b[1])) / 2 + 0.05

    def fits(ts, size):
        return all(not meet(a, b, size) for a, b in zip(ts, ts[1:]))

    def tall(ts):
        return max(len(x.split('\n')) for _, x in ts) * line_high(TEXT_PT)

    # No label is narrower than a line is high, so of thousands most needn't be measured.
    roomy = ticks[:1]
    for t in ticks[1:]:
        if (t[0] - roomy[-1][0]) * scale >= 0.1 or len(ticks) <= 100:
            roomy.append(t)
    ticks = roomy
    if fits(ticks, wide):
        return ticks, False, tall(ticks)
    folded = [(x, '\n'.join(broken(label))) for x, label in ticks] if len(ticks) <= 40 else ticks
    if fits(folded, wide) and tall(folded) <= 5 * line_high(TEXT_PT):
        return folded, False, tall(folded)
    short = max(wide(label) for _, label in ticks) < 0.6

    def size(label):
        return wide(label) if short else line_high(TEXT_PT)
    kept = ticks[:1]
    for t in ticks[1:]:
        if not meet(kept[-1], t, size):
            kept.append(t)
    if short:
        return kept, False, tall(kept)
    # Names of another's making may be long: what doesn't fit two inches is cut.
    cut = []
    for x, label in kept:
        while width(label, TEXT_PT) > 2:
            label = label[:-2].rstrip('…') + '…'
        cut.append((x, label))
    return cut, True, max(width(label, TEXT_PT) for _, label in cut)


class Page:
    """ticks: (position, label) in data units, xlim: the ends of the x axis;
    legend: (handle, label); notes: paragraphs under the figure."""

    def __init__(self, title, about, ticks, xlim, xlabel, legend, notes, axes_wide):
        legend = [(h, wrap(plain(t), LEGEND_WIDE, TEXT_PT)) for h, t in legend]
        legend_wide = 0.55 + max((width(x, TEXT_PT) for _, t in legend for x in t), default=0)
        legend_high = sum(LEGEND_ROW + (len(t) - 1) * line_high(TEXT_PT) for _, t in legend)
        total = LEFT + axes_wide + 2 * GAP + legend_wide + EDGE
        inner = total - 2 * EDGE
        ticks = [(x, plain(label)) for x, label in ticks]
        shown, upright, ticks_high = fit_ticks(ticks, axes_wide / (xlim[1] - xlim[0]))
        if len(shown) < len(ticks):
            notes = [*notes, f'Of {len(ticks)} values on the x axis {len(shown)} are named, for want of room.']
        title = wrap(plain(title), inner, TITLE_PT, True)
        about = [x for a in about for x in wrap(plain(a), inner, TEXT_PT)]
        notes = [x for n in notes for x in wrap(plain(n), inner, NOTE_PT)]
        axes_high = max(AXES_HIGH, legend_high + 0.1)
        top = EDGE + len(title) * line_high(TITLE_PT) + len(about) * line_high(TEXT_PT) + 0.15
        under = 0.1 + ticks_high + 0.06 + line_high(TEXT_PT) + 0.12
        high = top + axes_high + under + len(notes) * line_high(NOTE_PT) + EDGE
        self.title, self.size = ' '.join(title), (total, high)
        self.fig = Figure(figsize=self.size, dpi=PNG_DPI)
        self.canvas = FigureCanvasAgg(self.fig)
        self.ax = self.fig.add_axes([LEFT / total, 1 - (top + axes_high) / high, axes_wide / total, axes_high / high])
        self.ax.set_xlim(*xlim)
        self.x_axis(shown, upright)
        y = self.lines(title, EDGE, TITLE_PT, 'title', weight='bold')
        self.lines(about, y, TEXT_PT, 'about', color='#333333')
        self.fig.text((LEFT + axes_wide / 2) / total, 1 - (top + axes_high + 0.16 + ticks_high) / high,
                      plain(xlabel), ha='center', va='top', size=TEXT_PT, gid='xlabel')
        self.lines(notes, top + axes_high + under, NOTE_PT, 'note', color='#333333')
        if legend:
            self.fig.legend([h for h, _ in legend], ['\n'.join(t) for _, t in legend], loc='upper left',
                            frameon=False, borderaxespad=0, fontsize=TEXT_PT,
                            bbox_to_anchor=((LEFT + axes_wide + 2 * GAP) / total, 1 - top / high),
                            handlelength=2, labelspacing=0.55).set_gid('legend')

    def lines(self, lines, y, pt, gid, **how):
        for i, text in enumerate(lines):
            self.fig.text(EDGE / self.size[0], 1 - (y + i * line_high(pt)) / self.size[1], text, va='top', size=pt,
                          gid=f'{gid}.{i}', **how)
        return y + len(lines) * line_high(pt)

    def x_axis(self, shown, upright):
        axis = self.ax.xaxis
        axis.set_major_locator(ticker.FixedLocator([x for x, _ in shown]))
        axis.set_major_formatter(ticker.FixedFormatter([label for _, label in shown]))
        axis.set_minor_locator(ticker.NullLocator())
        self.ax.tick_params(axis='x', labelsize=TEXT_PT, length=3, pad=3, rotation=90 if upright else 0)

    def y_axis(self, label, lo, hi, log=False):
        ax = self.ax
        if log:
            ax.set_yscale('log')
            decades = hi / lo
            subs = (1,) if decades > 5000 else (1, 2, 5) if decades > 8 else (1, 1.5, 2, 3, 4, 5, 6, 8)
            ax.yaxis.set_major_locator(ticker.LogLocator(base=10, subs=subs, numticks=14))
            ax.yaxis.set_minor_locator(ticker.NullLocator())
        else:
            ax.yaxis.set_major_locator(ticker.MaxNLocator(8, steps=[1, 2, 2.5, 5, 10]))
        ax.yaxis.set_major_formatter(ticker.FuncFormatter(lambda v, _: f'{v:.6g}'))
        ax.set_ylim(lo, hi)
        ax.grid(axis='y', color='#dddddd', linewidth=0.5)
        ax.set_axisbelow(True)
        ax.tick_params(axis='y', labelsize=TEXT_PT)
        ax.set_ylabel(plain(label), size=TEXT_PT, labelpad=4).set_gid('ylabel')

    def save(self, directory, stem, formats):
        """Each file is whole: written under a temporary name, then renamed."""
        written = []
        for kind in formats:
            path = os.path.join(directory, f'{stem}.{kind}')
            tmp = None
            try:
                fd, tmp = tempfile.mkstemp(prefix=f'.{kind}-', suffix='.tmp', dir=directory)
                with os.fdopen(fd, 'wb') as f:
                    self.write(f, kind)
                os.chmod(tmp, 0o666 & ~UMASK)
                os.replace(tmp, path)
                tmp = None
            except OSError as e:
                raise Refused(f'{path}: cannot be written: {e.strerror or e}') from e
            finally:
                if tmp and os.path.exists(tmp):
                    os.unlink(tmp)
            written.append(path)
        return written

    def write(self, f, kind):
        with warnings.catch_warnings():     # a glyph that the font lacks is drawn as a box
            warnings.simplefilter('ignore')
            if kind == 'svg':
                FigureCanvasSVG(self.fig).print_svg(
                    f, metadata={'Title': self.title, 'Date': None, 'Creator': 'fivestage scripts/plot.py'})
            else:
                self.fig.dpi = PNG_DPI      # print_svg leaves its own
                FigureCanvasAgg(self.fig).print_png(
                    f, metadata={'Title': self.title, 'Software': None}, pil_kwargs={'compress_level': PNG_LEVEL})


UMASK = os.umask(0)
os.umask(UMASK)


def safe(name):
    """A file's name from names of experiments and values, which may hold anything."""
    name = re.sub(r'[^A-Za-z0-9._+-]', '_', name).lstrip('.') or '_'
    return name if len(name) <= 120 else f'{name[:110]}_{hash_of(name)}'


def hash_of(name):
    h = 14695981039346656037
    for b in name.encode():
        h = (h ^ b) * 1099511628211 % 2 ** 64
    return f'{h:016x}'[:8]


def start():
    matplotlib.rcParams.update(STYLE)
    if 'text.parse_math' in matplotlib.rcParams:
        matplotlib.rcParams['text.parse_math'] = False

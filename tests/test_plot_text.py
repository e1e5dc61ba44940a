# SPDX-License-Identifier: Apache-2.0
"""In no figure do two texts overlap, or leave the page: every text's box is computed by
matplotlib's own renderer, for figures of made-up rows that are hard to lay out and for
up to eight of each directory of results/, spread over them. Text on text is found."""
import glob
import os

import plots
from plots import ROOT, Case, Run

plots.skip_without_matplotlib()
from matplotlib.backends.backend_agg import FigureCanvasAgg     # pylint: disable=wrong-import-position
from matplotlib.text import Text                                # pylint: disable=wrong-import-position
from plotlib import load, page, published                       # pylint: disable=wrong-import-position
import plot                                                     # pylint: disable=wrong-import-position


def boxes(fig):
    """(text, box) of all that is seen, in pixels."""
    canvas, drawn, draw = FigureCanvasAgg(fig), [], Text.draw

    def record(text, renderer, *args, **how):
        if text.get_visible() and text.get_text().strip():
            drawn.append(text)
        return draw(text, renderer, *args, **how)
    Text.draw = record
    try:
        canvas.draw()
    finally:
        Text.draw = draw
    # Of an annotation, its text alone and not the point that it is about.
    return [(t.get_text(), Text.get_window_extent(t, canvas.get_renderer())) for t in drawn]


def faults(fig):
    found, all_ = [], boxes(fig)
    wide, high = fig.bbox.width, fig.bbox.height
    for i, (a, x) in enumerate(all_):
        if x.x0 < 0 or x.y0 < 0 or x.x1 > wide or x.y1 > high:
            found.append(f'"{a}" leaves the page')
        for b, y in all_[i + 1:]:
            if min(x.x1, y.x1) - max(x.x0, y.x0) > 0.5 and min(x.y1, y.y1) - max(x.y0, y.y0) > 0.5:
                found.append(f'"{a}" on "{b}"')
    return found


def pages(directory, papers=None, most=None):
    """At most so many, spread evenly over all that the directory has."""
    results = load.Results(directory)
    wanted, _ = plot.jobs(results, {}, plot.groups(results, {}), papers)
    wanted = wanted[::max(1, -(-len(wanted) // most))] if most else wanted
    hist = plot.histograms(results, wanted, {})
    page.start()
    for group, kind, beside in wanted:
        yield f'{group.name}.{kind}', plot.draw(group, kind, {}, hist, beside)


class NoOverlap(Case):
    def check(self, directory, least=1, papers=None, most=None):
        n = 0
        for name, p in pages(directory, papers, most):
            self.assertEqual(faults(p.fig), [], f'{directory} {name}')
            self.assertGreater(len(boxes(p.fig)), 8)
            n += 1
        self.assertGreaterEqual(n, least)

    def test_results(self):
        found = sorted(os.path.dirname(p) for p in glob.glob(os.path.join(ROOT, 'results', '*', '*', 'summary.csv')))
        self.assertGreater(len(found), 3)
        for d in found:
            self.check(d, most=8)

    def test_published(self):
        papers = published.Published(os.path.join(ROOT, 'results', 'published', 'baydamirli-2026.csv'))
        self.check(os.path.join(ROOT, 'results', 'h200', 'default'), 4, papers)

    def test_hard_ones(self):
        long = 'a-value-that-has-a-very-long-name-of-many-words-'
        why = 'a reason ' * 60 + 'x' * 300
        for i, (varied, values) in enumerate((
                ('ordering', tuple(f'{long}{k}' for k in range(12))), ('ordering', tuple(f'v{k}' for k in range(150))),
                ('size', tuple(str(8 * k) for k in range(200))), ('size', ('0', '1', '2', '3', '1048576', '1048577')),
                ('batch', ('1', '1.0001', '1.0002', '1000000')), ('ordering', ('x' * 400, 'y')),
                ('ordering', ('$a$', '_b', '<c>')))):
            d = Run(os.path.join(self.tmp, str(i)), repeat=2).experiment(
                'e' * (1 + 40 * i), varied, values, rows=lambda p, r: plots.point_rows(p % 9, r),
                trouble=lambda v, r: ('flagged', why) if hash(v) % 3 == 0 and r == 1 else None).write()
            self.check(d, 4)

    def test_extremes(self):
        for i, scale in enumerate((1e-6, 1e-3, 1e4, 1e9, 0.0)):
            def rows(p, r, scale=scale):
                return [(s, k, o, m * scale) for s, k, o, m in plots.point_rows(p, r)]
            d = Run(os.path.join(self.tmp, str(i))).experiment('e', 'size', ('8', '64', '512'), rows=rows).write()
            self.check(d)

    def test_below_nought(self):
        """A crossing may come out so: it is what remains of the total."""
        d = Run(self.dir).experiment('e', 'size', ('8', '64'), rows=lambda p, r: plots.point_rows(p, r, -90.0)).write()
        self.check(d)

    def test_text_on_text_is_found(self):
        """The negative control, with text that was moved a little, and text beyond the edge."""
        Run(self.dir).experiment('e', 'size', ('8', '64')).write()
        p = next(pages(self.dir))[1]
        self.assertEqual(faults(p.fig), [])
        note = next(t for t in p.fig.texts if (t.get_gid() or '').startswith('note.0'))
        x, y = note.get_position()
        note.set_position((x, y - 0.012))
        self.assertNotEqual(faults(p.fig), [])
        note.set_position((0.9, y))
        self.assertTrue(any('leaves the page' in f for f in faults(p.fig)))


if __name__ == '__main__':
    plots.main()

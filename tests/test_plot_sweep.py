# SPDX-License-Identifier: Apache-2.0
"""A sweep shows each stage's mean over one variable, numbers or names: read back from the SVG."""
import os

from plots import Case, Run, Svg, main, point_rows

SIZES = ('0', '8', '512', '32768', '1048576')
LABELS = ('0', '8 B', '512 B', '32 KiB', '1 MiB')
MEASURED = ('issue', 'crossing', 'submit')
EMULATED = ('translation', 'handoff', 'completion', 'queueing', 'total')


def means(stage, labels):
    return {label: next(m for s, k, _, m in point_rows(i, 1) if s == stage and k == '-')
            for i, label in enumerate(labels)}


def rate_rows(point, _rep):
    return [('total', '-', 'emulated', 2.0 + point)]


class Sweep(Case):
    def check(self, svg, labels, joined=True):
        for stage in MEASURED + EMULATED:
            kind, other = ('measured', 'emulated') if stage in MEASURED else ('emulated', 'measured')
            self.close(svg.markers(f'points.{stage}.{kind}'), means(stage, labels))
            self.assertNotIn(f'points.{stage}.{other}', svg.ids)
            if joined:
                self.close(svg.line(f'line.{stage}'), means(stage, labels))

    def test_sizes(self):
        Run(self.dir).experiment('e', 'size', SIZES).write()
        self.assertIn('e.size.svg', self.plot())
        svg = self.svg('e.size')
        self.assertEqual([t for _, t in svg.xticks], list(LABELS))
        self.check(svg, LABELS)
        self.assertEqual(svg.texts_of('xlabel'), ['size [B], logarithmic (0 set apart)'])
        x = [at for at, _ in svg.xticks]
        # 512 times as large is nine steps to the right.
        self.assertAlmostEqual((x[4] - x[3]) / (x[3] - x[2]), 5 / 6, places=4)
        self.assertIn('hollow: holds', ' '.join(svg.texts_of('legend')))

    def test_numbers(self):
        Run(self.dir).experiment('e', 'batch', ('1', '2', '3')).write()
        self.assertIn('e.sweep.svg', self.plot())
        svg = self.svg('e.sweep')
        self.check(svg, ('1', '2', '3'))
        x = [at for at, _ in svg.xticks]
        self.assertAlmostEqual(x[2] - x[1], x[1] - x[0], places=3)

    def test_names(self):
        names = ('none', 'gpu-fence', 'sys-fence-record')
        Run(self.dir).experiment('e', 'ordering', names).write()
        self.assertIn('e.sweep.svg', self.plot())
        svg = self.svg('e.sweep')
        # A long name may stand on several lines.
        labels = [t for _, t in svg.xticks]
        self.assertEqual(labels, list(names))
        self.check(svg, labels, joined=False)
        self.assertEqual(svg.line('line.total'), {})

    def test_numbers_are_sorted(self):
        Run(self.dir).experiment('e', 'batch', ('16', '2', '4')).write()
        self.plot('--kind', 'sweep')
        self.assertEqual([t for _, t in self.svg('e.sweep').xticks], ['2', '4', '16'])

    def test_rate(self):
        Run(self.dir).experiment('r', 'batch', ('1', '4', '16'), rows=rate_rows, metric=('rate', 'Mmsg/s')).write()
        self.assertIn('r.sweep.svg', self.plot())
        svg = self.svg('r.sweep')
        self.close(svg.line('line.total'), {'1': 2.0, '4': 3.0, '16': 4.0})
        self.assertEqual(svg.texts_of('ylabel'), ['mean rate [Mmsg/s]'])

    def test_metric(self):
        Run(self.dir).experiment('e', 'batch', ('1', '4'), rows=lambda p, r: [('crossing', '-', 'measured', 5.0 + p)],
                                 metric=('polls', 'count')).write()
        self.assertIn('e.sweep.polls.svg', self.plot('--metric', 'polls'))
        self.close(self.svg('e.sweep.polls').line('line.crossing'), {'1': 5.0, '4': 6.0})

    def test_emulated_is_marked_without_markers(self):
        """With many points there are lines alone: those that hold emulated spans are dashed, and starred."""
        Run(self.dir).experiment('e', 'size', tuple(str(8 * (i + 1)) for i in range(130))).write()
        self.plot('--kind', 'size')
        svg = self.svg('e.size')
        legend = svg.texts_of('legend')
        for stage in MEASURED + EMULATED:
            self.assertEqual('stroke-dasharray' in svg.style(f'line.{stage}'), stage in EMULATED, stage)
            self.assertIn(stage + '*' * (stage in EMULATED), legend)
        self.assertIn('*: holds emulated', ' '.join(legend))
        self.assertIn('Of 130 values on the x axis', ' '.join(svg.texts_of('note')))

    def test_another_figure_is_told_from_it(self):
        """Negative controls: a mean changed in the rows; a marker moved in the drawing."""
        run = Run(self.dir).experiment('e', 'size', SIZES)

        def edit(row):
            if row[13] == 'crossing' and row[12] == '512':
                row[19] = str(float(row[19]) * 1.02)
            return row
        run.write(edit)
        self.plot('--kind', 'size')
        with self.assertRaises(AssertionError):
            self.check(self.svg('e.size'), LABELS)
        run.write()
        self.plot('--kind', 'size')
        path = os.path.join(self.out, 'e.size.svg')
        with open(path, encoding='utf-8') as f:
            text = f.read()
        at = text.index('<use', text.index('id="points.issue.measured"'))
        y = text.index('y="', at) + 3
        end = text.index('"', y)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text[:y] + str(float(text[y:end]) - 2) + text[end:])
        with self.assertRaises(AssertionError):
            self.check(Svg(path), LABELS)


if __name__ == '__main__':
    main()

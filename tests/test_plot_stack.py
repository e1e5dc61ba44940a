# SPDX-License-Identifier: Apache-2.0
"""The stacked figure is that of the rows: every mean, interval and label is read back
from the SVG, and another figure is told from it."""
import os
import re

from plots import PATH, STAGES, Case, Run, Svg, interval_mean, main, point_rows

SIZES = ('8', '64', '1024')
LABELS = ('8 B', '64 B', '1 KiB')


def wanted(stage, origin, repeat=1):
    """{label: mean over the repetitions of the sum of this stage's intervals of this origin}"""
    out = {}
    for i, label in enumerate(LABELS):
        runs = []
        for rep in range(1, repeat + 1):
            if stage == 'crossing':
                runs.append(next(m for s, k, _, m in point_rows(i, rep) if s == stage and k == '-'))
            else:
                runs.append(sum(interval_mean(k, i, rep) for k, (_, s, o) in enumerate(PATH)
                                if (s, o) == (stage, origin)))
        out[label] = sum(runs) / repeat
    return out


class Stack(Case):
    def check(self, svg, repeat=1):
        for stage in STAGES:
            for origin in ('measured', 'emulated'):
                has = stage == 'crossing' and origin == 'measured' or any(
                    (s, o) == (stage, origin) for _, s, o in PATH)
                gid = f'part.{stage}.{origin}'
                self.assertEqual(gid in svg.ids, has, gid)
                if has:
                    self.close(svg.bars(gid), wanted(stage, origin, repeat))
                    self.assertEqual(svg.hatched(gid), origin == 'emulated', gid)

    def test_means_and_labels(self):
        Run(self.dir).experiment('e', 'size', SIZES).write()
        self.plot('--kind', 'stack')
        svg = self.svg('e.stack')
        self.check(svg)
        self.assertEqual([t for _, t in svg.xticks], list(LABELS))
        self.assertEqual(svg.texts_of('ylabel'), ['mean time [ns]'])
        self.assertEqual(svg.texts_of('xlabel'), ['size [B]'])
        self.assertEqual(svg.texts_of('title'), ['e: mean time of a message by stage, by size'])
        about = ' '.join(svg.texts_of('about'))
        for word in ('Varies: size (3 values)', 'Fixed: probe=path', 'ordering=gpu-fence', 'auto: queue_mem',
                     'plant=none'):
            self.assertIn(word, about)
        legend = ' '.join(svg.texts_of('legend'))
        for word in (*STAGES, "emulated: a software NIC's own work", 'total'):
            self.assertIn(word, legend)

    def test_one_run_has_the_interval_of_the_row(self):
        Run(self.dir).experiment('e', 'size', SIZES).write()
        self.plot('--kind', 'stack')
        svg = self.svg('e.stack')
        total = {label: next(m for s, k, _, m in point_rows(i, 1) if s == 'total')
                 for i, label in enumerate(LABELS)}
        self.close(svg.spans('interval.total'), {k: (m - 2, m + 3) for k, m in total.items()}, 2)
        self.assertIn('say nothing of the next run', ' '.join(svg.texts_of('note')))

    def test_with_repetitions_the_unit_is_the_run(self):
        Run(self.dir, repeat=3).experiment('e', 'size', SIZES).write()
        self.plot('--kind', 'stack')
        svg = self.svg('e.stack')
        self.check(svg, 3)
        want = {}
        for i, label in enumerate(LABELS):
            x = [next(m for s, k, _, m in point_rows(i, rep) if s == 'total') for rep in (1, 2, 3)]
            m = sum(x) / 3
            half = 4.302653 * (sum((v - m) ** 2 for v in x) / 2 / 3) ** .5     # Student, two degrees of freedom
            want[label] = (m - half, m + half)
        self.close(svg.spans('interval.total'), want, 2)
        self.assertIn('means over 3 runs', ' '.join(svg.texts_of('note')))

    def test_student(self):
        """Against printed tables."""
        from plotlib.points import t975
        for df, t in ((1, 12.7062), (2, 4.3027), (3, 3.1824), (4, 2.7764), (7, 2.3646), (30, 2.0423), (1000, 1.9623)):
            self.assertAlmostEqual(t975(df), t, delta=2e-4)

    def test_share(self):
        Run(self.dir).experiment('e', 'size', SIZES).write()
        self.plot('--kind', 'share')
        svg = self.svg('e.share')
        pairs = [('crossing', 'measured'), *sorted({(s, o) for _, s, o in PATH})]
        whole = {k: sum(wanted(s, o)[k] for s, o in pairs) for k in LABELS}
        drawn = dict.fromkeys(LABELS, 0.0)
        for stage in STAGES:
            for origin in ('measured', 'emulated'):
                if f'part.{stage}.{origin}' in svg.ids:
                    bars = svg.bars(f'part.{stage}.{origin}')
                    self.close(bars, {k: 100 * v / whole[k] for k, v in wanted(stage, origin).items()})
                    drawn = {k: drawn[k] + v for k, v in bars.items()}
        self.close(drawn, dict.fromkeys(LABELS, 100.0))

    def test_text_is_text(self):
        Run(self.dir).experiment('e', 'size', SIZES).write()
        self.plot('--kind', 'stack')
        with open(os.path.join(self.out, 'e.stack.svg'), encoding='utf-8') as f:
            self.assertIn('<text', f.read())

    def test_one_point(self):
        Run(self.dir).experiment('alone').write()
        self.assertEqual(self.plot('--format', 'svg'), ['alone.dist.svg', 'alone.share.svg', 'alone.stack.svg'])
        self.assertEqual(len(self.svg('alone.stack').bars('part.crossing.measured')), 1)

    def test_another_figure_is_told_from_it(self):
        """Negative controls: one bar of the drawing changed; one mean of the rows; one origin."""
        run = Run(self.dir).experiment('e', 'size', SIZES)
        run.write()
        self.plot('--kind', 'stack')
        path = os.path.join(self.out, 'e.stack.svg')
        with open(path, encoding='utf-8') as f:
            text = f.read()
        start = text.index('id="part.handoff.measured"')
        number = re.compile(r'L ([\d.]+) ([\d.]+)').search(text, start)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text[:number.start(2)] + str(float(number.group(2)) + 3) + text[number.end(2):])
        with self.assertRaises(AssertionError):
            self.check(Svg(path))
        for column, new in ((19, lambda x: str(float(x) + 9)), (29, lambda x: 'measured')):
            def edit(row, column=column, new=new):
                if row[14] == 'started-fetched' and row[12] == '64':
                    row[column] = new(row[column])
                return row
            run.write(edit)
            self.plot('--kind', 'stack')
            with self.assertRaises(AssertionError):
                self.check(self.svg('e.stack'))


if __name__ == '__main__':
    main()

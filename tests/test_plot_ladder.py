# SPDX-License-Identifier: Apache-2.0
"""A ladder shows each rung's median, arm by arm, and each reach as a band: read back from the SVG.
The probe `register` is a sweep. The controls: rows of another probe are no ladder, and a figure
holds no more ladders than can be told apart."""
import math

from plots import Case, Run, main

ARMS = {'one': 1, 'four': 4, 'packed': 64}
LINES = (4, 16, 64, 256)


def median(arm, lines, point):
    return 100 + 10 * point + (50 if arm == 'one' and lines > 16 else 0) + lines / 64


def rows_of(run, knees=lambda rep: [(16, 64)]):
    """Puts rungs and knees behind each point's row, as they stand in summary.csv; `knees` gives a repetition's (from, to)."""
    rows, run.rows = run.rows, []
    for k, r in enumerate(rows):
        head = r[:13]
        for arm, share in ARMS.items():
            for n in LINES:
                m = median(arm, n, k)
                run.rows.append(head + ['translation', f'{arm}-{n}-{-(-n // share)}', 'host', 'latency', 'ns', '16']
                                + [str(x) for x in (m * 3, m - 1, m * 9, m / 2, m, m * 2, m * 3)] + ['', str(m * 20), '1']
                                + ['measured', '-', 'ok', '', ''])
        for number, (lo, hi) in enumerate(knees(int(head[2])), 1):
            for metric, unit in (('reach_pages', 'count'), ('miss', 'ns')):
                run.rows.append(head + ['translation', f'knee-{number}', 'host', metric, unit, '1', '40', str(lo), str(hi), '40', '40',
                                        '', '', '', '40', '', 'measured', '-', 'ok', '', ''])
    return run


class Ladder(Case):
    def heights(self, svg, gid):
        """y of each vertex, left to right."""
        return [svg.y(y) for shape in svg.shapes(gid) for _, y in shape]

    def test_one_point(self):
        rows_of(Run(self.dir).experiment('l', probe='tlb', rows=lambda p, r: [('total', '-', 'measured', 1.0)])).write()
        self.assertIn('l.ladder.svg', self.plot())
        svg = self.svg('l.ladder')
        for arm in ARMS:
            for got, n in zip(self.heights(svg, f'line.{arm}.0'), LINES, strict=True):
                self.assertAlmostEqual(got, median(arm, n, 0), delta=0.5)
        # the band stands between 16 and 64 lines
        x = [p[0] for s in svg.shapes('line.one.0') for p in s]
        band = [p[0] for s in svg.shapes('reach.0.0') for p in s]
        self.assertAlmostEqual(min(band), x[1], delta=0.1)
        self.assertAlmostEqual(max(band), x[2], delta=0.1)
        self.assertAlmostEqual((x[2] - x[1]) / (x[1] - x[0]), math.log2(4) / math.log2(4), places=3)
        self.assertIn('reach of a translation', ' '.join(svg.texts_of('legend')))

    def test_two_points(self):
        rows_of(Run(self.dir).experiment('l', 'queue_mem', ('host', 'gpu'), probe='tlb',
                                         rows=lambda p, r: [('total', '-', 'measured', 1.0)])).write()
        self.plot()
        svg = self.svg('l.ladder')
        for k in (0, 1):
            self.assertAlmostEqual(self.heights(svg, f'line.packed.{k}')[0], median('packed', 4, k), delta=0.5)
        self.assertIn('host: one line a page', ' '.join(svg.texts_of('legend')))

    def bands(self, knees, repeat=3):
        """[(from, to)] in lines of the bands in the figure of one point, and its legend."""
        rows_of(Run(self.dir, repeat=repeat).experiment('l', probe='tlb', rows=lambda p, r: [('total', '-', 'measured', 1.0)]), knees).write()
        self.plot()
        svg, out = self.svg('l.ladder'), []
        x = [p[0] for s in svg.shapes('line.one.0') for p in s]
        while band := [p[0] for s in svg.shapes(f'reach.0.{len(out)}') for p in s]:
            out.append(tuple(round(LINES[0] * 4 ** ((e - x[0]) / (x[1] - x[0]))) for e in (min(band), max(band))))
        return out, ' '.join(svg.texts_of('legend'))

    def test_a_repetition_that_misses_a_knee(self):
        """Its second one is called the first then, and is the others' second one all the same."""
        out, legend = self.bands(lambda rep: [(96, 128)] if rep == 2 else [(12, 16), (80, 112)])
        self.assertEqual(out, [(12, 16), (80, 128)])
        self.assertIn('reach of a translation cache, in pages, in 2 of 3 runs', legend)
        self.assertEqual(legend.count('reach of'), 2)

    def test_all_repetitions_have_each(self):
        """control"""
        out, legend = self.bands(lambda rep: [(12, 16), (80, 112 + 8 * rep)])
        self.assertEqual(out, [(12, 16), (80, 136)])
        self.assertEqual(legend.count('reach of'), 1)
        self.assertNotIn(' of 3', legend)

    def test_knees_of_one_repetition_stay_two(self):
        """Though one of another repetition overlaps both; it is one of the two."""
        out, legend = self.bands(lambda rep: [(12, 80)] if rep == 1 else [(10, 32), (48, 96)], 2)
        self.assertEqual(out, [(10, 80), (48, 96)])
        self.assertIn('in 1 of 2 runs', legend)

    def test_too_many(self):
        rows_of(Run(self.dir).experiment('l', 'batch', tuple('123456'), probe='tlb',
                                         rows=lambda p, r: [('total', '-', 'measured', 1.0)])).write()
        r = self.run_plot('--kind', 'ladder')
        self.assertEqual(r.returncode, 2)
        self.assertIn('6 ladders in one figure', r.stderr)

    def test_no_ladder(self):
        Run(self.dir).experiment('e').write()
        self.assertNotIn('e.ladder.svg', self.plot())
        r = self.run_plot('--kind', 'ladder')
        self.assertEqual(r.returncode, 2)
        self.assertIn('no ladder', r.stderr)

    def test_registering_is_a_sweep(self):
        Run(self.dir).experiment('r', 'batch', ('1', '2', '4'), probe='register', metric=('register', 'ns'),
                                 rows=lambda p, r: [('translation', '-', 'measured', 1000.0 * 4 ** p)]).write()
        self.assertIn('r.sweep.svg', self.plot())
        self.close(self.svg('r.sweep').line('line.translation'), {'1': 1000.0, '2': 4000.0, '4': 16000.0})


if __name__ == '__main__':
    main()

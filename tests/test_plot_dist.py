# SPDX-License-Identifier: Apache-2.0
"""A distribution shows the rows' quantiles and, where samples.csv stands, the samples."""
import math
import os

from plots import PATH, Case, Run, interval_mean, main, point_rows

MARKS = ('intent', 'reserved', 'resolved', 'built', 'rung', 'seen', 'started', 'fetched', 'translated', 'read',
         'written', 'completed', 'noticed')
LABELS = ('8 B', '64 B')
N = 1000


def total(i, rep=1):
    return next(m for s, k, _, m in point_rows(i, rep) if s == 'total')


class Dist(Case):
    def samples(self, run, ticks_per_ns=2.5, cut=0):
        """Each message's total is spread evenly from half to one and a half times the mean,
        all of it in the crossing; on an issuer's clock and another of the NIC's."""
        lines = ['point,rep,message,' + ','.join(MARKS) + ',polls']
        for i, plan in enumerate(run.plan):
            for rep in range(1, run.repeat + 1):
                span = {k: m for s, k, _, m in point_rows(i, rep) if k != '-'}
                for n in range(N - cut):
                    extra = total(i, rep) * (n / (N - cut - 1) - 0.5)
                    t, at = 1000.0 * n, {'intent': 1000.0 * n}
                    for k in ('intent-reserved', 'reserved-resolved', 'resolved-built', 'built-rung'):
                        t += span[k]
                        at[k.split('-')[1]] = t
                    for k in [k for k, _, _ in PATH if k.split('-')[0] in MARKS[5:]]:
                        at.setdefault(k.split('-')[0], 7e6 + t)
                        at[k.split('-')[1]] = at[k.split('-')[0]] + span[k]
                    at['noticed'] = at['intent'] + total(i, rep) + extra
                    rate = [ticks_per_ns * (2 if m in MARKS[5:12] else 1) for m in MARKS]
                    ticks = ','.join(str(round(at[m] * r)) for m, r in zip(MARKS, rate))
                    lines.append(f'{plan[0]},{rep},{n},{ticks},3')
        with open(os.path.join(self.dir, 'samples.csv'), 'w', encoding='utf-8') as f:
            f.write('\n'.join(lines) + '\n')

    def test_quantiles(self):
        Run(self.dir).experiment('e', 'size', ('8', '64')).write()
        self.plot('--kind', 'dist')
        svg = self.svg('e.dist')
        labels = [t for _, t in svg.xticks]
        self.assertEqual(labels, [x + '*' for x in LABELS])     # the star: emulated, as the legend says
        self.assertIn('*: holds emulated spans', ' '.join(svg.texts_of('legend')))
        for q, factor in (('p50', .9), ('p90', 1.2), ('p99', 2.0)):
            self.close(svg.markers(f'quantile.{q}'), {k: factor * total(i) for i, k in enumerate(labels)})
        self.assertNotIn('quantile.p999', svg.ids)              # its cells are empty
        self.close(svg.markers('mean'), {k: total(i) for i, k in enumerate(labels)})
        self.close(svg.spans('span.all'), {k: (total(i) / 2, total(i) * 4) for i, k in enumerate(labels)})

    def test_quantiles_over_runs(self):
        Run(self.dir, repeat=2).experiment('e', 'size', ('8', '64')).write()
        self.plot('--kind', 'dist')
        svg = self.svg('e.dist')
        both = [[total(i, rep) for rep in (1, 2)] for i in range(2)]
        labels = [t for _, t in svg.xticks]
        self.close(svg.markers('quantile.p50'), {k: .9 * sum(b) / 2 for k, b in zip(labels, both)})
        self.close(svg.spans('span.all'), {k: (min(b) / 2, max(b) * 4) for k, b in zip(labels, both)})
        self.assertIn('averaged over up to 2 runs', ' '.join(svg.texts_of('note')))

    def test_one_point_by_stage(self):
        Run(self.dir).experiment('alone').write()
        self.plot('--kind', 'dist')
        svg = self.svg('alone.dist')
        self.assertEqual([t for _, t in svg.xticks], ['total*', 'submit', 'issue', 'crossing', 'translation*',
                                                      'handoff*', 'completion*', 'queueing*'])
        means = {s: m for s, k, _, m in point_rows(0, 1) if k == '-'}
        self.close(svg.markers('quantile.p90'), {t: 1.2 * means[t.strip('*')] for _, t in svg.xticks})

    def histogram(self, svg, gid):
        """[(lowest, highest, width)] of the outline's bins: its right half goes up, edge by edge."""
        shape = svg.shapes(gid)[0]
        middle = sum(x for x, _ in shape) / len(shape)
        half = shape[:len(shape) // 2]
        return [(svg.y(a[1]), svg.y(b[1]), a[0] - middle) for a, b in zip(half[::2], half[1::2])]

    def test_samples(self):
        run = Run(self.dir).experiment('e', 'size', ('8', '64'))
        run.write()
        self.samples(run)
        self.plot('--kind', 'dist')
        svg = self.svg('e.dist')
        self.assertIn(f'{2 * N} in all', ' '.join(svg.texts_of('note')))
        for i, k in enumerate(LABELS):
            bins = self.histogram(svg, f'samples.total.{i}')
            self.assertTrue(svg.hatched(f'samples.total.{i}'))
            # Even between 0.5 and 1.5 times the mean, so a bin is as wide as it is high.
            self.assertAlmostEqual(bins[0][0] / total(i), 0.5, delta=0.01)
            self.assertAlmostEqual(bins[-1][1] / total(i), 1.5, delta=0.05)
            rate = [w / (hi - lo) for lo, hi, w in bins[2:-2]]
            self.assertLess(max(rate) / min(rate), 1.35)
            self.assertGreater(len(bins), 30)

    def test_samples_of_the_crossing_are_the_rest(self):
        """Two clocks of different rates: the spread is the crossing's alone, of the right size."""
        run = Run(self.dir).experiment('alone')

        def edit(row):      # where the rows say that the crossing lies
            if row[13] == 'crossing' and row[14] == '-':
                mean = float(row[19])
                row[22], row[27] = str(mean - total(0) / 2), str(mean + total(0) / 2)
            return row
        run.write(edit)
        self.samples(run)
        self.plot('--kind', 'dist')
        svg = self.svg('alone.dist')
        names = [t.strip('*') for _, t in svg.xticks]
        mean = next(m for s, k, _, m in point_rows(0, 1) if (s, k) == ('crossing', '-'))
        bins = self.histogram(svg, f'samples.crossing.{names.index("crossing")}')
        self.assertAlmostEqual(bins[-1][1], mean + total(0) / 2, delta=0.08 * mean)
        lo, hi = min(b[0] for b in bins), max(b[1] for b in bins)
        self.assertLess(lo, mean)
        self.assertGreater(hi, mean)
        issue = self.histogram(svg, f'samples.issue.{names.index("issue")}')
        self.assertEqual(len(issue), 1)     # every message took the same there
        self.assertLess(issue[0][0], interval_mean(0, 0, 1) + 0.1)
        self.assertGreater(issue[0][1], interval_mean(0, 0, 1) - 0.1)
        self.assertTrue(math.isfinite(hi))

    def test_cut_samples_are_seen(self):
        run = Run(self.dir).experiment('e', 'size', ('8', '64'))
        run.write()
        self.samples(run, cut=1)
        self.refused('samples.csv', 'half-written: 999 samples', 'counts 1000')

    def test_samples_of_planted_points_are_left_out(self):
        """They are of twice as many messages as the rows count."""
        for variable, values in (('plant', ('none', 'read:5000')), ('untold', ('none', 'read:7'))):
            run = Run(self.dir)
            run.VARIABLES = {**run.VARIABLES, 'untold': 'none'}
            run.experiment('e', variable, values).experiment('f', 'size', ('16', '64'))

            def halved(row, plain=run.plan[0][0]):
                if row[5] == 'e' and row[1] != plain:
                    row[18] = str(N // 2)
                return row
            run.write(halved)
            self.samples(run)
            r = self.run_plot('--kind', 'dist')
            self.assertEqual((r.returncode, r.stderr), (0, ''))
            self.assertIn('not drawn: e: samples of 1 planted point: ', r.stdout)
            self.assertNotIn('not drawn: f', r.stdout)
            svg = self.svg('e.dist')
            self.assertIn('samples.total.0', svg.ids)
            self.assertNotIn('samples.total.1', svg.ids)
            self.assertIn('quantile.p50', svg.ids)
            self.assertIn('samples.total.1', self.svg('f.dist').ids)

    def test_planted_points_alone(self):
        run = Run(self.dir).experiment('alone', base={'plant': 'read:5000'})
        run.write()
        self.samples(run, cut=1)
        self.assertEqual(self.plot('--kind', 'dist'), ['alone.dist.png', 'alone.dist.svg'])
        self.assertFalse([i for i in self.svg('alone.dist').ids if i.startswith('samples')])

    def test_another_clock_changes_nothing(self):
        run = Run(self.dir).experiment('e', 'size', ('8', '64'))
        run.write()
        seen = []
        for rate in (1.0, 3.0):
            self.samples(run, rate)
            self.plot('--kind', 'dist')
            seen.append(self.histogram(self.svg('e.dist'), 'samples.total.0'))
        self.assertEqual(len(seen[0]), len(seen[1]))


if __name__ == '__main__':
    main()

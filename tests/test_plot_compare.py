# SPDX-License-Identifier: Apache-2.0
"""What stands in one figure differs in one column of the plan; anything else is refused,
and the columns are named."""
import csv
import os

from plots import Case, Run, main


class Compare(Case):
    def test_one_column(self):
        Run(self.dir).experiment('a').experiment('b', base={'ordering': 'sys-fence'}).write()
        self.assertIn('a+b.stack.svg', self.plot('--compare', 'a,b'))
        svg = self.svg('a+b.stack')
        self.assertEqual([t for _, t in svg.xticks], ['gpu-fence', 'sys-fence'])
        self.assertEqual(svg.texts_of('xlabel'), ['ordering'])

    def test_two_columns(self):
        Run(self.dir).experiment('a').experiment('b', base={'ordering': 'sys-fence', 'nic': 'peer'}).write()
        self.refused('plan.csv', 'a and b differ in 2 columns (nic, ordering)', args=('--compare', 'a,b'))

    def test_two_sweeps(self):
        Run(self.dir).experiment('a', 'size', ('8', '64')).experiment(
            'b', 'size', ('8', '64'), base={'issuer': 'gpu'}).write()
        self.refused('(issuer, size)', args=('--compare', 'a,b'))

    def test_probes(self):
        Run(self.dir).experiment('a').experiment('b', probe='floor', base={'ordering': 'none'}).write()
        self.refused('(probe, ordering)', args=('--compare', 'a,b'))

    def change(self, line, column, text):
        path = os.path.join(self.dir, 'plan.csv')
        with open(path, encoding='utf-8', newline='') as f:
            rows = list(csv.reader(f))
        rows[line][rows[0].index(column)] = text
        with open(path, 'w', encoding='utf-8', newline='') as f:
            csv.writer(f, lineterminator='\n').writerows(rows)

    def test_an_experiment_that_hides_a_difference(self):
        run = Run(self.dir).experiment('a', 'size', ('8', '64', '512'))
        run.write()
        self.plot()
        self.change(2, 'nic', 'null')
        self.refused('plan.csv', 'the points of a differ in 2 columns (nic, size)')

    def test_an_experiment_that_varies_something_else(self):
        Run(self.dir).experiment('a', 'size', ('8', '64')).write()
        self.change(1, 'size', '64')
        self.change(1, 'nic', 'peer')
        self.refused('plan.csv:2', 'a says that it varies size, but its points differ in nic')

    def test_a_grid_is_cut_into_sweeps(self):
        """A grid was asked for by name (--cross): a figure for each value of the other variable."""
        Run(self.dir).experiment('g', 'size*ordering', ('8*none', '8*sys-fence', '64*none', '64*sys-fence', '512*none',
                                                        '512*sys-fence')).write()
        names = [f for f in self.plot('--kind', 'stack') if f.endswith('svg')]
        self.assertEqual(names, ['g.ordering-none.stack.svg', 'g.ordering-sys-fence.stack.svg'])
        svg = self.svg('g.ordering-none.stack')
        self.assertEqual([t for _, t in svg.xticks], ['8 B', '64 B', '512 B'])
        self.assertIn('ordering=none', ' '.join(svg.texts_of('about')))
        names = [f for f in self.plot('--kind', 'stack', '--vary', 'ordering') if f.endswith('svg')]
        self.assertEqual(names, ['g.size-512.stack.svg', 'g.size-64.stack.svg', 'g.size-8.stack.svg'])


if __name__ == '__main__':
    main()

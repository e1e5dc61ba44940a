# SPDX-License-Identifier: Apache-2.0
"""No point vanishes: flagged ones are marked, skipped and failed ones keep their place,
and each is named under the figure with its reason."""
from plots import Case, Run, main

VALUES = ('none', 'gpu-fence', 'sys-fence', 'sys-release')
WHY = {'gpu-fence': ('flagged', 'the clock never settled'), 'sys-fence': ('failed', 'no completion in 2 s'),
       'sys-release': ('skipped', 'no <GPU> & "no $reason$"')}


def trouble(value, _rep):
    return WHY.get(value)


class Troubles(Case):
    def said(self, svg):
        return ' '.join(svg.texts_of('note'))

    def test_each_kind(self):
        Run(self.dir).experiment('e', 'ordering', VALUES, trouble=trouble).write()
        self.assertEqual([f for f in self.plot() if f.endswith('.svg')],
                         ['e.dist.svg', 'e.share.svg', 'e.stack.svg', 'e.sweep.svg'])
        for kind in ('stack', 'share', 'dist', 'sweep'):
            svg = self.svg(f'e.{kind}')
            labels = [t.strip('*') for _, t in svg.xticks]
            self.assertEqual(labels, list(VALUES), kind)
            for value, (status, why) in WHY.items():
                self.assertIn(f'{status}: {value}: {why}', self.said(svg), kind)
            at = {k: [svg.x(float(u.get('x'))).strip('*') for u in svg.ids[k].iter(svg.NS + 'use')]
                  for k in ('flagged', 'absent')}
            self.assertEqual(at, {'flagged': ['gpu-fence'], 'absent': ['sys-fence', 'sys-release']}, kind)
            legend = ' '.join(svg.texts_of('legend'))
            self.assertIn('flagged, see below', legend)
            self.assertIn('no figure, see below', legend)

    def test_without_trouble_there_is_no_mark(self):
        Run(self.dir).experiment('e', 'ordering', VALUES).write()
        self.plot('--kind', 'stack')
        svg = self.svg('e.stack')
        self.assertFalse({'flagged', 'absent'} & set(svg.ids))
        self.assertNotIn('see below', ' '.join(svg.texts))

    def test_some_runs_of_a_point(self):
        def crash(value, rep):
            return ('failed', 'a crash') if (value, rep) == ('none', 2) else None
        Run(self.dir, repeat=3).experiment('e', 'ordering', VALUES, trouble=crash).write()
        self.plot('--kind', 'stack')
        svg = self.svg('e.stack')
        self.assertIn('failed: none (1 of 3 runs): a crash', self.said(svg))
        self.assertIn('means over 2 to 3 runs', self.said(svg))
        self.assertEqual(len(svg.bars('part.crossing.measured')), 4)

    def test_a_missing_stage(self):
        Run(self.dir).experiment('e', 'ordering', VALUES).write(
            lambda r: None if r[8] == 'none' and r[13] == 'translation' and r[14] == '-' else r)
        self.plot('--kind', 'stack')
        svg = self.svg('e.stack')
        self.assertIn('not drawn: none: it lacks a mean', self.said(svg))
        self.assertEqual(len(svg.bars('part.crossing.measured')), 3)

    def test_many_have_one_line(self):
        values = tuple(str(8 * (i + 1)) for i in range(40))
        Run(self.dir).experiment('e', 'size', values,
                                 trouble=lambda v, _: ('skipped', 'too large') if int(v) > 80 else None).write()
        self.plot('--kind', 'stack')
        self.assertIn('and 18 more: too large', self.said(self.svg('e.stack')))

    def test_an_experiment_without_figures_is_named(self):
        Run(self.dir).experiment('e').experiment(
            'lost', base={'nic': 'peer'}, trouble=lambda v, rep: ('skipped', 'no GPU here')).write()
        r = self.run_plot()
        self.assertEqual(r.returncode, 0)
        self.assertIn('not drawn: lost: skipped: no GPU here', r.stdout)

    def test_nothing_but_skipped(self):
        Run(self.dir).experiment('lost', trouble=lambda v, rep: ('skipped', 'no GPU here')).write()
        self.refused('summary.csv', 'nothing to draw', 'skipped: no GPU here')


if __name__ == '__main__':
    main()

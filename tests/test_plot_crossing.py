# SPDX-License-Identifier: Apache-2.0
"""Results of the crossing's probes are drawn without options: loads by working set, stores
by fence, bandwidths by size, with the ceiling that stands in the rows beside them."""
from plots import Case, Run, main

BYTES = ('4096', '1048576', '1073741824')
LABELS = ('4 KiB', '1 MiB', '1 GiB')
CEILING = (57.5, 57.5, 58.0)


def bandwidth_rows(point, _rep):
    return [('crossing', '-', 'measured', 10.0 + 20 * point), ('crossing', '-', 'analytic', CEILING[point])]


def as_ceiling(row):
    """The analytic rows are of the metric `ceiling`."""
    if row[29] == 'analytic':
        row[16] = 'ceiling'
    return row


def not_known(row):
    """As on a machine that says nothing of its link: a row without a number."""
    return as_ceiling(row)[:18] + [''] * 11 + row[29:] if row[29] == 'analytic' else row


class Crossing(Case):
    def run_of(self, **variables):
        run = Run(self.dir)
        run.VARIABLES = {**Run.VARIABLES, **variables}
        return run

    def bandwidths(self, edit, varied='size', values=BYTES):
        self.run_of(mover='ce').experiment('b', varied, values, rows=bandwidth_rows, metric=('bandwidth', 'GB/s'),
                                           probe='bandwidth').write(edit)
        return self.plot()

    def test_bandwidth_by_size(self):
        self.assertIn('b.size.svg', self.bandwidths(as_ceiling))
        svg = self.svg('b.size')
        self.close(svg.line('line.crossing'), dict(zip(LABELS, (10.0, 30.0, 50.0))))
        self.close(svg.line('ceiling.crossing'), dict(zip(LABELS, CEILING)))
        self.assertEqual(svg.texts_of('ylabel'), ['mean bandwidth [GB/s]'])
        self.assertIn('ceiling, computed', ' '.join(svg.texts_of('legend')))

    def test_bandwidth_by_names(self):
        self.assertIn('b.sweep.svg', self.bandwidths(as_ceiling, 'mover', ('sm', 'ce', 'cpu')))
        svg = self.svg('b.sweep')
        self.close(svg.markers('ceiling.crossing'), dict(zip(('sm', 'ce', 'cpu'), CEILING)))

    def test_no_ceiling_where_none_is_known(self):
        self.assertIn('b.size.svg', self.bandwidths(not_known))
        svg = self.svg('b.size')
        self.close(svg.line('line.crossing'), dict(zip(LABELS, (10.0, 30.0, 50.0))))
        self.assertNotIn('ceiling.crossing', svg.ids)
        self.assertNotIn('ceiling', ' '.join(svg.texts_of('legend')))

    def test_another_ceiling_is_another_line(self):
        """Control: the line is that of the rows."""
        def higher(row):
            row = as_ceiling(row)
            if row[16] == 'ceiling':
                row[19] = str(float(row[19]) * 1.05)
            return row
        self.bandwidths(higher)
        with self.assertRaises(AssertionError):
            self.close(self.svg('b.size').line('ceiling.crossing'), dict(zip(LABELS, CEILING)))

    def test_loads_by_working_set(self):
        self.run_of(set='33554432').experiment(
            'l', 'set', BYTES, rows=lambda p, r: [('crossing', '-', 'measured', 100.0 + p)], probe='load').write()
        self.assertIn('l.sweep.svg', self.plot())
        svg = self.svg('l.sweep')
        self.close(svg.line('line.crossing'), dict(zip(LABELS, (100.0, 101.0, 102.0))))
        self.assertEqual(svg.texts_of('xlabel'), ['set [B], logarithmic'])

    def test_stores_by_fence(self):
        """A store's cost is drawn, and not the floor beside it."""
        def floors(row):
            if row[13] == 'submit':     # a second row of the point
                row[13], row[16] = '-', 'floor'
            return row
        names = ('none', 'release-gpu', 'sc-sys')
        self.run_of(store_fence='none').experiment(
            's', 'store_fence', names, metric=('store', 'ns'), probe='store',
            rows=lambda p, r: [('-', '-', 'measured', 20.0 + p), ('submit', '-', 'measured', 1.0)]).write(floors)
        self.assertIn('s.sweep.svg', self.plot())
        self.close(self.svg('s.sweep').markers('points.-.measured'), dict(zip(names, (20.0, 21.0, 22.0))))


if __name__ == '__main__':
    main()

# SPDX-License-Identifier: Apache-2.0
"""scripts/goodput.py finds the first size at which a made-up path carries a share of its own highest goodput
or of another experiment's bandwidth, with the sizes between which rows can't tell; it says what is lost
again behind, and what isn't reached. Needs no matplotlib."""
import subprocess
import sys
import unittest

from plots import ROOT, Case, Run
from plotlib import ask, reach
from plotlib.points import Mean

SIZES = tuple(str(1 << k) for k in range(3, 21))
SCRIPT = ROOT + '/scripts/goodput.py'


def carried(size, top=40.0, half=2048):
    """Saturating: 90 % of `top` from 9 times `half` on."""
    return top * size / (size + half)


def mean(x, half):
    return Mean(x, x - half, x + half, 'row', 1, False, 'measured')


class Carried(Run):
    def path(self, name, goodput, sizes=SIZES, **base):
        def rows(i, rep):
            return [('total', '-', 'emulated', goodput(float(sizes[i]), rep))]
        return self.experiment(name, 'size', sizes, rows=rows, base={'metric': 'rate', **base}, metric=('goodput', 'GB/s'))

    def bandwidth(self, name, gb, sizes=('65536', '1048576')):
        def rows(i, rep):
            return [('crossing', '-', 'measured', gb / 2 if i == 0 else gb)]
        return self.experiment(name, 'size', sizes, rows=rows, probe='bandwidth', metric=('bandwidth', 'GB/s'))


def slim(row):
    """As in the files of a run, an interval of 1 % of the mean."""
    if row[16] in ('goodput', 'bandwidth'):
        m = float(row[19])
        row[20:22] = [str(m * .995), str(m * 1.005)]
    return row


class Goodput(Case):
    def said(self, *args):
        r = subprocess.run([sys.executable, SCRIPT, self.dir, *args], capture_output=True, text=True, check=False)
        self.assertEqual((r.returncode, r.stderr), (0, ''))
        return r.stdout.splitlines()

    def refused_with(self, words, *args):
        r = subprocess.run([sys.executable, SCRIPT, *args], capture_output=True, text=True, check=False)
        self.assertEqual((r.returncode, r.stdout), (2, ''))
        self.assertEqual(r.stderr.count('\n'), 1)
        self.assertIn(words, r.stderr)

    def test_a_known_one(self):
        Carried(self.dir).path('a', lambda s, r: carried(s)).path('b', lambda s, r: carried(s, half=300), nic='peer').write(slim)
        a, b = self.said()
        self.assertIn('a: 90 % of its own highest is reached at 32 KiB [32 KiB, 32 KiB], of 8 B to 1 MiB (18 sizes)', a)
        self.assertIn('its own highest is 39.9 [39.7, 40.1] GB/s at 1 MiB', a)
        self.assertIn('the largest size has the highest: more may be possible', a)
        self.assertIn('within the run', a)
        self.assertIn('reached at 4 KiB', b)
        self.assertIn('reached at 2 KiB', self.said('--share', '50')[0])

    def test_of_a_bandwidth(self):
        Carried(self.dir).path('a', lambda s, r: carried(s)).bandwidth('link', 50).bandwidth('other', 40).write(slim)
        line, = self.said('--ceiling', 'link')
        self.assertIn('90 % of 50 [49.8, 50.2] GB/s, the highest of link is not reached', line)
        self.assertNotIn('more may be', line)
        self.assertIn('is reached at 32 KiB', self.said('--ceiling=other')[0])

    def test_what_cannot_be_told_lies_between(self):
        def near(s, _):
            return 36.2 if s == 16384 else carried(s)

        Carried(self.dir).path('a', near).write(slim)
        self.assertIn('reached at 16 KiB [16 KiB, 32 KiB]', self.said()[0])

    def test_lost_again(self):
        Carried(self.dir).path('a', lambda s, r: carried(s) if s < 1 << 18 else 20.0).write(slim)
        line, = self.said()
        self.assertIn('reached at 16 KiB', line)     # of 39.4
        self.assertIn('; not at 256 KiB, 512 KiB, 1 MiB;', line)
        self.assertNotIn('more may be', line)

    def test_what_has_no_figure_and_what_is_flagged_is_said(self):
        def rows(i, rep):
            return [('total', '-', 'emulated', carried(float(SIZES[i])))]

        def trouble(value, rep):
            return ('failed', 'gone') if value == '64' else ('flagged', 'crowded') if value in ('8', '16') else None

        Carried(self.dir).experiment('a', 'size', SIZES, rows=rows, base={'metric': 'rate'}, metric=('goodput', 'GB/s'),
                                     trouble=trouble).write(slim)
        line, = self.said()
        self.assertTrue(line.endswith('; no figure at 64 B; 2 of 17 points are flagged'), line)

    def test_repetitions_that_failed_are_counted(self):
        def rows(i, rep):
            return [('total', '-', 'emulated', carried(float(SIZES[i])) + rep)]

        def trouble(value, rep):
            return None if value not in ('8', '16') else ('failed', 'gone') if rep < 4 else ('flagged', 'crowded')

        def slow(row):      # the largest size of the link alone
            return row[:31] + ['flagged', 'code', 'slow'] if row[5] == 'link' and row[8] == '1048576' else row

        run = Carried(self.dir, repeat=8).experiment('a', 'size', SIZES, rows=rows, base={'metric': 'rate'}, metric=('goodput', 'GB/s'),
                                                     trouble=trouble).bandwidth('link', 50)
        run.write(slow)
        line, = self.said()
        self.assertTrue(line.endswith('; 2 of 18 points are flagged; 6 of 16 repetitions failed, at 2 of 18 points'), line)
        line, = self.said('--ceiling', 'link')
        self.assertTrue(line.endswith('; of the highest of link: 1 of 1 points are flagged'), line)

    def test_nothing_is_denied_that_cannot_be_told(self):
        def near(s, _):
            return 44.9 if s >= 65536 else 10.0     # of 50, with 1 %

        Carried(self.dir).path('a', near).bandwidth('link', 50).write(slim)
        self.assertIn('is undecided from 64 KiB on', self.said('--ceiling', 'link')[0])

    def test_runs_are_the_unit(self):
        Carried(self.dir, repeat=3).path('a', lambda s, r: carried(s) + r).write()
        self.assertIn('over the runs', self.said()[0])

    def test_refusals(self):
        Run(self.dir).experiment('a').write()
        self.refused_with('no experiment varies size and has rows goodput', self.dir)
        self.refused_with('"x" is no experiment with rows bandwidth', self.dir, '--ceiling', 'x')
        for text in ('0', '101', 'nan', 'x', ''):
            self.refused_with('legal: 1 to 100', self.dir, '--share', text)
        self.refused_with('0 are named')
        self.refused_with('--of is no option; there are: --share, --ceiling', self.dir, '--of', 'size')


class Function(unittest.TestCase):
    def test_without_intervals(self):
        bare = {8.: Mean(1, None, None, '', 1, False, 'measured'), 16.: mean(10, 1)}
        r = reach.reach(bare, bare[16.], .9)
        self.assertEqual((r.at, r.known, r.lo, r.hi), (16., False, None, None))

    def test_never_sure(self):
        wide = {8.: mean(1, 1), 16.: mean(10, 5)}
        r = reach.reach(wide, wide[16.], .9)
        self.assertEqual((r.at, r.lo, r.hi), (16., 16., None))
        # control: a slim one is
        slim_one = {8.: mean(1, 1), 16.: mean(10, .1)}
        self.assertEqual(reach.reach(slim_one, slim_one[16.], .9).hi, 16.)

    def test_a_size_is_written_without_an_exponent(self):
        for size, text in ((8, '8 B'), (1000, '1000 B'), (1000.4, '1000 B'), (1023, '1023 B'), (1024, '1 KiB'), (1536, '1.5 KiB'),
                           (36875, '36 KiB'), (1000 << 10, '1000 KiB'), (1 << 20, '1 MiB'), (1 << 30, '1024 MiB'), (1.25, '1.25 B')):
            self.assertEqual(ask.size_text(size), text)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])

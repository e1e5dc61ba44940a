# SPDX-License-Identifier: Apache-2.0
"""scripts/takeover.py says from which size on another stage is the largest of a made-up message, and at which sizes two
paths cost the same; where intervals can't tell it says undecided. Needs no matplotlib."""
import subprocess
import sys
import unittest

from plots import ROOT, Case, Run

SIZES = tuple(str(8 << 3 * k) for k in range(6))     # 8 B to 256 KiB
SCRIPT = ROOT + '/scripts/takeover.py'
FIXED = {'issue': 20, 'crossing': 1000, 'translation': 300, 'handoff': 1500}


def stages(size, per_byte=1 / 16, slow=0):
    """2,000 ns of completion at 32 KiB; `slow` is added to the handoff."""
    return {**FIXED, 'handoff': FIXED['handoff'] + slow, 'completion': 100 + size * per_byte}


class Sized(Run):
    def path(self, name, trouble=None, **how):
        def rows(i, rep):
            s = stages(float(SIZES[i]), **how)
            return [(k, '-', 'measured', v) for k, v in s.items()] + [('total', '-', 'emulated', sum(s.values()))]
        return self.experiment(name, 'size', SIZES, rows=rows, trouble=trouble)


class Takeover(Case):
    def said(self, *args):
        r = subprocess.run([sys.executable, SCRIPT, self.dir, *args], capture_output=True, text=True, check=False)
        self.assertEqual((r.returncode, r.stderr), (0, ''))
        return r.stdout.splitlines()

    def refused_with(self, words, *args):
        r = subprocess.run([sys.executable, SCRIPT, *args], capture_output=True, text=True, check=False)
        self.assertEqual((r.returncode, r.stdout), (2, ''))
        self.assertIn(words, r.stderr)
        self.assertEqual(r.stderr.count('\n'), 1)

    def test_a_stage_takes_over(self):
        Sized(self.dir).path('a').write()
        line, = self.said()
        self.assertIn('a: the largest stage is handoff from 8 B on, 51 % of the total there; '
                      'completion from 32 KiB on, 43 % of the total there', line)
        self.assertNotIn('undecided', line)

    def test_no_other_one_does(self):
        Sized(self.dir).path('a', per_byte=0).write()
        line, = self.said()
        self.assertNotIn('completion', line)

    def test_what_cannot_be_told_is_undecided(self):
        def wide(row):     # the largest two overlap at 4 KiB
            if row[13] in ('handoff', 'completion') and row[8] == '32768':
                row[20:22] = ['1000', '3000']
            return row

        Sized(self.dir).path('a').write(wide)
        self.assertIn('completion from 256 KiB on (undecided from 32 KiB on)', self.said()[0])

    def test_paths_meet(self):
        # 1,000 ns more: 34 % of 2,920, 5 % of 19,304
        Sized(self.dir).path('a').path('b', slow=900).write()
        line = self.said()[2]
        self.assertIn('a and b: within 5 % of each other at 256 KiB; a is faster at 8 B to 32 KiB (most at 8 B, 1.31 times)', line)
        self.assertIn('nowhere surely within 1 % of each other', self.said('--within', '1')[2])
        self.assertIn('b and a: within 50 %', self.said('--within=50', '--paths', 'b,a')[2])
        self.assertIn('a is faster at 8 B to 32 KiB', self.said('--paths', 'b,a')[2])

    def test_totals_that_may_be_either_are_undecided(self):
        def wide(row):
            if row[13] == 'total' and row[1] and row[8] == '262144':
                row[20:22] = ['15000', '25000']
            return row

        Sized(self.dir).path('a').path('b', slow=900).write(wide)
        self.assertIn('undecided at 256 KiB', self.said()[2])

    def test_without_an_interval_nothing_is_sure(self):
        def single(row):
            if row[13] in ('total', 'crossing') and row[1] and row[8] == '262144':
                row[20:22] = ['', '']
            return row

        Sized(self.dir).path('a').path('b', slow=900).write(single)
        a, _, both = self.said()
        self.assertIn('; undecided from 256 KiB on', a)
        self.assertIn('undecided at 256 KiB', both)

    def test_repetitions_that_failed_are_counted(self):
        def trouble(value, rep):
            return None if value != '8' else ('failed', 'gone') if rep < 4 else ('flagged', 'crowded')

        Sized(self.dir, repeat=8).path('a', trouble).path('b', slow=900).write()
        a, b, both = self.said()
        self.assertTrue(a.endswith('; 1 of 6 points are flagged; 3 of 8 repetitions failed, at 1 of 6 points'), a)
        self.assertNotIn('points', b)
        self.assertTrue(both.endswith('; 1 of 12 points are flagged; 3 of 8 repetitions failed, at 1 of 12 points'), both)

    def test_refusals(self):
        Run(self.dir).experiment('a').write()
        self.refused_with('no experiment varies size', self.dir)
        Sized(self.dir).path('a').write()
        self.refused_with('"x" is no experiment that varies size and has totals; there are: a', self.dir, '--paths', 'a,x')
        self.refused_with('each once', self.dir, '--paths', 'a,a')
        for text in ('0', '51', 'nan', 'x', ''):
            self.refused_with('legal: more than 0', self.dir, '--within', text)
        self.refused_with('there are: --over, --within, --paths', self.dir, '--of', 'size')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])

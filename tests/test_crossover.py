# SPDX-License-Identifier: Apache-2.0
"""scripts/crossover.py finds where two made-up arms meet, with an interval that
holds it as often as it says; where they don't meet it says so, and where rows can't tell it doesn't guess.
Needs no matplotlib."""
import glob
import os
import random
import re
import subprocess
import sys
import unittest


from plots import ROOT, Case, Run
from plotlib import better, crossover
from plotlib.points import Mean

SIZES = tuple(str(1 << k) for k in range(6, 21, 2))
FIXED, PER_BYTE, COPY, COPY_PER_BYTE = 3000.0, 0.02, 50.0, 0.1
MEET = (FIXED - COPY) / (COPY_PER_BYTE - PER_BYTE)      # 36,875 B
SCRIPT = ROOT + '/scripts/crossover.py'


class Sent(Run):
    VARIABLES = {**Run.VARIABLES, 'registration': 'persistent', 'mechanism': 'populate', 'host_page': 'auto', 'page': '4k'}

    def arm(self, name, registration, cost, sizes=SIZES, **base):
        """`cost(size, rep)` in ns; its interval is two less and three more."""
        def rows(i, rep):
            return [('translation', '-', 'measured', cost(float(sizes[i]), rep))]
        return self.experiment(name, 'size', sizes, rows=rows, base={'registration': registration, **base},
                               metric=('registration_cost', 'ns'))


def demand(size, _=0):
    return FIXED + PER_BYTE * size


def copied(size, _=0):
    return COPY + COPY_PER_BYTE * size


def mean(x, half):
    return Mean(x, x - half, x + half, 'row', 1, False, 'measured')


class Said(Case):
    def found(self, *args):
        r = subprocess.run([sys.executable, SCRIPT, self.dir, *args], capture_output=True, text=True, check=False)
        self.assertEqual((r.returncode, r.stderr), (0, ''))
        return r.stdout.splitlines()

    def refused_with(self, words, *args):
        r = subprocess.run([sys.executable, SCRIPT, *args], capture_output=True, text=True, check=False)
        self.assertEqual((r.returncode, r.stdout), (2, ''))
        self.assertEqual(r.stderr.count('\n'), 1)
        self.assertIn(words, r.stderr)


class Crossover(Said):
    def test_a_known_one(self):
        Sent(self.dir).arm('d', 'on-demand', demand, mechanism='mlock').arm('s', 'staged', copied).write()
        line, = self.found()
        self.assertIn('mechanism=mlock host_page=auto page=4k: crossover between 16 KiB and 64 KiB, by straight lines at 36 KiB [', line)
        self.assertIn('staging costs less below it, of 64 B to 1 MiB (8 sizes)', line)
        self.assertIn('within the run', line)

    def test_by_mechanism_and_page(self):
        run = Sent(self.dir).arm('a', 'on-demand', demand, mechanism='mlock', host_page='4k')
        run.arm('b', 'on-demand', lambda s, r: 4 * demand(s), mechanism='mlock', host_page='2m')
        run.arm('c', 'on-demand', lambda s, r: 10 + .01 * s, mechanism='host-register', host_page='4k')
        run.arm('s', 'staged', copied, host_page='4k').arm('t', 'staged', copied, host_page='2m').write()
        lines = self.found()
        self.assertEqual(len(lines), 3)
        self.assertIn('mechanism=mlock host_page=4k page=4k: crossover between 16 KiB and 64 KiB, by straight lines at 36 KiB', lines[0])
        self.assertIn('mechanism=host-register host_page=4k page=4k: no crossover: excluded in the range', lines[1])
        self.assertIn('host-register costs less at each', lines[1])
        self.assertIn('host_page=2m', lines[2])
        self.assertRegex(lines[2], 'crossover between 256 KiB and 1 MiB, by straight lines at 58[34] KiB')     # 11950 / 0.02

    def test_by_issuer_and_what_is_copied_from(self):
        """Arms of several groups are held against their own group's, and said by what tells them apart."""
        run = Sent(self.dir)
        run.VARIABLES = {**run.VARIABLES, 'issuer': 'cpu', 'submitter': 'gpu', 'staged_from': 'auto'}
        run.arm('a', 'on-demand', demand, mechanism='mlock').arm('s', 'staged', copied)
        run.arm('b', 'on-demand', lambda s, r: 4 * demand(s), mechanism='mlock', issuer='gpu', submitter='proxy')
        run.arm('t', 'staged', copied, issuer='gpu', submitter='proxy', staged_from='host')
        run.arm('u', 'staged', lambda s, r: 1e6 + copied(s), issuer='gpu', submitter='proxy', staged_from='gpu')
        run.arm('v', 'staged', copied, issuer='gpu').write()      # without a partner
        lines = self.found()
        self.assertEqual(len(lines), 3)
        said = {line.split(': ')[0]: line for line in lines}
        pages = {'host_page=auto', 'page=4k'}
        by = {frozenset(k.split()) - pages: v for k, v in said.items()}
        self.assertIn('crossover between 16 KiB and 64 KiB, by straight lines at 36 KiB', by[frozenset({'mechanism=mlock', 'issuer=cpu', 'submitter=gpu'})])
        gpu = {'mechanism=mlock', 'issuer=gpu', 'submitter=proxy'}
        self.assertIn('by straight lines at 58', by[frozenset({*gpu, 'staged_from=host'})])
        self.assertIn('mlock costs less at each', by[frozenset({*gpu, 'staged_from=gpu'})])

    def test_none(self):
        """control"""
        Sent(self.dir).arm('d', 'on-demand', lambda s, r: copied(s) + 500 + s, mechanism='mlock').arm('s', 'staged', copied).write()
        line, = self.found()
        self.assertIn('no crossover: excluded in the range 64 B to 1 MiB (8 sizes), staging costs less at each', line)

    def test_what_cannot_be_told(self):
        alike = Sent(self.dir).arm('d', 'on-demand', lambda s, r: copied(s) + 1, mechanism='mlock').arm('s', 'staged', copied)
        alike.write()
        self.assertIn("undecided: the two can't be told apart", self.found()[0])

    def test_too_few_sizes_exclude_nothing(self):
        for n in (1, 2):
            run = Sent(f'{self.dir}{n}').arm('d', 'on-demand', lambda s, r: copied(s) + 500, SIZES[:n], mechanism='mlock')
            where = run.arm('s', 'staged', copied, SIZES[:n]).write()
            r = subprocess.run([sys.executable, SCRIPT, where], capture_output=True, text=True, check=False)
            self.assertNotIn('excluded', r.stdout)
            self.assertIn(f'undecided: staging costs less at each, but of {("64 B (1 size)", "64 B to 256 B (2 sizes)")[n - 1]} too few to '
                          'exclude a crossover, 3 are wanted', r.stdout)
        # control
        Sent(self.dir).arm('d', 'on-demand', lambda s, r: copied(s) + 500, SIZES[:3], mechanism='mlock').arm('s', 'staged', copied, SIZES[:3]).write()
        self.assertIn('no crossover: excluded in the range 64 B to 1 KiB (3 sizes), staging costs less at each', self.found()[0])

    def test_two_sizes_on_two_sides_are_a_crossover(self):
        Sent(self.dir).arm('d', 'on-demand', demand, SIZES[4:6], mechanism='mlock').arm('s', 'staged', copied, SIZES[4:6]).write()
        self.assertIn('crossover between 16 KiB and 64 KiB, by straight lines at 36 KiB', self.found()[0])

    def test_runs_are_the_unit(self):
        Sent(self.dir, repeat=5).arm('d', 'on-demand', lambda s, r: demand(s) + 200 * r, mechanism='mlock').arm(
            's', 'staged', lambda s, r: copied(s) - 10 * r).write()
        line, = self.found()
        self.assertIn('over the runs', line)
        self.assertIn('crossover between 16 KiB and 64 KiB, by straight lines at 43.', line)     # 600 and 30 more apart: 3580 / 0.08
        lo, hi = line.split('[')[1].split(']')[0].split(', ')
        self.assertGreater(float(hi.split()[0]) - float(lo.split()[0]), 8)     # 200 a run is 5 KiB

    def test_sizes_without_an_interval_are_said(self):
        def bare(sizes):
            return lambda row: row[:20] + ['', ''] + row[22:] if row[8] in sizes and row[5] == 'd' else row

        run = Sent(self.dir).arm('d', 'on-demand', demand, mechanism='mlock').arm('s', 'staged', copied)
        run.write(bare(SIZES))
        line, = self.found()
        self.assertIn('undecided: none of 8 sizes has an interval in both arms; --repeat 5 gives one', line)
        self.assertNotIn('within the run', line)
        run.write(bare(SIZES[1:3]))
        line, = self.found()
        self.assertIn('of 64 B to 1 MiB (6 sizes)', line)
        self.assertTrue(line.endswith('; left out without an interval, which --repeat 5 gives: 256 B, 1 KiB'), line)
        run.write()     # control
        self.assertNotIn('--repeat', self.found()[0])

    def test_what_is_flagged_or_failed_is_said(self):
        def rows(i, rep):
            return [('translation', '-', 'measured', demand(float(SIZES[i])) + rep)]

        def trouble(v, rep):
            return ('flagged', 'crowded') if v in SIZES[:2] else ('failed', 'gone') if (v, rep) == (SIZES[3], 2) else None

        run = Sent(self.dir, repeat=4).arm('s', 'staged', copied)
        run.experiment('d', 'size', SIZES, rows=rows, base={'registration': 'on-demand', 'mechanism': 'mlock'}, trouble=trouble,
                       metric=('registration_cost', 'ns')).write()
        line, = self.found()
        self.assertTrue(line.endswith('; 2 of 16 points are flagged; 1 of 4 repetitions failed, at 1 of 16 points'), line)
        # control
        self.dir = Sent(self.dir + '2').arm('d', 'on-demand', demand, mechanism='mlock').arm('s', 'staged', copied).write()
        self.assertNotIn('points', self.found()[0])

    def test_refusals(self):
        Run(self.dir).experiment('a').write()
        self.refused_with('no column registration', self.dir)
        self.refused_with('there is no "latency"', self.dir, '--metric', 'latency')
        self.refused_with('0 are named', '--metric=registration_cost')
        other = self.dir + '2'
        Sent(other).arm('d', 'on-demand', demand, mechanism='mlock').write()
        self.refused_with('no two arms', other)


class Submitted(Run):
    VARIABLES = {**Run.VARIABLES, 'submitter': 'gpu', 'blocks': '1'}

    def arm(self, name, submitter, cost, values=SIZES, over='size', metric=('latency', 'ns'), stage='total', **base):
        def rows(i, rep):
            return [(stage, '-', 'measured', cost(float(values[i]), rep))]
        return self.experiment(name, over, values, rows=rows, base={'submitter': submitter, **base}, metric=metric)


class AnyArms(Said):
    """Of any variable over any numeric one."""

    def test_a_known_one(self):
        run = Submitted(self.dir).arm('a', 'gpu', copied).arm('b', 'proxy', demand)
        run.arm('c', 'cpu', lambda s, r: 9000 + demand(s)).write()
        lines = self.found('--of', 'submitter')
        self.assertEqual(len(lines), 3)
        self.assertRegex(lines[0], r'^path: gpu against proxy: crossover between 16 KiB and 64 KiB, by straight lines at 36 KiB \[.*\]: gpu is better below it, '
                                   r'of 64 B to 1 MiB \(8 sizes\); latency total, intervals 95 % within the run')
        self.assertIn('gpu against cpu: crossover between 64 KiB and 256 KiB, by straight lines at 146 KiB', lines[1])    # 11950 / 0.08
        self.assertIn('proxy against cpu: no crossover: excluded', lines[2])
        self.assertIn('proxy is better at each', lines[2])

    def test_more_is_better_of_rates(self):
        def faster(n, _=0):
            return 100 + 10 * n

        run = Submitted(self.dir).arm('a', 'gpu', faster, ('1', '2', '4', '64'), 'blocks', ('rate', 'Mmsg/s'))
        run.arm('b', 'proxy', lambda n, r: 150 + n, ('1', '2', '4', '64'), 'blocks', ('rate', 'Mmsg/s')).write()
        line, = self.found('--of=submitter', '--over=blocks', '--metric=rate')
        self.assertRegex(line, r'crossover between blocks=4 and blocks=64, by straight lines at blocks=5\.\d+ \[.*proxy is better below it, of blocks=1 to blocks=64 \(4 values\)')
        # control: of a latency with the same figures it is the other one
        other = Submitted(self.dir + '2').arm('a', 'gpu', faster, ('1', '2', '4', '64'), 'blocks')
        self.dir = other.arm('b', 'proxy', lambda n, r: 150 + n, ('1', '2', '4', '64'), 'blocks').write()
        line, = self.found('--of=submitter', '--over=blocks')
        self.assertIn('gpu is better below it', line)

    def test_groups_differ_in_nothing_else(self):
        run = Submitted(self.dir).arm('a', 'gpu', copied).arm('b', 'proxy', demand)
        run.arm('c', 'gpu', copied, nic='peer').arm('d', 'proxy', demand, batch='2').write()
        line, = self.found('--of', 'submitter')     # the last two have no partner
        self.assertTrue(line.startswith('path: gpu against proxy'), line)
        run.arm('e', 'proxy', lambda s, r: 9 * demand(s), nic='peer').write()
        lines = self.found('--of', 'submitter')
        self.assertEqual([x.split(':')[0] for x in lines], ['path nic=soft', 'path nic=peer'])

    def test_of_a_stage(self):
        run = Submitted(self.dir).arm('a', 'gpu', copied, stage='submit').arm('b', 'proxy', demand, stage='submit')
        run.write()
        self.assertIn('latency submit', self.found('--of', 'submitter', '--stage', 'submit')[0])
        self.refused_with('no two values of submitter with rows total latency', self.dir, '--of', 'submitter')

    def test_what_arms_have_no_choice_in(self):
        run = Submitted(self.dir).arm('a', 'gpu', copied, ordering='sys-fence').arm('b', 'proxy', demand)
        run.arm('c', 'proxy', lambda s, r: 10 * demand(s), ordering='none').write()
        self.refused_with('alike in all but submitter, size', self.dir, '--of', 'submitter')     # control
        lines = self.found('--of', 'submitter', '--but', 'ordering')
        self.assertIn('path: gpu (ordering=sys-fence) against proxy (ordering=gpu-fence): crossover between 16 KiB and 64 KiB, by straight lines at 36 KiB', lines[0])
        self.assertIn('gpu (ordering=sys-fence) against proxy (ordering=none)', lines[1])
        self.assertEqual(len(lines), 2)     # not proxy against itself
        self.refused_with('name a variable twice', self.dir, '--of', 'submitter', '--but', 'size')
        self.refused_with('--but: ', self.dir, '--of', 'submitter', '--but', 'nothing')
        self.refused_with('--but belongs to --of', self.dir, '--but', 'size')

    def test_flagged_points_are_counted(self):
        run = Submitted(self.dir).arm('a', 'gpu', copied)
        run.experiment('b', 'size', SIZES, rows=lambda i, rep: [('total', '-', 'measured', demand(float(SIZES[i])))],
                       base={'submitter': 'proxy'}, trouble=lambda v, rep: ('flagged', 'crowded') if v in SIZES[:3] else None).write()
        self.assertTrue(self.found('--of', 'submitter')[0].endswith('; 3 of 16 points are flagged'))
        # control
        other = Submitted(self.dir + '2').arm('a', 'gpu', copied).arm('b', 'proxy', demand)
        self.dir = other.write()
        self.assertNotIn('flagged', self.found('--of', 'submitter')[0])

    def test_repetitions_that_failed_are_counted(self):
        """Of eight the mean is of five then, and none of the words of the five are lost."""
        def trouble(v, rep):
            return None if v != '64' else ('failed', 'gone') if rep < 4 else ('flagged', 'crowded')

        run = Submitted(self.dir, repeat=8).arm('a', 'gpu', copied)
        run.experiment('b', 'size', SIZES, rows=lambda i, rep: [('total', '-', 'measured', demand(float(SIZES[i])) + rep)],
                       base={'submitter': 'proxy'}, trouble=trouble).write()
        line, = self.found('--of', 'submitter')
        self.assertTrue(line.endswith('; 1 of 16 points are flagged; 3 of 8 repetitions failed, at 1 of 16 points'), line)

    def test_points_that_do_not_vary_it_are_left_out(self):
        run = Submitted(self.dir).arm('a', 'gpu', copied, values=('1', '2', '4', '8'), over='blocks')
        run.arm('b', 'proxy', demand, values=('1', '2', '4', '8'), over='blocks')
        run.arm('c', 'gpu', copied, blocks='auto').write()
        self.assertEqual(len(self.found('--of', 'submitter', '--over', 'blocks')), 1)

    def test_what_is_asked_wrongly(self):
        Submitted(self.dir).arm('a', 'gpu', copied).arm('b', 'proxy', demand).write()
        self.refused_with('has no variable "workers"', self.dir, '--of', 'workers')
        self.refused_with('has no variable "depth"', self.dir, '--of', 'submitter', '--over', 'depth')
        self.refused_with('name a variable twice: size, size', self.dir, '--of', 'size')
        self.refused_with('ordering is no number', self.dir, '--of', 'submitter', '--over', 'ordering')
        self.refused_with('--over belongs to --of', self.dir, '--over', 'size')
        self.refused_with('--of stands twice', self.dir, '--of', 'size', '--of', 'size')
        self.refused_with('--of needs a value', self.dir, '--of')


    def test_a_metric_without_a_better_side_is_refused(self):
        run = Submitted(self.dir).arm('a', 'gpu', copied, metric=('plant_delta', 'ns')).arm('b', 'proxy', demand, metric=('plant_delta', 'ns'))
        run.arm('c', 'gpu', copied, ordering='none').arm('d', 'proxy', demand, metric=('oddity', 'ns'), ordering='none').write()
        self.refused_with('"plant_delta" is neither better nor worse when it is more; legal, of what these rows have: latency\n',
                          self.dir, '--of', 'submitter', '--metric', 'plant_delta')
        self.refused_with('"oddity" is in no table of which way is better; legal', self.dir, '--of=submitter', '--metric=oddity')

    def test_more_is_better_of_what_a_run_carries_or_reaches(self):
        for i, (metric, unit) in enumerate((('bandwidth_slowest', 'GB/s'), ('reach', 'B'), ('reach_pages', 'count'), ('cpu_mhz_before', 'MHz'))):
            run = Submitted(self.dir + str(i)).arm('a', 'gpu', copied, metric=(metric, unit))
            where = run.arm('b', 'proxy', lambda s, r: 2 * copied(s), metric=(metric, unit)).write()
            r = subprocess.run([sys.executable, SCRIPT, where, '--of=submitter', f'--metric={metric}'], capture_output=True, text=True, check=False)
            self.assertIn('proxy is better at each', r.stdout, metric + r.stderr)


def written(text):
    """Names of metrics in a source: what the functions that add a row are given, less stages, units and links."""
    no = re.findall(r'\[STAGE_\w+\] = "(\w+)"', source('stages/stage.c')) + ['total', 'submit', 'ns', 'count', 'share', 'cores', 'none', 'host', 'no']
    calls = re.findall(r'\b\w+_row\(((?:[^()"]|"[^"]*"|\((?:[^()]|\([^()]*\))*\))*)\)', text)
    calls += re.findall(r'->metric, sizeof\(\w+->metric\), ("\w+")\)', text)
    calls += re.findall(r'\*metric, \*unit; \} \w+\[\] = \{(.*?)\n\t\};', text, re.S)
    return {n for c in calls for n in re.findall(r'"([a-z_]+)"', c)} - {*no}


def source(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as f:
        return f.read()


class Tables(unittest.TestCase):
    """Which way is better is known of each metric that is ever written, once."""

    def tabled(self):
        names = [*better.MORE, *better.LESS, *better.NEITHER]
        self.assertEqual(len(names), len({*names}))
        return {*names}

    def test_of_the_sources(self):
        paths = [p for ext in ('c', 'h', 'cu') for p in glob.glob(f'{ROOT}/stages/**/*.{ext}', recursive=True)]
        found = {n for p in paths for n in written(source(p))}
        self.assertEqual(found, self.tabled())

    def test_a_new_one_is_seen(self):
        self.assertEqual(written('r = path_row(out, c, "total", f(g(x)) ? "new" : "latency", "ns");'), {'new', 'latency'})

    def test_of_the_method(self):
        line = re.search(r'^\| `metric`, `unit` \| (.*) \|$', source('docs/method.md'), re.M).group(1)
        found = {*re.findall(r'[a-z_]+', line)}
        self.assertLessEqual(self.tabled(), found)


class Function(unittest.TestCase):
    def arms(self, half, noise=None, a=copied, b=demand, sizes=SIZES):
        def arm(f):
            return {float(s): mean(f(float(s)) + (noise() if noise else 0), half) for s in sizes}
        return arm(a), arm(b)

    def test_exact(self):
        f = crossover.crossover(*self.arms(0.5))
        self.assertEqual((f.found, f.below), ('crossover', 'a'))
        self.assertAlmostEqual(f.at, MEET, delta=1e-6 * MEET)
        half = 0.5 * 2 ** .5 / 0.08
        self.assertAlmostEqual(f.lo, MEET - half, delta=1e-3)
        self.assertAlmostEqual(f.hi, MEET + half, delta=1e-3)

    def test_the_other_way_round(self):
        a, b = self.arms(0.5)
        f = crossover.crossover(b, a)
        self.assertEqual((f.found, f.below), ('crossover', 'b'))
        self.assertAlmostEqual(f.at, MEET, delta=1e-6 * MEET)
        self.assertLess(f.lo, f.at)
        self.assertLess(f.at, f.hi)

    def test_between_needs_no_straight_line(self):
        """A step of one arm: the line's crossover moves with the sizes that are there, out of its own interval;
        what it is said to be between holds the step all the same."""
        def step(s):
            return 100 + (1e6 if s >= 20000 else 0)

        every = crossover.crossover(*self.arms(1, a=step, b=lambda s: 200))
        self.assertEqual(every.between, (16384., 65536.))
        fewer = crossover.crossover(*self.arms(1, a=step, b=lambda s: 200, sizes=[s for s in SIZES if s != '16384']))
        self.assertEqual(fewer.between, (4096., 65536.))
        for f in (every, fewer):
            self.assertEqual(f.found, 'crossover')
            self.assertLess(f.between[0], 20000)
            self.assertGreater(f.between[1], 20000)
            self.assertFalse(f.lo <= 20000 <= f.hi)
        self.assertFalse(every.lo <= fewer.at <= every.hi)
        # control: of straight lines it stays
        fewer = crossover.crossover(*self.arms(1, sizes=[s for s in SIZES if s != '16384']))
        self.assertAlmostEqual(fewer.at, MEET, delta=1e-6 * MEET)

    def test_between_leaves_out_what_is_not_sure(self):
        a, b = self.arms(1)
        self.assertEqual(crossover.crossover(a, b).between, (16384., 65536.))     # control
        a[65536.] = b[65536.]
        self.assertEqual(crossover.crossover(a, b).between, (16384., 262144.))

    def test_wide_intervals_reach_over_sizes(self):
        f = crossover.crossover(*self.arms(3000.0 / 2 ** .5 * .9))
        self.assertEqual(f.found, 'crossover')
        self.assertAlmostEqual(f.lo, MEET - 2700 / .08, delta=1)
        self.assertAlmostEqual(f.hi, MEET + 2700 / .08, delta=1)

    def test_coverage(self):
        """Of 95 % intervals; noise is of the same width."""
        rng, sd, inside, n = random.Random(7), 150.0, 0, 400
        for _ in range(n):
            f = crossover.crossover(*self.arms(1.96 * sd, lambda: rng.gauss(0, sd)))
            inside += f.found == 'crossover' and f.lo <= MEET <= f.hi
        self.assertGreater(inside, .91 * n)
        # control: intervals a fourth as wide hold it less often
        rng, inside = random.Random(7), 0
        for _ in range(n):
            f = crossover.crossover(*self.arms(1.96 * sd / 4, lambda: rng.gauss(0, sd)))
            inside += f.found == 'crossover' and f.lo <= MEET <= f.hi
        self.assertLess(inside, .75 * n)

    def test_several(self):
        f = crossover.crossover(*self.arms(1, a=lambda s: 500 if s in (1024., 65536.) else 100, b=lambda s: 300))
        self.assertEqual(f.found, 'several')

    def test_no_interval_says_nothing(self):
        a, b = self.arms(1)
        a = {s: m._replace(lo=None, hi=None, over='') for s, m in a.items()}
        self.assertEqual(crossover.crossover(a, b).found, 'undecided')
        self.assertEqual(crossover.crossover({}, b).found, 'undecided')

    def test_unsure_elsewhere(self):
        a, b = self.arms(1)
        b[64.] = a[64.]
        f = crossover.crossover(a, b)
        self.assertEqual((f.found, f.between), ('undecided', (16384., 65536.)))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])

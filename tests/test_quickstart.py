# SPDX-License-Identifier: Apache-2.0
"""scripts/quickstart and scripts/tell.py: the sentences are those of the rows, wrong options
are refused in one sentence, what is missing is named with the command that brings it, and
two runs have two directories.  test_quickstart.py SOURCE FIVESTAGE"""
import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT, PROGRAM = (os.path.abspath(x) for x in sys.argv[1:3])
sys.dont_write_bytecode = True


def has_matplotlib():
    return any(subprocess.run([p, '-c', 'import matplotlib'], capture_output=True, check=False).returncode == 0
               for p in ('/usr/bin/python3', 'python3') if shutil.which(p))


class Quickstart(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.mkdtemp(prefix='fivestage-quick-')
        self.addCleanup(shutil.rmtree, self.tmp, ignore_errors=True)

    def bundle(self):
        """The sources' scripts beside a program, as a bundle has them."""
        where = os.path.join(self.tmp, 'bundle')
        shutil.copytree(os.path.join(ROOT, 'scripts'), os.path.join(where, 'scripts'))
        shutil.copytree(os.path.join(ROOT, 'configs'), os.path.join(where, 'configs'))
        shutil.copy(PROGRAM, where)
        return where

    def run_it(self, *argv, code=0, env=None):
        r = subprocess.run(argv, cwd=self.tmp, capture_output=True, text=True, timeout=1200, check=False,
                           stdin=subprocess.DEVNULL, env={**os.environ, **(env or {})})
        self.assertEqual(r.returncode, code, f'{argv}\n{r.stdout}\n{r.stderr}')
        return r

    def script(self, name):
        return os.path.join(ROOT, 'scripts', name)

    def test_help_and_wrong_options(self):
        for name, wrong in (('quickstart', (['--wrong'], ['-o'], ['-b', ''], ['word'])),
                            ('packages', (['wrong'], ['--wrong'])),
                            ('test', (['--wrong'],)),
                            ('tell.py', (['--wrong'], [], ['a', 'b'], ['/nowhere'])),
                            ('plot.py', (['--wrong'], [], ['a', 'b'], ['/nowhere'], ['--kind'], ['x', '--kind=pie']))):
            said = self.run_it(self.script(name), '--help')
            self.assertIn(f'scripts/{name}', said.stdout)
            self.assertEqual(said.stderr, '')
            self.assertNotIn('#!', said.stdout)
            for argv in wrong:
                r = self.run_it(self.script(name), *argv, code=2)
                self.assertEqual((r.stdout, r.stderr.count('\n')), ('', 1), (name, argv, r.stderr))
                self.assertTrue(r.stderr.startswith(f'scripts/{name}: '), r.stderr)

    def test_a_directory_that_is_not_empty(self):
        r = self.run_it(self.script('quickstart'), '-o', ROOT, code=5)
        self.assertIn('not an empty directory', r.stderr)

    def test_two_runs_and_their_sentences(self):
        where = self.bundle()
        seen = []
        for _ in range(2):
            r = self.run_it(os.path.join(where, 'scripts', 'quickstart'), '--no-install')
            self.assertNotIn('Traceback', r.stdout + r.stderr)
            said = r.stdout.split('== what it shows\n')[1]
            lies = os.path.join(self.tmp, re.search(r'^Everything lies in (\S+): ', said, re.M).group(1))
            self.check_sentences(said, lies)
            if has_matplotlib():
                figure = os.path.join(self.tmp, re.search(r'^In (\S+\.svg) ', said).group(1))
                self.assertGreater(os.path.getsize(figure), 10000)
                self.assertGreater(os.path.getsize(figure[:-3] + 'png'), 10000)
                sizes = os.path.join(self.tmp, re.search(r'^By size \((\S+\.svg) shows it: ', said, re.M).group(1))
                self.assertGreater(os.path.getsize(sizes), 10000)
            else:
                self.assertIn('no figures', r.stdout)
            seen.append(lies)
        self.assertNotEqual(*seen)

    def test_a_terminal_interrupts_all(self):
        """A terminal sends SIGINT to the script and to whatever is in its process group: the run ends in good order."""
        where = os.path.join(self.bundle(), 'scripts', 'quickstart')
        for i in range(10):  # a run may be over before it is interrupted
            out = os.path.join(self.tmp, f'interrupted-{i}')
            with subprocess.Popen([where, '--no-install', '--no-plot', '-o', out], cwd=self.tmp, text=True, start_new_session=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as p:
                until = time.monotonic() + 60
                while not os.path.isdir(os.path.join(out, 'points')) and time.monotonic() < until and p.poll() is None:
                    time.sleep(0.01)
                time.sleep(0.1)
                os.killpg(p.pid, signal.SIGINT)
                said = p.communicate(timeout=300)[0]
            if p.returncode == 143:
                break
        self.assertEqual(p.returncode, 143, said)
        self.assertRegex(said, r'\d+ points: .* not measured')

    def figures(self, lies):
        """{(experiment, value, stage): mean} and the rows' reasons."""
        out, why = {}, set()
        with open(os.path.join(lies, 'summary.csv'), encoding='utf-8', newline='') as f:
            for r in csv.DictReader(f):
                if r['status'] == 'skipped':
                    why.add(r['reason'])
                elif r['interval'] == '-' and r['metric'] == 'latency' and r['mean']:
                    out[(r['experiment'], r['value'], r['stage'])] = float(r['mean'])
        return out, why

    def check_sentences(self, said, lies):
        at, why = self.figures(lies)
        lines = said.splitlines()
        total = at[('soft-issuer', 'cpu', 'total')]
        found = re.search(r'([\d.]+) (ns|us|ms) from one CPU to another', lines[0])
        self.assertTrue(self.near(found, total), (lines[0], total))
        # Control: another run's number would be seen.
        self.assertFalse(self.near(found, total * 1.06))
        if not any(k[0] == 'gpu-peer-where' or k[:2] == ('soft-issuer', 'gpu') for k in at):
            stages = {s: at[('soft-issuer', 'cpu', s)] for s in ('issue', 'crossing', 'translation', 'handoff',
                                                                 'completion')}
            most = max(stages, key=stages.get)
            words = 'Most of it' if 2 * stages[most] > total else 'The largest part of it'
            self.assertRegex(lines[1], rf'^{words} \(from one CPU to another\) is {most} ')
            share = int(re.search(rf'{most} [\d.]+ \w+ \((\d+) %\)', lines[1]).group(1))
            self.assertLessEqual(abs(share - 100 * stages[most] / total), 0.51)
            last = re.search(r'to ([\d.]+) (ns|us|ms) at 1 MiB', lines[2])
            self.assertTrue(self.near(last, at[('cpu-soft-size', '1048576', 'total')]), lines[2])
        for reason in why:
            self.assertIn(reason, said)

    def test_several_paths(self):
        """Of made-up rows, as a machine with two GPUs has them: the figure with most paths, every total."""
        from plots import Run, point_rows
        ids = {}

        def rows(experiment, at):
            def of(i, rep):
                ids[(experiment, i)] = sum(m for s, k, _, m in point_rows(at + i, rep) if (s, k) == ('total', '-'))
                return point_rows(at + i, rep)
            return of
        d = Run(os.path.join(self.tmp, 'made'))
        d.VARIABLES = {**d.VARIABLES, 'nic_gpu': 'auto'}
        d.experiment('soft-issuer', 'issuer', ('gpu', 'cpu'), rows('soft', 10))
        d.experiment('gpu-peer-where', 'nic_gpu', ('gpu', '1'), rows('peer', 30), base={'nic': 'peer', 'issuer': 'gpu'})
        d.experiment('gpu-peer-where-pingpong', 'nic_gpu', ('gpu', '1'), rows('bare', 50), probe='pingpong',
                     base={'nic': 'peer', 'issuer': 'gpu'})
        d.experiment('gpu-peer-size', 'size', ('0', '8', '64'), rows('size', 70), base={'nic': 'peer', 'ordering': 'none'})
        said = self.run_it(self.script('tell.py'), d.write(), '--drawn').stdout
        self.assertIn(f'In {d.dir}/plots/gpu-peer-where.stack.svg', said)
        for key, words in ((('peer', 0), 'between SMs of one GPU'), (('peer', 1), 'between two GPUs'),
                           (('soft', 0), 'from a GPU to a CPU over PCIe'), (('soft', 1), 'from one CPU to another')):
            self.assertIn(f'{ids[key]:.0f} ns {words}', said)
        self.assertRegex(said, rf'goes from {ids[("size", 1)]:.0f} ns at 8 B to {ids[("size", 2)]:.0f} ns at 64 B, '
                               'never doubles')
        self.assertIn('a bare flag over the same way needs', said)
        self.assertNotIn('Careful', said)
        # With one GPU the paths to and from a CPU are more.
        d.plan, d.rows = [r for r in d.plan if r[4] != '1'], [r for r in d.rows if r[8] != '1']
        self.assertIn('plots/soft-issuer.stack.svg', self.run_it(self.script('tell.py'), d.write(), '--drawn').stdout)
        # Controls: another run's rows, and means far from their medians.
        moved = d.write(lambda r: r[:19] + [str(float(r[19]) * 1.5), *r[20:]] if r[13] == 'total' else r)
        self.assertNotIn(f'{ids[("soft", 1)]:.0f} ns', self.run_it(self.script('tell.py'), moved).stdout)
        noisy = d.write(lambda r: r[:23] + [str(float(r[23]) / 5), *r[24:]] if r[13] == 'total' else r)
        self.assertIn('Careful: at ', self.run_it(self.script('tell.py'), noisy).stdout)
        # A point that stands in two experiments is counted once.
        d.experiment('again', 'issuer', ('gpu', 'cpu'), rows('soft', 10))
        noisy = d.write(lambda r: r[:23] + [str(float(r[23]) / 5), *r[24:]] if r[13] == 'total' else r)
        n = len({r[1] for r in d.rows if r[13] == 'total'})
        self.assertLess(n, len({(r[1], r[5]) for r in d.rows if r[13] == 'total'}))
        self.assertIn(f'Careful: at {n} of {n} points', self.run_it(self.script('tell.py'), noisy).stdout)
        d.plan, d.rows = [r for r in d.plan if r[1] != 'again'], [r for r in d.rows if r[5] != 'again']
        d.plan, d.rows = d.plan[-1:], d.rows[-16:]
        self.assertIn('configs/default.ini', self.run_it(self.script('tell.py'), d.write(), code=2).stderr)

    def near(self, found, ns):
        x = float(found.group(1)) * {'ns': 1, 'us': 1e3, 'ms': 1e6}[found.group(2)]
        return abs(x - ns) <= 0.05 * ns

    def test_what_is_missing_is_named(self):
        """With nothing but a shell on PATH, and no package manager that could help."""
        tools = os.path.join(self.tmp, 'bin')
        os.mkdir(tools)
        for t in ('bash', 'sed', 'dirname', 'cat', 'id', 'env', 'mktemp', 'rm', 'ls', 'nproc', 'timeout', 'grep',
                  'paste', 'tr', 'sort'):
            os.symlink(shutil.which(t), os.path.join(tools, t))
        out = self.run_it(self.script('packages'), code=5, env={'PATH': tools}).stdout
        for name in ('meson', 'ninja-build', 'gcc', 'libinih-dev', 'libjansson-dev'):
            self.assertRegex(out, rf'apt-get install .* {name}\b')
            self.assertRegex(out, rf'without {name}: ')
        for flag in ([], ['--no-install']):
            r = self.run_it(self.script('quickstart'), *flag, '-b', os.path.join(self.tmp, 'b'), code=5,
                            env={'PATH': tools})
            self.assertIn('still missing; who may can install it with: apt-get install', r.stdout)
            self.assertIn("it can't be built here", r.stderr)
        # Control: where all is there nothing is named.
        if not self.run_it(self.script('packages'), 'say').stdout == '':
            self.fail('python3 runs this, and is said to be missing')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])

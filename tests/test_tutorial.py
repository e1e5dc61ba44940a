# SPDX-License-Identifier: Apache-2.0
"""docs/tutorial.md: each command, run again in a copy of the tree, prints what stands
there, numbers aside; and those that only read print just that of the results that are kept.

  test_tutorial.py ROOT

A block of the tutorial is indented by four spaces; `$ ` begins a command, whatever follows
is what it prints on stdout. Blocks without `$ ` aren't run.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(sys.argv[1])
KEPT = os.path.join(ROOT, 'results', 'cpu-2core', 'tutorial')
TRIES = 10       # where others use the CPUs a point may be flagged, or a column come and go


def commands(text):
    """[(command, [line of output])]"""
    out = []
    for block in re.findall(r'(?:^ {4}.*\n|^\n(?= {4}))+', text, re.M):
        lines = [x[4:] for x in block.strip('\n').splitlines()]
        if not lines[0].startswith('$ '):
            continue
        while lines:
            line = lines.pop(0)
            if line.startswith('$ '):
                command = line[2:]
                while command.endswith('\\') or command.count("'") % 2:
                    command += '\n' + lines.pop(0)
                out.append((command, []))
            else:
                out[-1][1].append(line.rstrip())
    return out


def masked(lines):
    """Without what another run has otherwise: numbers, how many of them, and bars."""
    out = []
    for x in lines:
        if re.match(r'\s*queueing: below', x):      # a column where it is more
            continue
        x = re.sub(r'[█▓▒░▞·IXTHCQ]{8,}', 'BAR', x)
        x = re.sub(r'(  · queueing|  Q queueing|  queueing)$', '', x)
        x = re.sub(r'(?<![\w-])[0-9a-f]{12}(?!\w)', 'ID', x)
        x = re.sub(r'-?\b\d+(\.\d+)?\*?', 'N', x)
        x = re.sub(r'\s+', ' ', x)
        x = re.sub(r'( N( %)?)+', ' N+', x)
        out.append(x.rstrip())
    return [x for x in out if x]


def copy_tree(where):
    """What is committed or will be: no builds, no results of runs."""
    files = []
    if shutil.which('git'):
        files = subprocess.run(['git', '-C', ROOT, 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
                               capture_output=True, check=False).stdout.decode().split('\0')
    if len(files) < 2:     # no clone: everything but what a build leaves
        shutil.copytree(ROOT, where, ignore=shutil.ignore_patterns('build*', '.git', 'results'))
        return
    for f in filter(None, files):
        if f.startswith('results/') or not os.path.isfile(os.path.join(ROOT, f)):
            continue
        os.makedirs(os.path.dirname(os.path.join(where, f)), exist_ok=True)
        shutil.copy2(os.path.join(ROOT, f), os.path.join(where, f))


def run(command, where):
    r = subprocess.run(['bash', '-c', command], cwd=where, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                       timeout=1200, check=False,
                       env={**os.environ, 'LC_ALL': 'C.UTF-8', 'PATH': '/usr/bin:' + os.environ['PATH']})
    if r.returncode:
        raise AssertionError(f'{command}\nexit code {r.returncode}\n{r.stdout}\n{r.stderr}')
    return [x.rstrip() for x in r.stdout.splitlines()]


class Tutorial(unittest.TestCase):
    def setUp(self):
        with open(os.path.join(ROOT, 'docs', 'tutorial.md'), encoding='utf-8') as f:
            self.commands = commands(f.read())
        self.assertGreater(len(self.commands), 5)
        self.tmp = tempfile.mkdtemp(prefix='fivestage-tutorial-')
        self.addCleanup(shutil.rmtree, self.tmp, ignore_errors=True)
        self.plots = subprocess.run(['/usr/bin/python3', '-c', 'import matplotlib'], capture_output=True,
                                    check=False).returncode == 0

    def wanted(self, command):
        return self.plots or 'plot.py' not in command

    def test_again(self):
        where = os.path.join(self.tmp, 'fivestage')
        copy_tree(where)
        for command, output in self.commands:
            if not self.wanted(command):
                continue
            for _ in range(TRIES):
                made = re.findall(r'-o (tutorial/\S+)', command)
                for d in made:
                    shutil.rmtree(os.path.join(where, d), ignore_errors=True)
                got = run(command, where)
                if masked(got) == masked(output):
                    break
            self.assertEqual(masked(got), masked(output), command)

    def test_numbers_are_of_the_results(self):
        """awk and plot.py over the directories that are kept: to the letter."""
        shutil.copytree(KEPT, os.path.join(self.tmp, 'tutorial'))
        os.symlink(os.path.join(ROOT, 'scripts'), os.path.join(self.tmp, 'scripts'))
        n = 0
        for command, output in self.commands:
            if not command.startswith(('awk', 'scripts/plot.py')) or not self.wanted(command):
                continue
            self.assertEqual(run(command, self.tmp), output, command)
            n += 1
        self.assertGreater(n, 1)

    def test_differences_are_found(self):
        """Control: a line that is missing, another word, another label."""
        seen = 0
        for _, output in self.commands:
            good = masked(output)
            other = [re.sub(r'\d', '7', x) for x in output]
            self.assertEqual(masked(other), good)
            for i, line in enumerate(output):
                if not masked([line]):
                    continue
                self.assertNotEqual(masked(output[:i] + output[i + 1:]), good)
                word = re.search(r'[a-z]{4,}', line)
                if word and 'queueing' not in line:
                    changed = line[:word.start()] + 'other' + line[word.end():]
                    self.assertNotEqual(masked(output[:i] + [changed] + output[i + 1:]), good, changed)
                    seen += 1
        self.assertGreater(seen, 5)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])

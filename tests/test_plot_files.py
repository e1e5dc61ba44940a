# SPDX-License-Identifier: Apache-2.0
"""Figures are whole files or none: written under another name, renamed, the same each
time; where they can't be written one sentence says so."""
import hashlib
import os
import signal
import subprocess
import sys

from plots import PLOT, Case, Run, main


class Files(Case):
    def setUp(self):
        super().setUp()
        Run(self.dir).experiment('e', 'size', ('8', '64')).write()

    def hashes(self):
        out = {}
        for name in os.listdir(self.out):
            with open(os.path.join(self.out, name), 'rb') as f:
                out[name] = hashlib.sha256(f.read()).hexdigest()
        return out

    def test_svg_and_png_of_each(self):
        names = self.plot()
        kinds = ('stack', 'share', 'size', 'dist')
        self.assertEqual(names, sorted(f'e.{k}.{f}' for k in kinds for f in ('svg', 'png')))
        self.assertEqual(sorted(os.listdir(self.out)), names)
        for n in names:
            with open(os.path.join(self.out, n), 'rb') as f:
                data = f.read()
            end = b'IEND\xaeB`\x82' if n.endswith('png') else b'</svg>'
            self.assertTrue(data.rstrip().endswith(end), n)

    def test_png_is_as_large_as_svg(self):
        """One is drawn after the other: neither may leave its resolution behind."""
        self.plot('--kind', 'stack')
        with open(os.path.join(self.out, 'e.stack.png'), 'rb') as f:
            wide = int.from_bytes(f.read(24)[16:20], 'big')
        points = float(self.svg('e.stack').root.get('width').replace('pt', ''))
        self.assertAlmostEqual(wide / (points / 72), 120, delta=0.5)

    def test_the_same_each_time(self):
        self.plot()
        first = self.hashes()
        self.plot()
        self.assertEqual(first, self.hashes())

    def test_default_place(self):
        r = subprocess.run([sys.executable, PLOT, self.dir, '--kind', 'stack'], capture_output=True, text=True,
                           check=False)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertEqual(sorted(os.listdir(os.path.join(self.dir, 'plots'))), ['e.stack.png', 'e.stack.svg'])

    def test_no_place_to_write(self):
        with open(self.out, 'w', encoding='ascii') as f:
            f.write('a file')
        self.refused('cannot be made', self.out)
        os.unlink(self.out)
        self.out = '/proc/nowhere'
        self.refused('/proc/nowhere', 'cannot be made')

    def test_a_figure_that_cannot_be_replaced(self):
        os.makedirs(os.path.join(self.out, 'e.stack.svg'))
        self.refused('e.stack.svg', 'cannot be written')
        self.assertEqual(os.listdir(self.out), ['e.stack.svg'], 'a temporary file was left')

    def test_no_room(self):
        """The kernel ends a file at 4 KiB: what stood there before stands there still."""
        self.plot('--kind', 'stack')
        before = self.hashes()
        code = ('import resource, signal, runpy, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); '
                'resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); '
                f'sys.argv = ["plot.py", {self.dir!r}, "-o", {self.out!r}, "--kind", "stack"]; '
                f'runpy.run_path({PLOT!r}, run_name="__main__")')
        r = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, check=False)
        self.assertEqual((r.returncode, r.stderr.count('\n')), (2, 1), r.stderr)
        self.assertIn('cannot be written: File too large', r.stderr)
        self.assertEqual(before, self.hashes())

    def test_stopped(self):
        p = subprocess.Popen([sys.executable, PLOT, self.dir, '-o', self.out], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        p.stdout.readline()
        p.send_signal(signal.SIGINT)
        _, err = p.communicate(timeout=300)
        self.assertIn(p.returncode, (0, 130))
        self.assertEqual(err, '')
        self.assertEqual([n for n in os.listdir(self.out) if n.endswith('.tmp')], [])

    def test_nobody_reads(self):
        p = subprocess.Popen([sys.executable, PLOT, self.dir, '-o', self.out], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        p.stdout.close()
        err = p.stderr.read()
        p.stderr.close()
        self.assertEqual((p.wait(timeout=300), err), (0, ''))

    def test_odd_names(self):
        """Names of experiments may hold anything; files stay in the directory and apart."""
        Run(self.dir).experiment('../up').experiment('.._up', base={'nic': 'peer'}).experiment(
            'x' * 300, base={'size': '9'}).write()
        names = [n for n in self.plot('--kind', 'stack') if n.endswith('svg')]
        self.assertEqual(len(set(names)), 3)
        self.assertEqual(sorted(n for n in os.listdir(self.out) if n.endswith('svg')), names)
        self.assertTrue(all(len(n) < 160 and not n.startswith('.') for n in names))


if __name__ == '__main__':
    main()

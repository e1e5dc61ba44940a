# SPDX-License-Identifier: Apache-2.0
"""What a run prints: the stages of each point, a bar, reasons; on terminals of any
width, with and without colours, and where there is none."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

from cli import BOUND, FAILED, PROGRAM, Case, main

ESC = re.compile(r'\x1b\[[0-9;]*[A-Za-z]')
BAR = re.compile(r'^ {4}([IXTHCQ]{20,})$', re.M)


class Table(Case):
    def on_terminal(self, *args, width=80, code=0, **env):
        """The output on a terminal of so many columns, stdout and stderr."""
        got = {}
        for name in ('stdout', 'stderr'):
            master, slave = pty.openpty()
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, width, 0, 0))
            base = {k: v for k, v in os.environ.items() if k not in ('COLUMNS', 'NO_COLOR', 'TERM')}
            other = {'stdout': 'stderr', 'stderr': 'stdout'}[name]
            p = subprocess.Popen([PROGRAM, 'run', '-o', self.out, *args], cwd=self.tmp, stdin=subprocess.DEVNULL,
                                 env={**base, 'TERM': 'xterm', 'LC_ALL': 'C', **env},
                                 **{name: slave, other: subprocess.DEVNULL})
            os.close(slave)
            text = b''
            while True:
                try:
                    more = os.read(master, 65536)
                except OSError:
                    break
                if not more:
                    break
                text += more
            os.close(master)
            self.assertEqual(p.wait(timeout=BOUND), code)
            self.out += 'x'
            got[name] = text.decode().replace('\r\n', '\n')
        return got

    def plain(self, *args, code=0, **env):
        return self.run_out('probe=fake', *args, code=code, env={'LC_ALL': 'C', **env}).stdout

    def test_bars_show_the_shares(self):
        out = self.plain('size=8,1024')
        bars = BAR.findall(out)
        self.assertEqual(len(bars), 2)
        for bar, size in zip(bars, (8, 1024)):
            ns = dict(zip('IXTHCQ', (100 * (k + 1) + size for k in range(6))))
            for letter, x in ns.items():
                self.assertLessEqual(abs(bar.count(letter) - 72 * x / sum(ns.values())), 1, (letter, bar))
            self.assertEqual(bar, ''.join(sorted(bar, key='IXTHCQ'.index)))
            self.assertEqual(len(bar), 72)
        self.assertIn('I issue  X crossing  T translation  H handoff  C completion  Q queueing', out)

    def test_characters_of_the_locale(self):
        self.assertTrue(self.plain('size=8').isascii())
        self.out += 'x'
        self.assertIn('\u2588', self.plain('size=8', LC_ALL='C.UTF-8'))

    def test_no_terminal_is_plain(self):
        out = self.plain('size=8', TERM='xterm')
        self.assertNotIn('\x1b', out)
        self.assertNotIn('\r', out)
        self.assertEqual(len(BAR.findall(out)), 1)

    def test_colours(self):
        want = self.on_terminal('probe=fake', 'mode=ok,flag', width=100)['stdout']
        self.assertRegex(want, r'\x1b\[\d+mI+\x1b\[0m')
        self.assertRegex(want, r'\x1b\[33mflagged\x1b\[0m')
        # Without them the text is the same.
        for env in ({'NO_COLOR': '1'}, {'TERM': 'dumb'}, {'TERM': ''}):
            got = self.on_terminal('probe=fake', 'mode=ok,flag', width=100, **env)['stdout']
            self.assertNotIn('\x1b', got, env)
            self.assertEqual(got.splitlines()[:-1], ESC.sub('', want).splitlines()[:-1])
            self.assertEqual(BAR.findall(got), BAR.findall(ESC.sub('', want)))
        # An empty NO_COLOR is none.
        self.assertIn('\x1b', self.on_terminal('probe=fake', NO_COLOR='')['stdout'])

    def test_widths(self):
        for width, env in ((40, {}), (60, {}), (80, {}), (100, {}), (120, {}), (100, {'COLUMNS': '60'})):
            out = ESC.sub('', self.on_terminal('probe=fake', 'mode=ok,flag,fail', width=width, code=FAILED,
                                               **env)['stdout'])
            out = '\n'.join(x for x in out.splitlines() if not x.startswith('results: '))
            wide = max(len(x) for x in out.splitlines())
            limit = int(env.get('COLUMNS', width))
            self.assertLessEqual(wide, limit, out)
            for word in ('issue', 'crossing', 'translation', 'handoff', 'completion', 'queueing', '2148.0*', '24 %',
                         'flagged: the', 'failed: it'):
                self.assertIn(word, out, (width, env))
            # One form or the other: a line a point, or a line a stage.
            self.assertEqual(bool(re.search(r'^    crossing +208\.0\* +10 %  X', out, re.M)), limit < 90, out)

    def test_nonsense_in_columns(self):
        for columns in ('0', '-5', 'wide', '', '99999999999999999999'):
            self.assertEqual(len(BAR.findall(self.plain('size=8', COLUMNS=columns))), 1)
            self.out += 'x'

    def test_queueing_that_is_nothing_is_said(self):
        self.assertIn('queueing', self.plain('size=8'))
        self.out += 'x'
        out = self.plain('size=8', 'mode=idle')
        self.assertIn('  queueing: below 2 % of every total\n', out)
        self.assertEqual(out.count('queueing'), 1)

    def test_every_reason_stands_there_once(self):
        ini = self.path('all.ini', '[a]\nprobe = fake\nvary = mode\nvalues = ok, flag, fail, crash, own-row\n'
                                   '[b]\nprobe = fake\nissuer = gpu\nabsent = skip\ntitle = The second\n')
        out = self.run_out(ini, '--repeat', '2', code=FAILED, env={'LC_ALL': 'C'}).stdout
        for words in ('flagged: the host took time away (latency issue and 1 row more)',
                      'failed: it failed, as "told", with a comma (latency issue and 13 rows more)',
                      'failed: child ended: signal 11 (Segmentation fault)',
                      'failed: 7 stale fetches (latency issue and 1 row more)',
                      'skipped: issuer=gpu needs a GPU: these stages are fake', 'The second (probe fake)',
                      '6 points: 1 ok, 1 flagged, 1 skipped, 3 failed'):
            self.assertEqual(out.count(words), 1, f'{words}\n{out}')

    def test_what_was_not_measured_stands_together(self):
        ini = self.path('some.ini', '[global]\nprobe = fake\nabsent = skip\n'
                                    '[a]\nissuer = gpu\nvary = size\nvalues = 16, 32\ntitle = The first\n'
                                    '[b]\nvary = issuer\nvalues = gpu, cpu\ntitle = The second\n'
                                    '[c]\nissuer = gpu\nsize = 64\ntitle = The third\n')
        out = self.run_out(ini, env={'LC_ALL': 'C'}).stdout
        why = 'skipped: issuer=gpu needs a GPU: these stages are fake'
        self.assertIn(f'not measured here\n  {why}\n    The first (probe fake): 2 points\n'
                      '    The third (probe fake): 1 point\n\n5 points: 1 ok', out)
        # Control: where one point was measured the other one has its reason in its own place.
        self.assertRegex(out, r'The second \(probe fake; means[^\0]*\n  gpu .*\n    ' + why + '\n  cpu ')
        self.assertEqual(out.count(why), 2)
        self.out += 'x'
        self.assertNotIn('not measured here', self.plain('size=8'))

    def test_progress(self):
        err = self.on_terminal('probe=fake', 'ms=50', 'depth=1..5+1')['stderr']
        self.assertRegex(err, r'\r\[3/5\] 60 %  ETA 0:\d\d')
        lines = self.on_terminal('probe=fake', 'ms=50', 'depth=1..5+1', width=30)['stderr']
        for x in lines.replace('\n', '\r').split('\r'):
            self.assertLess(len(ESC.sub('', x)), 30)
        plain = self.run_out('probe=fake', 'depth=1..5+1').stderr
        self.assertNotIn('\x1b', plain)
        self.assertIn('[5/5] 100 %', plain)


if __name__ == '__main__':
    main()

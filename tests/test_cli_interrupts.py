# SPDX-License-Identifier: Apache-2.0
"""An interrupted run: what stays, and that no child outlives its parent."""
import os
import signal
import subprocess
import time

from cli import PROGRAM, Case, main, strict_csv


class Interrupts(Case):
    def interrupt(self, sig):
        p = subprocess.Popen([PROGRAM, 'run', '-o', self.out, 'probe=fake', 'mode=ok,hang', '--repeat', '50'],
                             cwd=self.tmp, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        try:
            # Until a hanging point surely stands: everything else takes no time.
            deadline = time.time() + 20
            while time.time() < deadline and not os.path.isdir(os.path.join(self.out, 'points')):
                time.sleep(0.05)
            time.sleep(0.5)
            t = time.time()
            p.send_signal(sig)
            _, err = p.communicate(timeout=20)
            took = time.time() - t
        finally:
            p.kill()
        self.assertEqual(p.returncode, 130, err)
        self.assertLess(took, 5)
        self.assertIn('interrupted after', err)
        j = self.run_json()
        self.assertFalse(j['complete'])
        self.assertEqual(j['exit_code'], 130)
        self.assertNotIn('summary.csv', self.files())
        for f in self.files():
            if f.startswith('points/'):
                strict_csv(os.path.join(self.out, f))

    def test_interrupt(self):
        self.interrupt(signal.SIGINT)

    def test_terminate(self):
        self.interrupt(signal.SIGTERM)

    def test_the_children_end_with_the_parent(self):
        p = subprocess.Popen([PROGRAM, 'run', '-o', self.out, 'probe=fake', 'mode=hang'], cwd=self.tmp,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        children = []
        deadline = time.time() + 20
        while not children and time.time() < deadline:
            time.sleep(0.3)
            # The scout is gone once there is a directory.
            if os.path.isdir(os.path.join(self.out, 'points')):
                with open(f'/proc/{p.pid}/task/{p.pid}/children', encoding='ascii') as f:
                    children = f.read().split()
        p.kill()
        p.wait()
        self.assertTrue(children)
        deadline = time.time() + 5
        while any(self.alive(c) for c in children) and time.time() < deadline:
            time.sleep(0.05)
        self.assertFalse([c for c in children if self.alive(c)])

    @staticmethod
    def alive(pid):
        try:
            with open(f'/proc/{pid}/stat', encoding='ascii') as f:
                return f.read().rsplit(')', 1)[1].split()[0] not in 'ZX'
        except OSError:
            return False


if __name__ == '__main__':
    main()

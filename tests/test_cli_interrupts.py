# SPDX-License-Identifier: Apache-2.0
"""An interrupted run ends within a second, with whole files, says how to go on,
and no child outlives its parent."""
import os
import shlex
import shutil
import signal
import subprocess
import time

from cli import BOUND, FAILED, OK, PROGRAM, Case, main, processes_with

PATIENCE = 1.0     # that is what is promised, on a machine that has a CPU for it:
TRIES = 8          # one of so many must keep it, and all of them SURELY
SURELY = 15.0


class Interrupts(Case):
    def start(self, *args, **kw):
        mark = os.path.basename(self.tmp)
        p = subprocess.Popen([PROGRAM, 'run', '-o', self.out, *args], cwd=self.tmp, stdin=subprocess.DEVNULL,
                             stdout=kw.pop('stdout', subprocess.PIPE), stderr=subprocess.PIPE, text=True,
                             env={**os.environ, 'FS_TEST_MARK': mark}, **kw)
        self.addCleanup(p.communicate)
        self.addCleanup(p.kill)
        return p, mark

    def soon(self, ends):
        """ends() says how long it took: one of several must be within the patience."""
        took = []
        while not took or (took[-1] >= PATIENCE and len(took) < TRIES):
            shutil.rmtree(self.out, ignore_errors=True)
            took.append(ends())
            self.assertLess(took[-1], SURELY)
        self.assertLess(took[-1], PATIENCE, took)

    def interrupt(self, sig, *args):
        args = args or ('probe=fake', 'mode=ok,hang', '--repeat', '50')
        said = []
        self.soon(lambda: self.interrupt_once(sig, said, *args))
        return said[-1]

    def interrupt_once(self, sig, said, *args):
        p, mark = self.start(*args)
        self.wait_for(self.points)
        time.sleep(0.3)   # until a hanging point surely stands
        t = time.monotonic()
        p.send_signal(sig)
        _, err = p.communicate(timeout=BOUND)
        took = time.monotonic() - t
        print(f'{signal.Signals(sig).name}: {took * 1e3:.0f} ms')
        self.assertEqual(p.returncode, 128 + sig, err)
        self.assertEqual(processes_with(mark), [])
        self.assertIn('interrupted after', err)
        j = self.run_json()
        self.assertFalse(j['complete'])
        self.assertEqual(j['exit_code'], 128 + sig)
        self.assertNotIn('summary.csv', self.files())
        self.check_whole()
        self.assertFalse([f for f in self.files() if 'tmp' in f])
        said.append(err)
        return took

    def test_interrupt(self):
        self.interrupt(signal.SIGINT)

    def test_terminate(self):
        self.interrupt(signal.SIGTERM)

    def test_hang_up(self):
        # whoever started the tests may have it ignored, which children inherit
        self.addCleanup(signal.signal, signal.SIGHUP, signal.signal(signal.SIGHUP, signal.SIG_DFL))
        self.interrupt(signal.SIGHUP)

    def test_a_hang_up_that_is_ignored_stays_so(self):
        """As nohup has it."""
        self.addCleanup(signal.signal, signal.SIGHUP, signal.signal(signal.SIGHUP, signal.SIG_IGN))
        p, _ = self.start('probe=fake', 'ms=100', 'depth=1..5+1')
        self.wait_for(self.points)
        p.send_signal(signal.SIGHUP)
        _, err = p.communicate(timeout=BOUND)
        self.assertEqual(p.returncode, OK, err)

    def test_more_children_than_one(self):
        self.interrupt(signal.SIGINT, 'probe=fake', 'nic=null,soft,peer', 'mode=ok,hang', '--cross')

    def test_the_command_that_is_said_goes_on(self):
        self.out = self.path("it's here, in a name/of some kind")
        os.makedirs(os.path.dirname(self.out))
        err = self.interrupt(signal.SIGINT, 'probe=fake', 'ms=20', 'depth=1..200+1')
        before = self.points()
        line = next(x for x in err.splitlines() if 'to go on: ' in x).split('to go on: ')[1]
        self.assertEqual(shlex.split(line), [PROGRAM, 'run', '--resume', '-o', self.out])
        self.assertTrue(before)
        p = subprocess.run(line + ' --dry-run', shell=True, cwd=self.tmp, capture_output=True, text=True, check=False)
        self.assertEqual(p.returncode, OK, p.stderr)
        self.assertEqual(self.points(), before)

    def test_the_whole_group_is_signalled(self):
        # As a terminal does it: children get it too, and no point fails of it.
        p, mark = self.start('probe=fake', 'mode=slow', 'depth=1..50+1', start_new_session=True)
        self.wait_for(self.points)
        os.killpg(p.pid, signal.SIGINT)
        _, err = p.communicate(timeout=BOUND)
        self.assertEqual(p.returncode, 130, err)
        self.assertIn('0 failed', err)
        self.assertEqual(processes_with(mark), [])

    def test_stopped_and_continued(self):
        # As Ctrl-Z and fg do it: for longer than a point may take, and none fails of it.
        p, _ = self.start('probe=fake', 'ms=400', 'depth=1..5+1', '--timeout', '7', start_new_session=True)
        self.wait_for(self.points)
        os.killpg(p.pid, signal.SIGSTOP)
        time.sleep(9)
        os.killpg(p.pid, signal.SIGCONT)
        _, err = p.communicate(timeout=BOUND)
        self.assertEqual(p.returncode, OK, err)
        self.assertEqual(self.run_json()['how_far'], '5 of 5: 5 ok, 0 flagged, 0 failed, 0 skipped')

    def test_control_a_child_that_alone_is_stopped(self):
        p, mark = self.start('probe=fake', 'ms=400', 'depth=1..5+1', '--timeout', '7')
        self.wait_for(self.points)
        for pid in processes_with(mark):
            if pid != p.pid:
                os.kill(pid, signal.SIGSTOP)
        _, err = p.communicate(timeout=BOUND)
        self.assertEqual(p.returncode, FAILED, err)
        self.assertEqual({x['reason_code'] for x in self.summary() if x['status'] == 'failed'}, {'timeout'})

    def test_twice_ends_at_once(self):
        def twice():
            p, mark = self.start('probe=fake', 'mode=hang')
            self.wait_for(lambda: os.path.isfile(os.path.join(self.out, 'run.json')))
            t = time.monotonic()
            p.send_signal(signal.SIGINT)
            p.send_signal(signal.SIGINT)
            p.communicate(timeout=BOUND)
            took = time.monotonic() - t
            self.assertIn(p.returncode, (130, -signal.SIGINT))
            self.wait_for(lambda: not processes_with(mark))
            self.check_whole()
            return took
        for _ in range(5):
            self.soon(twice)

    def test_before_anything_is_written(self):
        p, mark = self.start('probe=fake')
        time.sleep(0.01)
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=BOUND)
        self.assertEqual(processes_with(mark), [])
        if os.path.isdir(self.out):
            self.check_whole()

    def test_a_reader_that_goes_away(self):
        # Results are whole; that the table was lost is told.
        p, _ = self.start('probe=fake', 'size=8,64')
        p.stdout.close()
        err = p.stderr.read()
        p.wait(timeout=BOUND)
        self.assertEqual(p.returncode, 1)
        self.assertIn('cannot write to standard output', err)
        self.check_whole()
        self.assertEqual({x['status'] for x in self.summary()}, {'ok'})

    def test_descriptors_that_are_closed(self):
        # Nothing is printed into a file that took the place of stdout.
        for closed in ('>&-', '2>&-', '<&-', '>&- 2>&- <&-'):
            self.out += 'x'
            r = subprocess.run(f'exec {shlex.quote(PROGRAM)} run -o {self.out} probe=fake size=8,64 {closed}',
                               shell=True, cwd=self.tmp, timeout=BOUND, check=False, capture_output=True)
            self.assertEqual(r.returncode, 1 if '>&-' in closed.replace('2>&-', '') else 0, closed)
            self.check_whole()
            self.assertEqual({x['status'] for x in self.summary()}, {'ok'})

    def test_the_children_end_with_the_parent(self):
        p, mark = self.start('probe=fake', 'mode=hang')
        self.wait_for(lambda: os.path.isfile(os.path.join(self.out, 'run.json')))
        self.wait_for(lambda: len(processes_with(mark)) == 2)
        p.kill()
        p.wait()
        self.wait_for(lambda: not processes_with(mark))


if __name__ == '__main__':
    main()

# SPDX-License-Identifier: Apache-2.0
"""kill -9 at random moments, 200 times: no half file under its final name, no
finished point lost or changed, no process left, and --resume comes to the same
end as a run that nobody killed.

Some directories are killed several times, at the start, between points, while
merging, and while resuming. FS_TEST_SEED=N repeats a sequence.
"""
import os
import random
import shutil
import signal
import subprocess
import time

from cli import PROGRAM, REFUSED, Case, main, processes_with, strict_csv

KILLS = 200
ARGS = ('probe=fake', 'ms=1', 'nic=null,soft', 'depth=1..8+1', '--cross', '--repeat', '2', '--raw')
KEY = ('point', 'rep', 'experiment', 'varied', 'value', 'nic', 'stage', 'interval', 'metric', 'unit', 'mean',
       'origin', 'status')


class Kills(Case):
    def shape(self):
        samples = strict_csv(os.path.join(self.out, 'samples.csv'))
        j = self.run_json()
        facts = {(p, rep, tuple(sorted(found))) for p, reps in j['points'].items() for rep, found in reps.items()}
        return ([tuple(r[k] for k in KEY) for r in self.summary()], [tuple(r.values()) for r in samples], facts,
                j['how_far'], j['complete'], j['seed'], j['repeat'], sorted(f for f in self.files()))

    def kill_one(self, args, after):
        """Starts, kills after a while; returns whether it was still running."""
        mark = os.path.basename(self.tmp)
        p = subprocess.Popen([PROGRAM, 'run', '-o', self.out, *args], cwd=self.tmp, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             env={**os.environ, 'FS_TEST_MARK': mark})
        try:
            p.wait(timeout=after)
        except subprocess.TimeoutExpired:
            pass
        p.send_signal(signal.SIGKILL)
        p.wait()
        self.wait_for(lambda: not processes_with(mark), 5)
        return p.returncode == -signal.SIGKILL

    def test_killed_at_random(self):
        seed = int(os.environ.get('FS_TEST_SEED', time.time_ns() % 1000000))
        rng = random.Random(seed)
        whole = 60.0
        for _ in range(3):
            shutil.rmtree(self.out, ignore_errors=True)
            t = time.time()
            self.run_out(*ARGS, '--seed', '3')
            whole = min(whole, time.time() - t)
        want = self.shape()
        kills = directories = never_began = finished_first = 0
        while kills < KILLS:
            shutil.rmtree(self.out)
            directories += 1
            stood = {}
            for n in range(rng.randint(1, 8)):
                began = os.path.exists(os.path.join(self.out, 'run.json'))
                args = ('--resume',) if began else (*ARGS, '--seed', '3')
                if os.path.isdir(self.out) and not began:
                    args += ('--resume',)
                    never_began += 1
                if not self.kill_one(args, rng.uniform(0, whole if n < 2 else whole / 3)):
                    finished_first += 1
                    break
                kills += 1
                self.check_whole()
                now = self.points()
                for name, text in stood.items():
                    if 'samples' not in name:
                        self.assertEqual(now.get(name), text, f'{name}, seed {seed}')
                stood = now
                if kills == KILLS:
                    break
            if os.path.isdir(self.out):
                self.resume(*(() if os.path.exists(os.path.join(self.out, 'run.json')) else (*ARGS, '--seed', '3')))
            else:
                self.run_out(*ARGS, '--seed', '3')
            self.assertEqual(self.shape(), want, f'seed {seed}')
            for name, text in stood.items():
                if 'samples' not in name:
                    self.assertEqual(self.points()[name], text)
        print(f'{kills} kills in {directories} directories, {never_began} before the run began, {finished_first} '
              f'came too late; a whole run takes {whole * 1e3:.0f} ms; seed {seed}')

    # ---- would it be seen? ----

    def test_control_half_a_file(self):
        self.run_out('probe=fake')
        name = next(f for f in self.files() if f.startswith('points/'))
        path = os.path.join(self.out, name)
        with open(path, 'rb') as f:
            text = f.read()
        for cut in (0, 10, len(text) // 2, len(text) - 1):
            with open(path, 'wb') as f:
                f.write(text[:cut])
            with self.assertRaises((AssertionError, IndexError), msg=cut):
                self.check_whole()
        with open(path, 'wb') as f:
            f.write(text)
        self.check_whole()
        with open(os.path.join(self.out, 'run.json'), 'r+b') as f:
            f.truncate(100)
        with self.assertRaises(ValueError):
            self.check_whole()
        self.resume(code=REFUSED)

    def test_control_a_process_that_is_left(self):
        mark = os.path.basename(self.tmp)
        p = subprocess.Popen(['sleep', '30'], env={**os.environ, 'FS_TEST_MARK': mark})
        try:
            self.wait_for(lambda: processes_with(mark) == [p.pid], 5)
        finally:
            p.kill()
            p.wait()
        self.assertEqual(processes_with(mark), [])


if __name__ == '__main__':
    main()

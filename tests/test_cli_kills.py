# SPDX-License-Identifier: Apache-2.0
"""kill -9 at random moments, 200 times: no half file under its final name, no
finished point lost or changed, no process left, and --resume comes to the same
end as a run that nobody killed.

Some directories are killed several times, at the start, between points, while
merging, and while resuming. FS_TEST_SEED=N is another sequence.
"""
import collections
import os
import random
import shutil
import signal
import subprocess
import time

from cli import PROGRAM, REFUSED, Case, main, processes_with, strict_csv

KILLS, KILLS_MAX = 200, 2000     # and more while some part of a run was never met
PLACES = ('before anything', 'among the points', 'at the end')
ARGS = ('probe=fake', 'ms=1', 'nic=null,soft', 'depth=1..8+1', '--cross', '--repeat', '2', '--raw')
POINTS = 32      # of them and repetitions
KEY = ('point', 'rep', 'experiment', 'varied', 'value', 'nic', 'stage', 'interval', 'metric', 'unit', 'mean',
       'origin', 'status')


class Kills(Case):
    def shape(self):
        samples = strict_csv(os.path.join(self.out, 'samples.csv'))
        j = self.run_json()
        facts = {(p, rep, tuple(sorted(found))) for p, reps in j['points'].items() for rep, found in reps.items()}
        return ([tuple(r[k] for k in KEY) for r in self.summary()], [tuple(r.values()) for r in samples], facts,
                j['how_far'], j['complete'], j['seed'], j['repeat'], sorted(f for f in self.files()))

    def kill_one(self, args, after, points=None):
        """Starts, kills after a while, or so long after so many points stand; returns
        whether it was still running."""
        mark = os.path.basename(self.tmp)
        p = subprocess.Popen([PROGRAM, 'run', '-o', self.out, *args], cwd=self.tmp, stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             env={**os.environ, 'FS_TEST_MARK': mark})
        try:
            while points is not None and p.poll() is None and len(self.finished()) < points:
                time.sleep(0.0005)
            p.wait(timeout=after)
        except subprocess.TimeoutExpired:
            pass
        p.send_signal(signal.SIGKILL)
        p.wait()
        self.wait_for(lambda: not processes_with(mark))
        return p.returncode == -signal.SIGKILL

    def finished(self):
        d = os.path.join(self.out, 'points')
        return [n for n in (os.listdir(d) if os.path.isdir(d) else [])
                if n[0] != '.' and n.endswith('.csv') and 'samples' not in n]

    def test_killed_at_random(self):
        seed = int(os.environ.get('FS_TEST_SEED', 1))
        rng = random.Random(seed)
        whole = 60.0
        for _ in range(3):
            shutil.rmtree(self.out, ignore_errors=True)
            t = time.monotonic()
            self.run_out(*ARGS, '--seed', '3')
            whole = min(whole, time.monotonic() - t)
        want = self.shape()
        self.assertEqual(len(self.finished()), POINTS)
        kills = directories = finished_first = 0
        where = collections.Counter()
        while kills < KILLS or (kills < KILLS_MAX and not all(where[x] for x in PLACES)):
            shutil.rmtree(self.out)
            directories += 1
            stood = {}
            for n in range(rng.randint(1, 8)):
                began = os.path.exists(os.path.join(self.out, 'run.json'))
                args = ('--resume',) if began else (*ARGS, '--seed', '3')
                if os.path.isdir(self.out) and not began:
                    args += ('--resume',)
                if rng.random() < (0.3 if n else 0.7):
                    how = (rng.uniform(0, whole / 2),)
                else:
                    how = (rng.uniform(0, 0.01), rng.randint(len(self.finished()), POINTS))
                if not self.kill_one(args, *how):
                    finished_first += 1
                    if len(how) == 1:   # other load has gone since it was measured
                        whole *= 0.8
                    break
                kills += 1
                where[PLACES[0 if not os.path.exists(os.path.join(self.out, 'run.json')) else
                             1 if len(self.finished()) < POINTS else 2]] += 1
                self.check_whole()
                now = self.points()
                for name, text in stood.items():
                    if 'samples' not in name:
                        self.assertEqual(now.get(name), text, f'{name}, seed {seed}')
                stood = now
            if os.path.isdir(self.out):
                self.resume(*(() if os.path.exists(os.path.join(self.out, 'run.json')) else (*ARGS, '--seed', '3')))
            else:
                self.run_out(*ARGS, '--seed', '3')
            self.assertEqual(self.shape(), want, f'seed {seed}')
            for name, text in stood.items():
                if 'samples' not in name:
                    self.assertEqual(self.points()[name], text)
        print(f'{kills} kills in {directories} directories, {dict(where)}; {finished_first} more came too '
              f'late; seed {seed}')
        for place in PLACES:
            self.assertGreater(where[place], 0)

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
            self.wait_for(lambda: processes_with(mark) == [p.pid])
        finally:
            p.kill()
            p.wait()
        self.assertEqual(processes_with(mark), [])


if __name__ == '__main__':
    main()

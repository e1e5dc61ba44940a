# SPDX-License-Identifier: Apache-2.0
"""--dry-run of the real program: what it prints is what is run, nothing is written,
and the guess of the time holds within generous bounds."""
import os
import re
import resource
import time

from cli import SKIPPED, Case, main

# Many machines are busy, and two threads that poll on one CPU are slow. A guess that is too
# short is judged by the CPU time if that is less: what others take isn't in it. It knows
# nothing of a sanitizer, which makes all of it slower.
TIMES, SLACK_S = (12, 6) if os.environ.get('FS_TEST_SANITIZE', 'none') == 'none' else (200, 20)


def holds(guess, wall, cpu):
    return guess / TIMES <= wall and min(wall, cpu) <= guess * TIMES + SLACK_S


def cpu_s():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime


class DryRun(Case):
    def guess(self, *args):
        r = self.run_it('run', *args, '--dry-run')
        self.assertEqual(os.listdir(self.tmp), [])
        m = re.search(r'^about ([\d.]+) (s|min|h), a guess \(', r.stdout, re.M)
        self.assertTrue(m, r.stdout)
        return float(m[1]) * {'s': 1, 'min': 60, 'h': 3600}[m[2]], r.stdout

    def test_the_time(self):
        for args in (['issuer=cpu', 'size=8,64,512'], ['issuer=cpu', 'messages=100000'],
                     ['issuer=cpu', 'nic=null', 'metric=rate', 'depth=16', 'batch=1,16', '--repeat', '2'],
                     ['issuer=cpu', 'plant=read:5000']):
            guess, _ = self.guess(*args)
            t, c = time.monotonic(), cpu_s()
            self.run_out(*args)
            wall, cpu = time.monotonic() - t, cpu_s() - c
            print(f'{" ".join(args)}: {guess:.1f} s guessed, {wall:.1f} s taken, {cpu:.1f} s of CPUs')
            self.assertTrue(holds(guess, wall, cpu), (args, guess, wall, cpu))
            for f in self.files():
                os.unlink(os.path.join(self.out, f))
            os.rmdir(os.path.join(self.out, 'points'))
            os.rmdir(self.out)

    def test_control(self):
        far = SLACK_S + TIMES
        self.assertFalse(holds(0.2, far, far))
        self.assertFalse(holds(TIMES, 0.2, 0.2))
        self.assertTrue(holds(2, 2, 4))

    def test_more_takes_longer(self):
        few, _ = self.guess('issuer=cpu', 'messages=100000')
        for more in (['messages=1000000'], ['messages=100000', '--repeat', '10'],
                     ['messages=100000', 'depth=1,2,4,8,16,32,64,128,256']):
            self.assertGreater(self.guess('issuer=cpu', *more)[0], 3 * few)

    def test_the_points_are_those_that_run(self):
        args = ('issuer=cpu', 'size=8,64', '--repeat', '2')
        out = self.guess(*args)[1]
        ids = set(re.findall(r'^([0-9a-f]{12})  path', out, re.M))
        self.assertIn('2 points, 0 of them skipped; 2 repetitions', out)
        self.assertIn('4 measurements', out)
        self.assertIn('2 starts of a process', out)
        self.run_out(*args)
        self.assertEqual({x['point'] for x in self.summary()}, ids)

    def test_skipped_points_take_no_time(self):
        ini = self.path('sub/gpu.ini', '[a]\nissuer = gpu\nnic = peer\nnic_gpu = 15\nabsent = skip\n')
        r = self.run_it('run', ini, '--dry-run')
        self.assertIn('1 point, 1 of them skipped', r.stdout)
        self.assertIn('0 measurements', r.stdout)
        self.run_out(ini, code=SKIPPED)

    def test_timeout_bounds_it(self):
        self.assertIn('never more than 25 s', self.guess('issuer=cpu', '--timeout', '5')[1])


if __name__ == '__main__':
    main()

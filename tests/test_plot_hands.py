# SPDX-License-Identifier: Apache-2.0
"""Many figures are drawn by several processes: in the order of the list, each once, and what
goes wrong in one of them is one sentence; nobody is left behind."""
import os
import signal
import time

from plots import Case, main

# pylint: disable=wrong-import-position
from plotlib import Refused, hands

JOBS = list(range(40))


class Hands(Case):
    def setUp(self):
        super().setUp()
        self.real = hands.hands_for
        self.addCleanup(setattr, hands, 'hands_for', self.real)
        hands.hands_for = lambda jobs: 3

    def tearDown(self):
        with self.assertRaises(ChildProcessError):      # all of them were waited for
            os.waitpid(-1, os.WNOHANG)

    def drawn(self, draw, jobs=JOBS):
        got = []
        try:
            for x in hands.drawn(jobs, draw, lambda e: f'fault {type(e).__name__}'):
                got.append(x)
        except Refused as e:
            return got, str(e)
        return got, ''

    def test_order_and_processes(self):
        def draw(job):
            time.sleep(0.001 * (job % 3))
            return [job, os.getpid()]
        got, said = self.drawn(draw)
        self.assertEqual(([g[0] for g in got], said), (JOBS, ''))
        self.assertEqual(len({g[1] for g in got}), 3)
        self.assertNotIn(os.getpid(), {g[1] for g in got})

    def test_few_are_drawn_here(self):
        hands.hands_for = lambda jobs: 1
        self.assertEqual(self.drawn(lambda job: os.getpid()), ([os.getpid()] * len(JOBS), ''))

    def test_how_many(self):
        hands.hands_for = self.real
        self.assertEqual(hands.hands_for(1), 1)
        self.assertLessEqual(hands.hands_for(10 ** 6), hands.HANDS_MAX)

    def test_a_refusal(self):
        def draw(job):
            if job == 7:
                raise Refused('seven is refused')
            return job
        self.assertEqual(self.drawn(draw), (JOBS[:7], 'seven is refused'))

    def test_a_fault(self):
        self.assertEqual(self.drawn(lambda job: 1 // (job - 4)), ([-1, -1, -1, -1], 'fault ZeroDivisionError'))

    def test_one_that_is_killed(self):
        def draw(job):
            if job == 5:
                os.kill(os.getpid(), signal.SIGKILL)
            return job
        self.assertEqual(self.drawn(draw), (JOBS[:5], 'a process that drew figures was killed'))

    def test_nobody_wants_the_rest(self):
        figures = hands.drawn(JOBS, lambda job: job, str)
        self.assertEqual(next(figures), 0)
        figures.close()


if __name__ == '__main__':
    main()

# SPDX-License-Identifier: Apache-2.0
"""100,000 rows are drawn within 10 s and 500 MiB, whether they are many points or many
repetitions. Three times as much of a CPU is allowed here: other work may share the machine.
Spread over many experiments they are many files, and take no longer a file than those of
one experiment alone. Prints what it took."""
import os
import subprocess
import sys
import time

from plots import PLOT, Case, Run, main, point_rows

ROWS, SECONDS, MIB, EXPERIMENTS = 100000, 10, 500, 40
PER_RUN = len(point_rows(0, 1))


class Large(Case):
    def measure(self, points, repeat, experiments=1):
        run = Run(self.dir, repeat)
        for e in range(experiments):
            run.experiment(f'e{e}', 'size', tuple(str(8 * (i + 1)) for i in range(points)),
                           rows=lambda p, r: point_rows(p % 50, r), base={'batch': str(e + 1)})
        run.write()
        with open(os.path.join(self.dir, 'summary.csv'), encoding='utf-8') as f:
            rows = sum(1 for _ in f) - 1
        start = time.monotonic()
        p = subprocess.Popen([sys.executable, PLOT, self.dir, '-o', self.out], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - start
        self.assertEqual(p.returncode, 0)
        cpu, mib = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
        print(f'{rows} rows, {experiments} x {points} points of {repeat} runs, {len(os.listdir(self.out))} files: '
              f'{wall:.1f} s ({cpu:.1f} s of a CPU), {mib:.0f} MiB')
        self.assertLess(mib, MIB)
        self.assertLess(max(os.path.getsize(os.path.join(self.out, n)) for n in os.listdir(self.out)), 16 << 20)
        self.assertEqual(len(os.listdir(self.out)), 8 * experiments)
        return rows, cpu

    def test_memory_is_seen(self):
        """The control: a process that takes more is one that fails."""
        p = subprocess.Popen([sys.executable, '-c', f'b"x" * ({MIB + 50} << 20)'])
        _, _, usage = os.wait4(p.pid, 0)
        p.returncode = 0
        self.assertGreater(usage.ru_maxrss / 1024, MIB)

    def in_time(self, rows, cpu):
        self.assertGreaterEqual(rows, ROWS)
        self.assertLess(cpu, 3 * SECONDS)

    def test_many_runs(self):
        self.in_time(*self.measure(20, -(-ROWS // PER_RUN // 20) + 1))

    def test_many_points(self):
        self.in_time(*self.measure(ROWS // PER_RUN + 1, 1))

    def test_many_experiments(self):
        points = ROWS // PER_RUN // EXPERIMENTS + 1
        _, one = self.measure(points, 1)
        for n in os.listdir(self.out):
            os.unlink(os.path.join(self.out, n))
        rows, cpu = self.measure(points, 1, EXPERIMENTS)
        self.assertGreaterEqual(rows, ROWS)
        # (twice: CPUs that are shared are slower at times)
        self.assertLess(cpu, 2 * EXPERIMENTS * one)


if __name__ == '__main__':
    main()

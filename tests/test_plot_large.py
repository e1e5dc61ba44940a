# SPDX-License-Identifier: Apache-2.0
"""100,000 rows are drawn within 10 s and 500 MiB, whether they are many points or many
repetitions. Three times as long is allowed here: other work may share the machine.
Prints what it took."""
import os
import subprocess
import sys
import time

from plots import PLOT, Case, Run, main, point_rows

ROWS, SECONDS, MIB = 100000, 10, 500
PER_RUN = len(point_rows(0, 1))


class Large(Case):
    def measure(self, points, repeat):
        Run(self.dir, repeat).experiment('e', 'size', tuple(str(8 * (i + 1)) for i in range(points)),
                                         rows=lambda p, r: point_rows(p % 50, r)).write()
        with open(os.path.join(self.dir, 'summary.csv'), encoding='utf-8') as f:
            rows = sum(1 for _ in f) - 1
        self.assertGreaterEqual(rows, ROWS)
        start = time.monotonic()
        p = subprocess.Popen([sys.executable, PLOT, self.dir, '-o', self.out], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - start
        self.assertEqual(p.returncode, 0)
        cpu, mib = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
        print(f'{rows} rows, {points} points of {repeat} runs, {len(os.listdir(self.out))} files: '
              f'{wall:.1f} s ({cpu:.1f} s of a CPU), {mib:.0f} MiB')
        self.assertLess(mib, MIB)
        self.assertLess(wall, 3 * SECONDS)
        self.assertLess(max(os.path.getsize(os.path.join(self.out, n)) for n in os.listdir(self.out)), 16 << 20)
        self.assertEqual(len(os.listdir(self.out)), 8)

    def test_memory_is_seen(self):
        """The control: a process that takes more is one that fails."""
        p = subprocess.Popen([sys.executable, '-c', f'b"x" * ({MIB + 50} << 20)'])
        _, _, usage = os.wait4(p.pid, 0)
        p.returncode = 0
        self.assertGreater(usage.ru_maxrss / 1024, MIB)

    def test_many_runs(self):
        self.measure(20, -(-ROWS // PER_RUN // 20) + 1)

    def test_many_points(self):
        self.measure(ROWS // PER_RUN + 1, 1)


if __name__ == '__main__':
    main()

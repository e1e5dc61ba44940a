# SPDX-License-Identifier: Apache-2.0
"""A point that fails, crashes, hangs or is skipped: it alone, with the reason."""
from cli import FAILED, SKIPPED, TIMEOUT, Case, main


class Failures(Case):
    def test_each_fails_alone(self):
        self.run_out('probe=fake', 'mode=ok,crash,abort,hang,fail,flag,absent,empty,own-row', '--timeout', '8',
                     '--seed', '5', '--raw', code=FAILED)
        got = self.by_value(self.summary())
        self.assertEqual({r['status'] for r in got['ok']}, {'ok'})
        want = {'crash': ('crash', 'child ended: signal 11'), 'abort': ('crash', 'child ended: exit 3'),
                'hang': ('timeout', 'no end within 8 s'), 'fail': ('error', 'it failed, as "told", with a comma'),
                'absent': ('absent', 'the device went away'), 'empty': ('empty', 'no row')}
        for mode, (code, words) in want.items():
            self.assertEqual({r['status'] for r in got[mode]}, {'failed'}, mode)
            self.assertEqual({r['reason_code'] for r in got[mode]}, {code}, mode)
            self.assertIn(words, got[mode][0]['reason'])
        for mode in ('crash', 'hang', 'absent', 'empty'):
            self.assertEqual(len(got[mode]), 1)
        self.assertEqual([r['status'] for r in got['own-row']].count('failed'), 1)
        self.assertEqual([r['reason_code'] for r in got['flag']].count('steal'), 1)
        j = self.run_json()
        self.assertTrue(j['complete'])
        self.assertEqual(j['exit_code'], 1)
        self.assertEqual(j['how_far'], '9 of 9: 1 ok, 1 flagged, 7 failed, 0 skipped')
        self.assertFalse([f for f in self.files() if 'tmp' in f])

    def test_the_table_says_why(self):
        r = self.run_out('probe=fake', 'mode=ok,crash,flag', code=FAILED)
        self.assertIn('failed: child ended: signal 11', r.stdout)
        self.assertIn('flagged: the host took time away', r.stdout)

    def test_the_group_goes_on_after_a_crash(self):
        self.run_out('probe=fake', 'mode=crash,ok', 'depth=1..6+1', '--cross', code=FAILED)
        rows = self.summary()
        self.assertEqual(len({r['point'] for r in rows if r['status'] == 'ok'}), 6)
        self.assertEqual(len({r['point'] for r in rows if r['status'] == 'failed'}), 6)

    def test_only_waits_that_ran_out(self):
        self.run_out('probe=fake', 'mode=hang', '--timeout', '0.5', code=TIMEOUT)
        self.assertEqual([r['reason_code'] for r in self.summary()], ['timeout'])

    def test_a_wait_that_ran_out_beside_others(self):
        # (long for the one that is well: a busy machine must not take its time away)
        self.run_out('probe=fake', 'mode=hang,ok', '--timeout', '8', code=FAILED)

    def test_flagged_is_no_failure(self):
        self.run_out('probe=fake', 'mode=flag')

    def test_skipped(self):
        ini = self.path('gpu.ini', '[a]\nprobe = fake\nissuer = gpu\nabsent = skip\n')
        r = self.run_out(ini, code=SKIPPED)
        rows = self.summary()
        self.assertEqual([(x['status'], x['reason_code']) for x in rows], [('skipped', 'absent')])
        self.assertIn('these stages are fake', rows[0]['reason'])
        self.assertEqual(rows[0]['mean'], '')
        self.assertIn('skipped', r.stdout)

    def test_skipped_beside_others(self):
        ini = self.path('gpu.ini', '[a]\nprobe = fake\nvary = issuer\nvalues = gpu, cpu\nabsent = skip\n')
        self.run_out(ini)
        self.assertEqual(self.run_json()['how_far'], '2 of 2: 1 ok, 0 flagged, 0 failed, 1 skipped')

    def test_absent_while_running(self):
        ini = self.path('gone.ini', '[a]\nprobe = fake\nmode = absent\nabsent = skip\n')
        self.run_out(ini, code=SKIPPED)

    def test_a_scout_that_dies(self):
        r = self.run_out('probe=fake', env={'FS_FAKE_SCOUT': 'crash'})
        self.assertIn('going on without GPUs', r.stderr)
        self.assertIn('exit 9', self.run_json()['machine']['gpu_reason'])


if __name__ == '__main__':
    main()

# SPDX-License-Identifier: Apache-2.0
"""What a run writes, in which order points run, and in which processes."""
import os
import shutil

from cli import PROGRAM, REFUSED, Case, main, strict_csv


class Run(Case):
    def test_files_of_a_run(self):
        r = self.run_out('probe=fake', 'size=8,64', '--repeat', '2', '--seed', '7')
        rows = self.summary()
        ids = sorted({x['point'] for x in rows})
        self.assertEqual(len(ids), 2)
        self.assertEqual(self.files(), sorted(
            ['run.json', 'plan.csv', 'summary.csv'] + [f'points/{i}.{k}.csv' for i in ids for k in (1, 2)]))
        self.assertEqual({(x['point'], x['rep']) for x in rows}, {(i, k) for i in ids for k in '12'})
        self.assertEqual({x['seq'] for x in rows}, set('1234'))
        self.assertEqual({x['varied'] for x in rows}, {'size'})
        self.assertEqual({x['value'] for x in rows}, {x['size_b'] for x in rows})
        plan = strict_csv(os.path.join(self.out, 'plan.csv'))
        self.assertEqual([p['size'] for p in plan], ['8', '64'])
        j = self.run_json()
        self.assertTrue(j['complete'])
        self.assertEqual((j['schema'], j['seed'], j['repeat'], j['exit_code']), (1, 7, 2, 0))
        self.assertEqual(j['argv'][:2], ['fivestage', 'run'])
        self.assertLessEqual(j['start_ns'], j['end_ns'])
        self.assertEqual(sorted(j['points']), ids)
        self.assertIn('queue_mem', j['points'][ids[0]]['2'])
        for key in ('environment', 'machine', 'topology', 'clock', 'nics', 'not_built', 'version', 'revision'):
            self.assertIn(key, j)
        self.assertIn(ids[0], r.stdout)
        self.assertIn('translation', r.stdout)

    def test_the_table_has_means_and_shares(self):
        r = self.run_out('probe=fake', 'size=64')
        # issue: 100 + 64 of a total of 2100 + 6 * 64
        self.assertRegex(r.stdout, r' 2484\.0\* +164\.0\* +264\.0\* ')
        self.assertRegex(r.stdout, r'\n +7 % +11 % +15 % ')
        self.assertIn('* holds spans of a software NIC: emulated', r.stdout)
        self.assertIn('2484.0', r.stdout)

    def test_one_order_a_seed(self):
        def order(seed, rep):
            rows = [x for x in self.summary() if x['rep'] == rep]
            return [x['value'] for x in sorted(rows, key=lambda x: int(x['seq'])) if x['stage'] == 'total']
        seen = []
        for seed in ('1', '1', '2'):
            shutil.rmtree(self.out, ignore_errors=True)
            self.run_out('probe=fake', 'depth=1..12+1', '--seed', seed, '--repeat', '2')
            seen.append((order(seed, '1'), order(seed, '2')))
        self.assertEqual(seen[0], seen[1])
        self.assertNotEqual(seen[0], seen[2])
        self.assertNotEqual(seen[0][0], seen[0][1])

    def test_a_point_in_two_experiments_runs_once(self):
        ini = self.path('two.ini', '[global]\nprobe = fake\n[a]\nvary = size\nvalues = 8, 64\n'
                                   '[b]\nvary = depth\nvalues = 1, 2\n')
        self.run_out(ini)
        rows = [x for x in self.summary() if x['stage'] == 'total']
        self.assertEqual(len(rows), 4)
        self.assertEqual(len({x['point'] for x in rows}), 3)
        self.assertEqual({(x['experiment'], x['varied'], x['value']) for x in rows},
                         {('a', 'size', '8'), ('a', 'size', '64'), ('b', 'depth', '1'), ('b', 'depth', '2')})
        self.assertEqual(self.run_json()['points'].keys(), {x['point'] for x in rows})

    def test_raw_samples(self):
        self.run_out('probe=fake', 'size=8,64', '--repeat', '2', '--raw')
        rows = strict_csv(os.path.join(self.out, 'samples.csv'))
        self.assertEqual(list(rows[0]), ['point', 'rep', 'message', 'intent', 'noticed'])
        self.assertEqual(len(rows), 2 * 2 * 3)
        self.assertFalse([f for f in self.files() if 'samples' in f and f != 'samples.csv'])

    def test_fresh_processes(self):
        self.run_out('probe=fake', 'mode=pid', 'nic=null,soft,peer', '--repeat', '2')
        pids = [rep['pid'] for p in self.run_json()['points'].values() for rep in p.values()]
        self.assertEqual(len(set(pids)), 6)   # each nic and each repetition its own

    def test_points_of_a_group_share_a_process(self):
        self.run_out('probe=fake', 'mode=pid', 'size=8,16,32')
        pids = {rep['pid'] for p in self.run_json()['points'].values() for rep in p.values()}
        self.assertEqual(len(pids), 1)

    def test_more_groups_than_processes(self):
        self.run_out('probe=fake', 'mode=pid', 'nic=null,soft,peer', 'issuer=gpu,cpu', 'depth=1..4+1', '--cross',
                     env={'FS_FAKE_GPUS': '1'})
        self.assertEqual(len(self.run_json()['points']), 24)

    def test_a_long_answer(self):
        self.run_out('probe=fake', 'mode=long')
        self.assertEqual(len([x for x in self.summary() if x['metric'] == 'filler']), 2000)

    def test_dry_run_writes_nothing(self):
        r = self.run_out('probe=fake', 'size=8,64', '--dry-run', '--repeat=3')
        self.assertFalse(os.path.exists(self.out))
        self.assertEqual(os.listdir(self.tmp), [])
        self.assertIn('2 points', r.stdout)
        self.assertIn('3 repetitions', r.stdout)
        self.assertIn('size=64', r.stdout)
        # A directory that a run would refuse is refused here too, behind the plan.
        self.run_out('probe=fake', 'size=8')
        before = {f: os.stat(os.path.join(self.out, f)).st_mtime_ns for f in self.files()}
        r = self.run_out('probe=fake', 'size=8', '--dry-run', code=REFUSED)
        self.assertIn('1 point', r.stdout)
        self.assertIn(f'{self.out}: not empty', r.stderr)
        self.assertIn('--resume', r.stderr)
        self.assertEqual({f: os.stat(os.path.join(self.out, f)).st_mtime_ns for f in self.files()}, before)
        os.mkdir(self.out + 'empty')
        self.run_it('run', '-o', self.out + 'empty', 'probe=fake', '--dry-run')
        self.run_it('run', '--resume', '-o', self.out, '--dry-run')

    def test_default_config_and_directory(self):
        exe = self.path('bin/fivestage-fake', '')
        shutil.copy2(PROGRAM, exe)
        self.path('bin/configs/default.ini', '# The default.\n[one]\nprobe = fake\nsize = 32\n')
        self.path('bin/configs/other.ini', '[two]\nprobe = fake\nsize = 64\n')
        self.run_it('run', program=exe)
        made = os.listdir(self.path('results'))
        self.assertEqual(len(made), 1)
        self.assertRegex(made[0], r'^\d{8}T\d{6}Z-')
        self.out = os.path.join(self.path('results'), made[0])
        self.assertEqual({x['size_b'] for x in self.summary()}, {'32'})
        # A shipped config by its name alone.
        self.out = self.path('out')
        self.run_it('run', '-o', self.out, 'other.ini', program=exe)
        self.assertEqual({x['size_b'] for x in self.summary()}, {'64'})
        self.assertIn('The default.', self.run_it('list', 'configs', program=exe).stdout)

    def test_options_in_any_order(self):
        self.run_it('run', 'probe=fake', '--seed=3', 'size=8,16', '-o', self.out, '--repeat', '2')
        self.assertEqual(self.run_json()['seed'], 3)


if __name__ == '__main__':
    main()

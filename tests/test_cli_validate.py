# SPDX-License-Identifier: Apache-2.0
"""The checker of plants: what is in place passes, what it is not told it finds."""
import os
import shutil

from cli import INVALID, USAGE, Case, main, strict_csv


class Validate(Case):
    MARKS = ('intent', 'reserved', 'resolved', 'built', 'rung', 'seen', 'started', 'fetched', 'translated',
             'read', 'written', 'completed', 'noticed')

    def validate(self, *args, **kw):
        return self.run_it('validate', '-o', self.out, *args, **kw)

    def csv(self):
        return strict_csv(os.path.join(self.out, 'validate.csv'))

    def test_all_in_place(self):
        r = self.validate()
        self.assertIn('all 13 plants', r.stdout)
        rows = self.csv()
        self.assertEqual({x['mark'] for x in rows}, set(self.MARKS))
        self.assertEqual({x['verdict'] for x in rows}, {'ok'})
        self.assertEqual({x['plant_ns'] for x in rows}, {'5000'})
        own = {x['mark']: x['interval'] for x in rows if x['claim'] == 'own'}
        self.assertEqual(own['built'], 'resolved-built')
        self.assertEqual(set(own), set(self.MARKS) - {'intent', 'seen', 'noticed'})
        hops = {x['mark'] for x in rows if x['claim'] == 'crossing' and float(x['expected_ns']) > 0}
        self.assertEqual(hops, {'seen', 'noticed'})
        self.assertTrue(self.run_json()['complete'])
        self.summary()

    def test_gpu_is_the_default_where_there_is_one(self):
        self.validate(env={'FS_FAKE_GPUS': '1'})
        self.assertEqual({x['plant_ns'] for x in self.csv()}, {'500', '5000'})
        self.assertEqual({x['issuer'] for x in self.summary()}, {'gpu'})

    def test_an_untold_plant_is_found(self):
        for mark in self.MARKS:
            with self.subTest(mark=mark):
                shutil.rmtree(self.out, ignore_errors=True)
                self.validate('--untold', f'{mark}:2000', code=INVALID)
                off = {(x['interval'] if x['claim'] != 'crossing' else 'crossing')
                       for x in self.csv() if x['verdict'] == 'off'}
                place = {'seen': 'crossing', 'noticed': 'crossing', 'intent': '-'}
                where = place.get(mark) or next(x['interval'] for x in self.csv()
                                                if x['interval'].endswith('-' + mark))
                self.assertEqual(off, {where, '-'})

    def test_a_lie_is_found_and_named(self):
        r = self.validate('lie=400', code=INVALID)
        self.assertIn('translated-read grew by 5400.0', r.stdout)
        self.assertIn('13 of 13 plants off', r.stdout)
        self.assertEqual(self.run_json()['exit_code'], 6)

    def test_within_tolerance(self):
        self.validate('lie=90')

    def test_tolerances_of_a_gpu_are_tighter(self):
        self.validate('lie=20', env={'FS_FAKE_GPUS': '1'}, code=INVALID)

    def test_each_agent_is_judged_as_what_it_is(self):
        self.validate('nic=soft', env={'FS_FAKE_GPUS': '1'})
        ns = {x['mark']: x['plant_ns'] for x in self.csv()}
        self.assertEqual((ns['built'], ns['fetched']), ('500', '5000'))
        limits = {(x['mark'], x['claim']): x['tolerance_ns'] for x in self.csv()}
        self.assertEqual((limits['built', 'own'], limits['fetched', 'own']), ('25', '250'))

    def test_settings(self):
        self.validate('nic=null', 'size=64', '--ns', '7000')
        self.assertEqual({x['plant_ns'] for x in self.csv()}, {'7000'})
        self.assertEqual({x['nic'] for x in self.summary()}, {'null'})

    def test_what_is_not_free(self):
        for args in (['plant=read:5'], ['probe=fake'], ['--untold', 'lunch:5'], ['--raw']):
            with self.subTest(args=args):
                self.validate(*args, code=USAGE)
                self.assertFalse(os.path.exists(self.out))


if __name__ == '__main__':
    main()

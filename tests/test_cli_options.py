# SPDX-License-Identifier: Apache-2.0
"""Numbers of options: the legal ones work, and what isn't legal is refused with
what would be, before anything is written."""
import os

from cli import FAILED, OK, USAGE, Case, main, strict_csv

# option, legal range as it is named, what is refused, what is taken
NUMBERS = (
    ('--repeat', 'a whole number in 1..10000', ('0', '-1', '10001', '99999999999999999999', 'x', '', ' 2', '2 ', '2x',
                                                '1.5', '0x2', '1e2'), ('1', '2', '+2', '03')),
    ('--seed', 'a whole number in 0..9223372036854775807', ('-1', '9223372036854775808', '99999999999999999999', 'x', '',
                                                            '1.5', ' 1'), ('0', '1', '9223372036854775807')),
    ('--timeout', 'seconds in 0.01..1000000', ('0', '-1', '0.001', '1000001', '1e400', 'nan', 'inf', 'x', '', '5s', ' 5'),
     ('0.5', '20', '1e3', '1000000')),
)


class Options(Case):
    def test_nonsense_is_refused(self):
        for name, legal, bad, _ in NUMBERS:
            for value in bad:
                for args in ([name, value], [f'{name}={value}']):
                    with self.subTest(args=args):
                        r = self.run_out('probe=fake', *args, code=USAGE)
                        self.assertEqual(r.stderr, f'fivestage: run: {name} {value}: legal '
                                         f'{"are" if name == "--timeout" else "is"} {legal}\n')
                        self.assertFalse(os.path.exists(self.out))

    def test_legal_ones_are_taken(self):
        # The control of the test above.
        for name, _, _, good in NUMBERS:
            for value in good:
                with self.subTest(args=(name, value)):
                    self.run_it('run', 'probe=fake', name, value, '--dry-run')
                    self.run_it('run', 'probe=fake', f'{name}={value}', '--dry-run')

    def test_values_that_are_missing_or_too_many(self):
        for args, words in ((['--repeat'], '--repeat needs a value: N'), (['-o'], '-o needs a value: DIR'),
                            (['--raw=1'], '--raw takes no value'), (['--resume=x'], '--resume takes no value'),
                            (['--rep', '2'], '--rep is no option here; legal: --help, -o DIR, --repeat N'),
                            (['--ns', '5'], '--ns is no option here'), (['-o', ''], '-o needs a directory')):
            with self.subTest(args=args):
                self.assertIn(words, self.run_it('run', 'probe=fake', *args, code=USAGE).stderr)

    def test_repeat(self):
        self.run_out('probe=fake', 'mode=pid', '--repeat', '3')
        reps = next(iter(self.run_json()['points'].values()))
        self.assertEqual(sorted(reps), ['1', '2', '3'])
        self.assertEqual(len({r['pid'] for r in reps.values()}), 3)

    def test_seed(self):
        seeds = []
        for args in (['--seed', '11'], ['--seed=11'], []):
            self.run_out('probe=fake', 'depth=1..9+1', *args)
            rows = sorted((int(x['seq']), x['value']) for x in self.summary() if x['stage'] == 'total')
            seeds.append((self.run_json()['seed'], rows))
            self.out += 'x'
        self.assertEqual(seeds[0], seeds[1])
        # One that isn't given is recorded, and gives the same order again.
        self.run_out('probe=fake', 'depth=1..9+1', '--seed', str(seeds[2][0]))
        rows = sorted((int(x['seq']), x['value']) for x in self.summary() if x['stage'] == 'total')
        self.assertEqual((seeds[2][0], rows), seeds[2])

    def test_timeout(self):
        self.run_out('probe=fake', 'ms=10,60000', '--timeout', '6.5', code=FAILED)
        got = self.by_value(self.summary())
        self.assertEqual({x['status'] for x in got['10']}, {'ok'})
        self.assertEqual([x['reason'] for x in got['60000']], ['no end within 6.5 s; the child was killed'])
        self.assertEqual(self.run_json()['timeout_s'], 6.5)

    def test_raw(self):
        self.run_out('probe=fake', 'mode=ok,fail,idle', '--raw', code=FAILED)
        got = strict_csv(os.path.join(self.out, 'samples.csv'))
        ok = {x['point'] for x in self.summary() if x['status'] == 'ok'}
        self.assertEqual({x['point'] for x in got}, ok)   # none of the failed one
        self.assertEqual(len(got), 6)
        self.out += 'x'
        self.run_out('probe=fake')
        self.assertNotIn('samples.csv', self.files())

    def test_raw_of_a_probe_without_samples(self):
        self.run_out('probe=fake', 'mode=flag,empty', '--raw', code=FAILED)
        self.assertTrue(self.run_json()['raw'])

    def test_the_last_one_counts(self):
        self.run_out('probe=fake', '--repeat', '3', '--repeat', '1')
        self.assertEqual(self.run_json()['repeat'], 1)

    def test_help_has_every_option(self):
        for cmd, wanted in (('run', '-o --repeat --seed --raw --dry-run --resume --timeout --cross'),
                            ('validate', '-o --repeat --seed --timeout --ns --untold'), ('list', '--markdown')):
            out = self.run_it(cmd, '--help', code=OK).stdout
            got = [x.split()[0] for x in out.splitlines() if x.startswith('  -')]
            self.assertEqual(got, wanted.split())
            self.assertLessEqual(max(map(len, out.splitlines()[1:])), 80)


if __name__ == '__main__':
    main()

# SPDX-License-Identifier: Apache-2.0
"""--resume: what stands is kept to the byte, what is missing or failed is run, and
what doesn't fit is refused with one sentence and changes nothing."""
import contextlib
import fcntl
import json
import os
import shutil

from cli import FAILED, OK, REFUSED, SKIPPED, USAGE, Case, main, strict_csv

KEY = ('point', 'rep', 'experiment', 'varied', 'value', 'stage', 'interval', 'metric', 'mean', 'status')


class Resume(Case):
    def shape(self):
        return [tuple(r[k] for k in KEY) for r in self.summary()]

    def cut(self, *names):
        """As if the run had been killed before these points."""
        for n in names:
            os.unlink(os.path.join(self.out, 'points', n))
        j = self.run_json()
        j['complete'] = False
        self.path('out/run.json', json.dumps(j))

    def tree(self):
        got = {}
        for f in self.files():
            with open(os.path.join(self.out, f), 'rb') as h:
                got[f] = h.read()
        return got

    def make(self, *args, code=OK):
        shutil.rmtree(self.out, ignore_errors=True)
        self.run_out('probe=fake', 'size=8..64*2', '--repeat', '2', '--seed', '5', *args, code=code)

    def test_goes_on(self):
        self.make('--raw')
        whole, shape = self.points(), self.shape()
        with open(os.path.join(self.out, 'samples.csv'), 'rb') as f:
            samples = f.read()
        gone = sorted(n for n in whole if 'samples' not in n)[1:4]
        self.cut(*gone)
        r = self.resume()
        self.assertIn('5 points and repetitions stand, 0 failed and 3 missing', r.stderr)
        now = self.points()
        self.assertEqual(now.keys(), whole.keys())
        for n in whole:
            self.assertEqual(now[n] == whole[n], n not in gone, n)
        self.assertEqual(self.shape(), shape)
        with open(os.path.join(self.out, 'samples.csv'), 'rb') as f:
            self.assertEqual(f.read(), samples)
        seqs = {(x['point'], x['rep']): x['seq'] for x in self.summary()}
        self.assertEqual(len(set(seqs.values())), len(seqs))
        j = self.run_json()
        self.assertTrue(j['complete'])
        self.assertEqual(j['how_far'], '8 of 8: 8 ok, 0 flagged, 0 failed, 0 skipped')
        self.assertEqual(j['exit_code'], 0)
        again = j['resumptions']
        self.assertEqual([(x['kept'], x['missing'], x['failed_again']) for x in again], [(5, 3, 0)])
        self.assertIn('--resume', again[0]['argv'])
        self.assertNotIn('--resume', j['argv'])
        self.assertEqual({len(p) for p in j['points'].values()}, {2})

    def test_the_table_has_what_stands(self):
        self.make()
        first = sorted(self.points())[0]
        self.cut(first)
        self.assertIn('2484.0', self.resume().stdout)

    def test_the_same_command_line_with_resume(self):
        self.make()
        self.cut(*sorted(self.points())[:2])
        self.resume('probe=fake', 'size=8,16,32,64', '--repeat', '2', '--seed', '5')
        self.assertEqual(len(self.points()), 8)

    def test_a_full_one(self):
        self.make()
        before = self.tree()
        r = self.resume()
        self.assertIn('8 points and repetitions stand', r.stderr)
        self.assertIn('nothing is measured', r.stderr)
        self.assertIn('2484.0', r.stdout)
        self.assertEqual(self.tree(), before)

    def test_a_full_one_of_skipped_points(self):
        ini = self.path('gpu.ini', '[a]\nprobe = fake\nissuer = gpu\nabsent = skip\n')
        self.run_out(ini, code=SKIPPED)
        self.resume(code=SKIPPED)

    def test_merging_alone_is_left(self):
        self.make('--raw')
        whole = self.tree()
        self.cut()
        os.unlink(os.path.join(self.out, 'summary.csv'))
        self.resume()
        now = self.tree()
        for f in whole:
            if f != 'run.json':
                self.assertEqual(now[f], whole[f], f)

    def test_a_table_that_is_gone(self):
        self.make('--raw')
        whole = self.tree()
        os.unlink(os.path.join(self.out, 'summary.csv'))
        self.assertIn('nothing is measured', self.resume().stderr)
        now = self.tree()
        for f in whole:
            if f != 'run.json':
                self.assertEqual(now[f], whole[f], f)

    def test_failed_ones_run_again(self):
        flag = self.path('flag')
        env = {'FS_FAKE_FLAG': flag}
        self.run_out('probe=fake', 'mode=ok,flag,once', '--raw', code=FAILED, env=env)
        before = self.points()
        by = self.by_value(self.summary())
        self.assertEqual({x['status'] for x in by['once']}, {'failed'})
        self.path('flag', '')
        r = self.resume(env=env)
        self.assertIn('2 points and repetitions stand, 1 failed and 0 missing', r.stderr)
        by = self.by_value(self.summary())
        self.assertEqual({x['status'] for x in by['once']}, {'ok'})
        self.assertIn('flagged', {x['status'] for x in by['flag']})
        changed = [n for n, text in self.points().items() if text != before[n]]
        self.assertEqual(changed, [by['once'][0]['point'] + '.1.csv'])
        samples = strict_csv(os.path.join(self.out, 'samples.csv'))
        self.assertEqual(len({x['point'] for x in samples}), 3)
        self.assertEqual(len(samples), 9)

    def test_still_failing(self):
        self.run_out('probe=fake', 'mode=ok,fail', code=FAILED)
        self.resume(code=FAILED)
        self.resume(code=FAILED)
        self.assertEqual(len(self.run_json()['resumptions']), 2)
        self.assertEqual(self.run_json()['how_far'], '2 of 2: 1 ok, 0 flagged, 1 failed, 0 skipped')

    def test_a_longer_timeout_may_be_given(self):
        self.run_out('probe=fake', 'ms=1,7000', '--timeout', '5', code=FAILED)
        self.resume('--timeout', '120')
        self.assertEqual(self.run_json()['resumptions'][0]['timeout_s'], 120)

    # ---- refusals: one sentence, nothing changed ----

    def refuse(self, *args, words=(), code=REFUSED, **kw):
        before = self.tree()
        r = self.resume(*args, code=code, **kw)
        for w in words:
            self.assertIn(w, r.stderr)
        self.assertEqual(len(r.stderr.splitlines()), 1, r.stderr)
        self.assertEqual(self.tree(), before)

    def test_what_differs_is_said(self):
        self.make()
        self.cut(sorted(self.points())[0])
        for args, words in (
                (['--seed', '6'], ['--seed is 5, not 6']),
                (['--repeat', '3'], ['--repeat is 2, not 3']),
                (['--raw'], ['without --raw']),
                (['--cross'], ['without --cross']),
                (['probe=fake', 'size=8..128*2'], ['another plan', 'ends']),
                (['probe=fake', 'size=8..32*2'], ['another plan', 'more rows']),
                (['probe=fake', 'size=8,16,32,128'], ['another plan', 'is 64, not 128']),
                (['probe=fake', 'depth=1,2,3,4'], ['another plan', 'is size, not depth'])):
            with self.subTest(args=args):
                self.refuse(*args, words=words)

    def test_another_program(self):
        self.make()
        for name, value in (('revision', 'abc'), ('version', '9.9.9')):
            j = self.run_json()
            was, j[name] = j[name], value
            self.path('out/run.json', json.dumps(j))
            self.refuse(words=['made by fivestage', value])
            j[name] = was
            self.path('out/run.json', json.dumps(j))
        self.resume()

    def test_another_machine(self):
        self.make()
        self.refuse(words=['with 0 GPUs; here are 2'], env={'FS_FAKE_GPUS': '2'})
        j = self.run_json()
        j['environment']['before']['cpu']['model'] = 'Another 9000'
        self.path('out/run.json', json.dumps(j))
        self.refuse(words=['another CPU: Another 9000'])

    def test_other_cpus(self):
        self.make()
        here = os.sched_getaffinity(0)
        one = min(here)
        self.cut()
        j = self.run_json()
        was = j['environment']['before']['cpu']['allowed']
        os.sched_setaffinity(0, {one})
        self.addCleanup(os.sched_setaffinity, 0, here)
        if len(here) > 1:
            self.refuse(words=[f'begun on the CPUs {was}; this process may use {one} (taskset -c {was} goes on'])
        j['environment']['before']['cpu']['allowed'] = str(one)
        self.path('out/run.json', json.dumps(j))
        self.resume()

    def test_a_table_that_cant_stand(self):
        self.make()
        self.cut()
        table = os.path.join(self.out, 'summary.csv')
        os.unlink(table)
        os.mkdir(table)
        r = self.resume(code=FAILED)
        self.assertIn("summary.csv: can't rename", r.stderr)
        self.assertIn('to go on: ', r.stderr)
        self.assertFalse(self.run_json()['complete'])
        os.rmdir(table)
        self.assertNotIn('to go on', self.resume().stderr)

    def test_samples_that_cant_stand(self):
        self.make('--raw')
        name = next(n for n in self.points() if not n.endswith('.samples.csv'))
        self.cut()
        os.unlink(os.path.join(self.out, 'points', name))
        samples = os.path.join(self.out, 'points', name[:-len('.csv')] + '.samples.csv')
        if os.path.exists(samples):
            os.unlink(samples)
        os.mkdir(samples)
        r = self.run_it('run', '--resume', '-o', self.out, code=FAILED)
        self.assertIn('.samples.csv: ', r.stderr)
        os.rmdir(samples)
        self.resume()

    def test_other_directories(self):
        self.path('out/kept', 'x')
        self.refuse(words=['no directory of a run: there is kept, and no run.json'])
        self.path('out/run.json', '{"tool": "other"}')
        self.refuse(words=["another tool's"])
        self.path('out/run.json', '{"tool": "fivestage", "schema": 99}')
        self.refuse(words=['another schema'])
        self.path('out/run.json', '{"tool": "fivestage", "schema": 1, "repeat": 1}')
        self.refuse(words=['no command line'])
        self.path('out/run.json', '{"tool": "five')
        self.refuse(words=['run.json:1:', 'not as this program writes it'])

    def test_half_written_ones(self):
        self.make()
        name = sorted(self.points())[0]
        path = os.path.join(self.out, 'points', name)
        with open(path, 'rb') as f:
            text = f.read()
        for bad in (text[:-20], text[:40], b'', text.replace(b',ok,', b',fine,', 1), text + b'x\n'):
            with self.subTest(bad=bad[-30:]):
                with open(path, 'wb') as f:
                    f.write(bad)
                self.refuse(words=[name, 'without that file the point is measured again'])
        os.unlink(path)
        self.cut()
        self.resume()
        os.unlink(os.path.join(self.out, 'plan.csv'))
        self.refuse(words=['plan.csv'])

    def test_there_is_no_directory(self):
        r = self.resume(code=REFUSED)
        self.assertIn('no such directory', r.stderr)
        self.assertFalse(os.path.exists(self.out))
        self.assertIn('-o DIR', self.run_it('run', '--resume', 'probe=fake', code=USAGE).stderr)

    def test_killed_before_it_began(self):
        os.makedirs(os.path.join(self.out, 'points'))
        self.path('out/.run.json.tmp77', '{')
        self.path('out/plan.csv', 'point\n')
        self.refuse(words=['say what to measure'])
        self.resume('probe=fake', 'size=8')
        self.assertEqual(len(self.points()), 1)
        self.assertFalse([f for f in self.files() if 'tmp' in f])

    def test_leftovers_are_swept(self):
        self.make()
        self.cut(sorted(self.points())[0])
        for f in ('.plan.csv.tmp1', 'points/.abc.1.csv.tmp22', 'points/.abc.1.samples.csv.tmp0', '.writable.AbCdEf'):
            self.path('out/' + f, 'half')
        self.path('out/points/.notes', 'not ours')
        self.resume()
        self.assertEqual([f for f in self.files() if '/.' in f or f.startswith('.')], ['points/.notes'])

    def test_what_validate_made(self):
        self.run_it('validate', '-o', self.out)
        self.refuse(words=['fivestage validate'])

    def test_dry_run(self):
        self.make()
        self.cut(sorted(self.points())[0])
        before = self.tree()
        r = self.resume('--dry-run')
        self.assertEqual(self.tree(), before)
        self.assertIn('of 8 measurements 7 stand', r.stdout)

    def test_two_at_once(self):
        self.make()
        self.cut(sorted(self.points())[0])
        with self.locked():
            self.refuse(words=['another process is at work there'])
        self.resume()

    @contextlib.contextmanager
    def locked(self):
        fd = os.open(self.out, os.O_RDONLY)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)


if __name__ == '__main__':
    main()

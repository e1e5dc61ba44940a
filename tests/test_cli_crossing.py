# SPDX-License-Identifier: Apache-2.0
"""The crossing's probes by the real program: the quick config runs on any machine, what is
absent is skipped with the reason; what can't be is refused before anything runs; memory in
the wrong place fails by name, and its neighbour is measured."""
import os

from cli import FAILED, USAGE, Case, main

CONFIG = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'configs', 'crossing-quick.ini')
PROBES = ('load', 'store', 'atomic', 'bandwidth')


class Crossing(Case):
    def figures(self, **want):
        return [r for r in self.summary() if r['mean'] and all(r[k] == v for k, v in want.items())]

    def test_quick_config(self):
        self.run_out(CONFIG)
        rows = self.summary()
        self.assertEqual({r['status'] for r in rows} - {'ok', 'skipped', 'flagged'}, set())
        for r in rows:
            self.assertEqual(bool(r['reason']), r['status'] != 'ok' or not r['mean'], r)
        cpus = len(os.sched_getaffinity(0))
        for p in PROBES:
            self.assertTrue(self.figures(probe=p, status='ok') or p == 'store' and cpus < 2, p)
        self.assertTrue(self.figures(probe='load', stage='crossing', metric='latency', link='host'))
        found = self.run_json()['points']
        places = [f for by_rep in found.values() for f in by_rep.values() if 'mem' in f]
        self.assertTrue(places)
        for f in places:
            self.assertRegex(f['mem'], r'^(host|gpu \d+)')

    def test_working_set_is_varied(self):
        self.run_out('probe=load', 'issuer=cpu', 'set=8K,64K', 'stride=64', 'messages=2560')
        rows = self.figures(probe='load', metric='latency')
        self.assertEqual(sorted(r['value'] for r in rows), ['65536', '8192'])
        for r in rows:
            self.assertEqual((r['stage'], r['unit'], r['n']), ('crossing', 'ns', '10'))
            self.assertGreater(float(r['p50']), 0)

    def test_figures_are_printed(self):
        out = self.run_out('probe=load', 'issuer=cpu', 'set=8K', 'messages=2560').stdout
        self.assertIn('latency crossing', out)
        shown = float(next(x.split()[-2] for x in out.splitlines() if 'latency crossing' in x))
        self.assertAlmostEqual(shown, float(self.figures(metric='latency')[0]['mean']), delta=0.006)

    def test_bandwidth_has_a_ceiling_beside_it(self):
        self.run_out('probe=bandwidth', 'mover=cpu', 'size=64K', 'dir=read,write,copy', 'messages=3')
        for value, rows in self.by_value(self.summary()).items():
            self.assertEqual([r['metric'] for r in rows], ['bandwidth', 'ceiling'], value)
            self.assertGreater(float(rows[0]['mean']), 0)
            self.assertEqual((rows[1]['mean'], rows[1]['n'], rows[1]['origin']), ('', '', 'analytic'))
            self.assertIn('not known', rows[1]['reason'])

    def test_rows_without_a_number_are_read_again(self):
        """A resumed run takes over what stands: also the ceiling that isn't known."""
        args = ['probe=bandwidth', 'mover=cpu', 'size=64K', 'dir=read,copy', 'messages=3']
        self.run_out(*args)
        before = self.by_value(self.summary())
        gone = before['copy'][0]['point']
        for f in self.files():
            if f == 'summary.csv' or f.startswith(f'points/{gone}'):
                os.unlink(os.path.join(self.out, f))
        self.resume(*args)
        after = self.by_value(self.summary())
        self.assertEqual(after['read'], before['read'])
        self.assertEqual([r['reason'] for r in after['copy']], [r['reason'] for r in before['copy']])

    def test_wrong_place(self):
        r = self.run_it('run', '-o', self.out, 'probe=load', 'issuer=cpu', 'set=64K', 'messages=256',
                        'fault=none,wrong-place', code=FAILED) if self.nodes_are_told() else None
        if r is None:
            self.skipTest('this kernel does not say where a page is')
        rows = self.by_value(self.summary())
        self.assertEqual([x['status'] for x in rows['wrong-place']], ['failed'])
        self.assertIn('asked for on NUMA node', rows['wrong-place'][0]['reason'])
        self.assertTrue(all(x['status'] == 'ok' for x in rows['none']))     # the control

    def nodes_are_told(self):
        """Where the kernel says of a page on which node it is, run.json has it."""
        out = os.path.join(self.tmp, 'nodes')
        self.run_it('run', '-o', out, 'probe=load', 'issuer=cpu', 'set=64K', 'messages=256')
        with open(os.path.join(out, 'run.json'), encoding='utf-8') as f:
            return 'host, node' in f.read()

    def test_refused(self):
        for args, says in ((['probe=load', 'issuer=cpu', 'mem=gpu'], "can't reach GPU memory"),
                           (['probe=load', 'issuer=cpu', 'set=4G'], 'larger stride'),
                           (['probe=load', 'issuer=cpu', 'numa=1023'], 'numa=1023'),
                           (['probe=load', 'issuer=cpu', 'set=1024G', 'stride=1M'], 'MiB'),
                           (['probe=atomic', 'issuer=cpu', 'threads=1024'], 'CPUs, one for each'),
                           (['probe=store', 'issuer=cpu', 'store_fence=sc-sys'], 'nic=null'),
                           (['probe=bandwidth', 'mover=cpu'], 'multiple of 16'),
                           (['probe=bandwidth', 'mover=ce', 'dir=read', 'size=1M'], 'dir=copy')):
            r = self.run_out(*args, code=USAGE)
            self.assertIn(says, r.stderr)
            self.assertFalse(os.path.exists(self.out), args)


if __name__ == '__main__':
    main()

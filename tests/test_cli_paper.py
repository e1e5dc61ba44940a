# SPDX-License-Identifier: Apache-2.0
"""Configs of published tables and figures, by the real program: they have the axes that the paper has, say
that the NIC's stages are emulated, and run on two CPU cores, where what needs a GPU is
skipped with the reason. Control: what is compared with the axes notices one that is missing.

    test_cli_paper.py PROGRAM ROOT
"""
import configparser
import os
import re
import subprocess
import sys

ROOT = os.path.abspath(sys.argv.pop(2))

# pylint: disable=wrong-import-position
from cli import PROGRAM, Case, main, strict_csv

GPU_FENCES = {'none', 'release-gpu', 'sc-gpu', 'store-release-gpu', 'release-sys', 'sc-sys', 'store-release-sys'}


def sections(name):
    """{section: settings, those of [global] among them}; the suite has its own reader, this is not it."""
    ini = configparser.ConfigParser(interpolation=None)
    with open(os.path.join(ROOT, 'configs', 'figures', name), encoding='utf-8') as f:
        ini.read_file(f)
    return {s: {**ini['global'], **ini[s]} for s in ini.sections() if s != 'global'}


def values(section):
    return {v.strip() for v in section['values'].split(',')}


class Paper(Case):
    def legal(self, name):
        table = self.run_it('list', 'variables', '--markdown').stdout
        words = re.search(rf'^\| `{name}` \| ([^|]*) \|', table, re.M)[1]
        return set(re.split(r', | or ', words.strip()))

    def ran(self, name, *amount):
        """What became of a config: {section: [rows]}; which took part in {section: {values}}."""
        self.run_out(f'figures/{name}', *(amount or ('messages=600', 'warmup=100')))
        rows, plan = {}, {}
        for r in self.summary():
            rows.setdefault(r['experiment'], []).append(r)
        for p in strict_csv(os.path.join(self.out, 'plan.csv')):
            plan.setdefault(p['experiment'], set()).add(p['value'])
        return rows, plan

    def check_paths(self, config):
        for s, of in config.items():
            if of.get('probe', 'path') == 'path':
                self.assertIn('emulated', of['title'], s)
                self.assertEqual(of['size'], '8')
            self.assertEqual(of['absent'], 'skip')

    def check_rows(self, rows, config):
        for s, of in config.items():
            cpu = of['issuer'] == 'cpu'
            for r in rows[s]:
                self.assertIn(r['status'], ('ok', 'flagged', 'skipped') if not cpu else ('ok', 'flagged'), f'{s}: {r}')
                if r['status'] != 'ok':
                    self.assertTrue(r['reason'])
            if cpu:
                self.assertTrue(any(r['mean'] for r in rows[s]))

    def test_orderings(self):
        config = sections('T4.ini')
        every = self.legal('ordering')
        self.assertEqual(len(every), 8)
        self.check_paths(config)
        for s, of in config.items():
            if of.get('vary') == 'ordering':
                self.assertEqual(values(of), every, s)
                # control
                self.assertNotEqual(values({'values': of['values'].replace(', sys-fence-record', '')}), every)
        parts = {(of.get('queue_mem', 'auto'), of['outstanding']) for of in config.values()
                 if of.get('probe') == 'fence' and of['issuer'] == 'gpu' and values(of) == GPU_FENCES}
        self.assertEqual(parts, {(m, k) for m in ('auto', 'host') for k in '134'})
        rows, plan = self.ran('T4.ini')
        self.assertEqual({s: values(of) for s, of in config.items()}, plan)
        self.check_rows(rows, config)
        for s in ('own', 'other', 'soft', 'cpu'):
            self.assertEqual({r['value'] for r in rows[s]}, every)
        submits = [r for r in rows['cpu'] if r['stage'] == 'submit' and r['metric'] == 'latency']
        self.assertEqual({r['value'] for r in submits}, every)
        self.assertEqual({r['origin'] for r in submits}, {'measured'})
        self.assertEqual({r['origin'] for r in rows['cpu'] if r['stage'] == 'completion' and r['metric'] == 'latency'},
                         {'emulated'})

    def test_inlining(self):
        config = sections('F3.ini')
        axis = {'0', '4..92+8'}
        for s, of in config.items():
            self.assertEqual((of['vary'], values(of)), ('size', axis), s)
            self.assertNotEqual(values({'values': of['values'].replace('92', '84')}), axis)  # control
            if 'null' not in s:
                self.assertIn('emulated', of['title'], s)
        rates = {s: of for s, of in config.items() if of.get('probe') == 'rate'}
        for s, of in rates.items():
            self.assertEqual((of.get('blocks'), of['batch']), (None if of['issuer'] == 'cpu' else '16', '16'), s)
        pairs = {s.removesuffix('-inline') for s in config if s.endswith('-inline') and 'null' not in s}
        self.assertEqual(pairs, {p + r for p in ('own', 'other', 'cpu') for r in ('', '-rate')})
        for p in pairs:     # they differ in the payload alone
            a, b = ({k: v for k, v in config[f'{p}-{how}'].items() if k != 'title'} for how in ('inline', 'pointer'))
            self.assertEqual((a.pop('payload'), b.pop('payload'), a), ('inline', 'pointer', b), p)
        rows, _ = self.ran('F3.ini')
        self.check_rows(rows, config)
        for s in ('cpu-rate-inline', 'cpu-rate-pointer'):
            done = {r['value'] for r in rows[s] if r['metric'] == 'rate' and r['mean']}
            self.assertEqual(done, {'0', *(str(n) for n in range(4, 93, 8))}, s)

    def test_paths(self):
        config = sections('T3.ini')
        self.check_paths(config)
        flames = {s: of for s, of in config.items() if s.endswith('-blueflame')}
        table = {s: of for s, of in config.items() if s not in flames}
        self.assertEqual({values(of) == {'inline', 'pointer'} for of in table.values() if 'vary' in of}, {True})
        self.assertEqual(sum('vary' not in of and of['ordering'] == 'none' for of in table.values()), len(table) / 2)
        for s, of in flames.items(): # one more column of the same places
            base = table[s.removesuffix('-blueflame')]
            same = ('issuer', 'nic', 'nic_gpu', 'ordering', 'size')
            self.assertEqual([of.get(k) for k in same], [base.get(k) for k in same], s)
            self.assertEqual(values(of), {'record-ring', 'blueflame'} | ({'blueflame-bulk'} if of['issuer'] == 'gpu' else set()))
        self.assertEqual(len(flames), len(table) / 2)
        rows, _ = self.ran('T3.ini')
        self.check_rows(rows, config)
        for s in ('cpu', 'cpu-unordered'):
            for stage in ('submit', 'total'):
                self.assertTrue(any(r['stage'] == stage and r['mean'] for r in rows[s]))
        self.assertTrue(all(r['order_class'] == 'unsafe' for r in rows['cpu-unordered']))
        lines = {r['value']: r for r in rows['cpu-blueflame'] if r['metric'] == 'from_queue'}
        self.assertEqual(set(lines), {'blueflame'})
        for s, of in rows.items(): # how many came from there is the machine's; that it is said isn't
            for r in of:
                if r['metric'] == 'from_queue' and float(r['mean']):
                    said = [x for x in of if x['value'] == r['value'] and x['stage'] == 'total']
                    self.assertTrue(said)
                    self.assertEqual({x['status'] for x in said}, {'flagged'}, s)

    def test_round_trips(self):
        config = sections('T3-rtt.ini')
        every = self.legal('reply')
        paths = {s: of for s, of in sections('T3.ini').items() if not s.endswith('-blueflame') and s != 'cpu-unordered'}
        proxied = {s: of for s, of in config.items() if of.get('submitter') == 'proxy'}
        table = {s: of for s, of in config.items() if not s.endswith('-delay') and s not in proxied}
        self.assertEqual(table.keys(), paths.keys())
        for s, of in table.items():     # the places and orders of the paths' rows
            same = ('issuer', 'nic', 'nic_gpu', 'ordering', 'size', 'absent')
            self.assertEqual([of.get(k) for k in same], [paths[s].get(k) for k in same], s)
            self.assertEqual(values(of), every, s)
        both = {(s, form) for s in ('soft', 'cpu') for form in self.legal('proxy')}  # of the same places, by either form of a proxy
        for place, form in both:
            of = proxied.pop(f'{place}-{form}')
            same = ('issuer', 'nic', 'nic_gpu', 'ordering', 'size', 'absent', 'messages')
            self.assertEqual([of.get(k) for k in same], [table[place].get(k) for k in same], (place, form))
            self.assertEqual((of['proxy'], values(of)), (form, every))
        self.assertEqual({s.rsplit('-', 1)[1] for s in proxied}, {'delay'})
        for s, of in config.items():
            self.assertIn('emulated', of['title'], s)
        rows, plan = self.ran('T3-rtt.ini')
        self.assertEqual({s: values(of) for s, of in config.items()}, plan)
        self.check_rows(rows, config)
        for metric in ('rtt', 'responder', 'both_ways', 'wrong_words'):
            self.assertEqual({r['value'] for r in rows['cpu'] if r['metric'] == metric}, every)
        for _, form in both:
            mine = rows[f'cpu-{form}']
            for metric in ('rtt', 'responder', 'both_ways', 'wrong_words', 'helper_cpu', 'helper_cores', 'helper_switches'):
                self.assertEqual({r['value'] for r in mine if r['metric'] == metric and r['mean']}, every, (form, metric))
            self.assertEqual({r['order_class'] for r in mine}, {'guaranteed'})
        self.assertFalse([r for r in rows['cpu'] if r['metric'].startswith('helper_')])     # control
        self.assertEqual({r['value'] for r in rows['cpu-delay'] if r['metric'] == 'respond_delta'}, {'50000'})

    def test_where_each_pays(self):
        """Not a figure of the paper's: its ways to submit, held against each other."""
        config = sections('../pays.ini')
        for s, of in config.items():
            self.assertIn('emulated', of['title'], s)
        ways = {p: {of.get('submitter', 'gpu') for of in config.values() if of['issuer'] == 'gpu' and of['probe'] == p} for p in ('path', 'rate')}
        self.assertEqual(ways, {'path': self.legal('submitter'), 'rate': self.legal('submitter') - {'host-doorbell'}})
        # of those that one rate is asked of, all that differs in who submits is what the head's line excepts
        rates = [of for of in config.values() if of['issuer'] == 'gpu' and of['probe'] == 'rate']
        apart = {n for of in rates for n in of if len({x.get(n) for x in rates}) > 1} - {'title', 'submitter'}
        with open(os.path.join(ROOT, 'configs', 'pays.ini'), encoding='utf-8') as f:
            but = re.search(r'--but (\S+) --over blocks', f.read()).group(1)
        self.assertEqual(apart, set(but.split(',')))
        self.assertEqual({(of['vary'], of['values']) for of in rates}, {('blocks', '1..64*2')})
        self.run_out('pays.ini', 'messages=64', 'warmup=8')
        script = [sys.executable, os.path.join(ROOT, 'scripts', 'crossover.py'), self.out, '--of', 'submitter']
        r = subprocess.run([*script, '--but', 'ordering'], capture_output=True, text=True, check=False)
        self.assertEqual((r.returncode, r.stderr), (0, ''))
        pairs = set(re.findall(r'^path: (\w+) \(ordering=[\w-]+\) against (\w+) ', r.stdout, re.M))  # what they say is the machine's
        self.assertEqual(pairs, {('gpu', 'proxy'), ('gpu', 'cpu'), ('proxy', 'cpu')})
        self.assertEqual(r.stdout.count('; latency total, intervals 95 %'), 3)
        r = subprocess.run(script, capture_output=True, text=True, check=False)     # control
        self.assertEqual([x.split(': ')[1] for x in r.stdout.splitlines()], ['proxy against cpu'])

    def test_quick_form(self):
        """The set of who submits in small: a few points of each of its probes."""
        config = sections('../submit-quick.ini')
        for s, of in config.items():
            self.assertTrue('vary' in of and 2 <= len(values(of)) <= 3, s)
        places = {(of.get('probe', 'path'), of.get('issuer', 'gpu')) for of in config.values()}
        self.assertEqual(places, {(p, i) for p in ('path', 'rtt', 'visible', 'contended', 'rate') for i in ('gpu', 'cpu')})
        self.assertEqual(set().union(*(values(of) for of in config.values() if of['vary'] == 'submitter'),
                                     {of.get('submitter', 'gpu') for of in config.values()}), self.legal('submitter'))
        rows, plan = self.ran('../submit-quick.ini')
        self.assertEqual({s: len(values(of)) for s, of in config.items()}, {s: len(v) for s, v in plan.items()})
        self.check_rows(rows, {s: {'issuer': of.get('issuer', 'gpu')} for s, of in config.items()})
        quick = [f'{x}-quick.ini' for x in ('submit', 'handoff', 'crossing', 'translation')]
        self.run_it('run', *quick, '--dry-run')     # names that one run can have beside each other
        self.run_it('run', 'submitters.ini', 'pays.ini', 'figures/F8.ini', '--dry-run')
        self.run_it('run', 'submit-quick.ini', 'submit-quick.ini', '--dry-run', code=2)      # control

    def test_beside_others(self):
        config = sections('F6.ini')
        for s, of in config.items():
            self.assertIn('emulated', of['title'], s)
            self.assertEqual((of['absent'], of['probe']), ('skip', 'contended'))
        # the paper's 0 to 64 blocks, in either queue; and one comparison of the queues at the same pace
        by_proxy = [of for of in config.values() if of.get('submitter') == 'proxy']
        self.assertEqual({of['proxy'] for of in by_proxy}, {'baseline'})
        self.assertEqual({(of.get('trip', 'one-way'), of['vary'], of.get('others_queue', 'private')) for of in by_proxy},
                         {('one-way', 'others', q) for q in self.legal('others_queue')} | {(t, 'others_queue', 'private') for t in self.legal('trip')})
        for place in ('own', 'other', 'soft', 'far'):
            queues = {(of.get('trip', 'one-way'), of.get('others_queue', 'private')) for s, of in config.items()
                      if s.startswith(place + '-') and of['vary'] == 'others' and of['values'] == '0, 1..64*2'}
            trips = {'one-way'} if place in ('other', 'far') else self.legal('trip')
            self.assertEqual(queues, {(t, q) for t in trips for q in self.legal('others_queue')}, place)
        paced = [of for of in config.values() if of['vary'] == 'others_queue']
        self.assertTrue(all(int(of['others_pace']) for of in paced))
        self.assertEqual({(of.get('trip', 'one-way'), of['issuer'], of['nic']) for of in paced},
                         {(t, i, n) for t in self.legal('trip') for i, n in (('gpu', 'peer'), ('gpu', 'soft'), ('cpu', 'soft'))})
        for s, of in config.items():                    # an order that is promised of them to that NIC
            self.assertEqual(of.get('others_gpu') == '1', s.startswith('far-') and of['vary'] != 'others_gpu', s)
            if s.startswith('far-'):
                self.assertEqual((of['ordering'], of['nic_gpu']), ('sys-fence-record', 'gpu'), s)
        rows, _ = self.ran('F6.ini', 'messages=200', 'warmup=16')
        self.check_rows(rows, config)
        for v in self.legal('others_queue'):
            mine = {(r['stage'], r['interval']): r for r in rows['cpu-queue'] if r['value'] == v and r['metric'] == 'latency'}
            self.assertEqual(('queueing', 'built-turn') in mine, v == 'shared')
            parts = [float(r['mean']) for (stage, i), r in mine.items() if i != '-']
            self.assertAlmostEqual(sum(parts), float(mine[('total', '-')]['mean']), delta=1e-6 * sum(parts) + 1e-3)
            self.assertEqual(len([r for r in rows['cpu-queue'] if r['value'] == v and r['metric'] == 'carried']), 1)
            mine = {r['metric']: float(r['mean']) for r in rows['cpu-trip'] if r['value'] == v and r['metric'] != 'latency'}
            self.assertEqual(mine.keys(), {'rtt', 'responder', 'both_ways', 'wrong_words', 'carried', 'nic_busy'})
            self.assertAlmostEqual(mine['responder'] + mine['both_ways'], mine['rtt'], delta=1e-6 * mine['rtt'] + 1e-3)

    def test_goodputs(self):
        config = sections('F8.ini')
        paths = {s: of for s, of in config.items() if of['probe'] == 'path'}
        for s, of in config.items():
            self.assertIn('emulated' if s in paths else 'copied', of['title'], s)
            self.assertEqual(of['absent'], 'skip')
        self.assertEqual({of['values'] for of in paths.values()}, {'8..512*4, 2K..128K*2, 1M'})
        self.assertEqual({of.get('submitter', 'gpu') for of in paths.values()}, {'gpu', 'host-doorbell', 'proxy'})
        self.assertEqual({of.get('proxy', 'tuned') for of in paths.values()}, {'tuned', 'baseline'})
        rows, _ = self.ran('F8.ini', 'messages=48', 'warmup=2')
        self.check_rows(rows, {s: {'issuer': 'cpu' if s.startswith('cpu') else 'gpu'} for s in config})
        for s in ('cpu', 'cpu-proxy'):
            mine = [r for r in rows[s] if r['metric'] == 'goodput']
            self.assertEqual({int(r['value']) for r in mine}, {8, 32, 128, 512, 1 << 20} | {2048 << k for k in range(7)})
            self.assertEqual({(r['unit'], r['origin']) for r in mine}, {('GB/s', 'emulated')})
        r = subprocess.run([sys.executable, os.path.join(ROOT, 'scripts', 'goodput.py'), self.out, '--ceiling', 'cpu-link'],
                           capture_output=True, text=True, check=False)
        self.assertEqual((r.returncode, r.stderr), (0, ''))
        self.assertEqual([x.split(':')[0] for x in r.stdout.splitlines()], ['cpu', 'cpu-proxy'])
        self.assertEqual(r.stdout.count(', the highest of cpu-link'), 2)

    def test_workers(self):
        config = sections('F7.ini')
        workers, batches = {str(n) for n in range(1, 9)}, {'1', '4', '16'}
        for s, of in config.items():
            self.assertEqual([of[k] for k in ('probe', 'submitter', 'size', 'absent')], ['rate', 'proxy', '8', 'skip'], s)
            self.assertTrue('emulated' in of['title'] or of['nic'] == 'null', s)
        gpu = {s: of for s, of in config.items() if of['issuer'] == 'gpu'}
        by_workers = [of for of in gpu.values() if of['vary'] == 'workers']
        self.assertEqual({of['values'] for of in by_workers}, {'1..8+1'})
        self.assertEqual({of['proxy_batch'] for of in by_workers if of['nic'] == 'soft'}, batches)
        self.assertTrue({of['nic'] for of in by_workers} >= {'soft', 'peer', 'null'})
        self.assertEqual([values(of) for of in gpu.values() if of['vary'] == 'proxy_batch'], [batches])
        self.assertTrue(any(of['vary'] == 'rings' and of['proxy'] == 'baseline' and '32' in values(of) for of in gpu.values()))
        self.assertEqual({frozenset(values(of)) for of in gpu.values() if of['vary'] == 'proxy'}, {frozenset(self.legal('proxy'))})
        rows, plan = self.ran('F7.ini')
        self.assertEqual({s: workers if of['values'] == '1..8+1' else values(of) for s, of in config.items()}, plan)
        self.assertNotEqual(workers - {'8'}, plan['workers-16'])    # control
        self.check_rows(rows, config)
        for s in ('cpu-batch', 'cpu-workers', 'cpu-rings'):
            for metric in ('rate', 'rate_queue', 'helper_cpu', 'helper_cores', 'helper_switches', 'helper_preempted', 'helper_rings',
                           'helper_batch', 'helper_busy'):
                self.assertEqual({r['value'] for r in rows[s] if r['metric'] == metric and r['mean']}, values(config[s]), (s, metric))
        for r in rows['cpu-batch']:
            if r['metric'] == 'helper_batch':
                self.assertTrue(1 <= float(r['mean']) <= int(r['value']) + 1e-6, r)

    def test_state_of_a_worker(self):
        config = sections('T10.ini')
        for s, of in config.items():
            self.assertEqual([of['submitter'], of['vary'], of['absent'], of['size']], ['proxy', 'proxy_batch', 'skip', '8'], s)
            self.assertEqual(values(of), {'1', '16'}, s)
            self.assertIn('emulated', of['title'], s)
        for probe, issuer in (('path', 'gpu'), ('path', 'cpu'), ('rate', 'gpu')):    # the states that the table has
            self.assertEqual({of.get('cpu_state', 'as-is') for of in config.values() if (of['probe'], of['issuer']) == (probe, issuer)} - {'as-is'},
                             self.legal('cpu_state') - {'as-is'})
        rows, plan = self.ran('T10.ini', 'messages=2000', 'warmup=100', 'cpu_state_ms=20')
        self.assertEqual({s: values(of) for s, of in config.items()}, plan)
        self.check_rows(rows, config)
        for s in ('cpu-cold', 'cpu-warm'):
            for metric in ('rate', 'helper_rings', 'cpu_mhz_before'):
                self.assertEqual({r['value'] for r in rows[s] if r['metric'] == metric}, {'1', '16'}, (s, metric))

    def test_whose_queue(self):
        config = sections('T11.ini')
        places = {}
        for s, of in config.items():
            self.assertEqual(s.split('-')[0] == 'proxy' or s.startswith('cpu-proxy'), of.get('submitter') == 'proxy', s)
            self.assertEqual(of.get('proxy') == 'baseline', of.get('submitter') == 'proxy', s)      # in both arms
            self.assertEqual([of['probe'], of['vary'], of['absent'], of['nic_workers']], ['contended', 'others_queue', 'skip', '1'], s)
            self.assertEqual(values(of), self.legal('others_queue'), s)
            self.assertIn('emulated', of['title'], s)
            self.assertTrue(int(of['others_pace']), s)       # else they don't carry the same
            where = of['issuer'], of['nic'], of.get('nic_gpu', 'auto'), of.get('others_gpu', 'auto')
            places.setdefault(where, set()).add(of['others_pace'])
        self.assertEqual(places.keys(), {('gpu', 'peer', 'gpu', 'auto'), ('gpu', 'peer', '1', 'auto'), ('gpu', 'soft', 'auto', 'auto'),
                                         ('cpu', 'soft', 'auto', 'auto'), ('gpu', 'peer', 'gpu', '1')})
        self.assertEqual({len(v) for k, v in places.items() if k[0] == 'gpu' and k[3] == 'auto'}, {2})
        # the paper's are round trips
        self.assertEqual({(of['issuer'], of['nic'], of['others_pace']) for of in config.values() if of.get('trip') == 'round'},
                         {(of['issuer'], of['nic'], of['others_pace']) for of in config.values()})
        # and both by the GPU and by a proxy
        for trip in (None, 'round'):
            self.assertEqual({(of['issuer'], of['others_pace']) for of in config.values() if of.get('submitter') and of.get('trip') == trip},
                             {(of['issuer'], of['others_pace']) for of in config.values()})
        for s, of in config.items():                    # an order that is promised to that NIC
            self.assertEqual(of.get('ordering') == 'sys-fence-record', of['issuer'] == 'gpu' and not of.get('submitter') and
                             (of.get('nic_gpu') != 'gpu' or 'others_gpu' in of), s)
        rows, plan = self.ran('T11.ini', 'messages=200', 'warmup=16')
        self.assertEqual({s: values(of) for s, of in config.items()}, plan)
        self.check_rows(rows, config)
        for s, metric in (('cpu', 'latency'), ('cpu', 'carried'), ('cpu-trip', 'rtt'), ('cpu-trip', 'carried'), ('cpu-proxy', 'latency'),
                          ('cpu-proxy', 'helper_busy'), ('cpu-proxy-trip', 'rtt'), ('cpu-proxy-trip', 'helper_cpu')):
            self.assertEqual({r['value'] for r in rows[s] if r['metric'] == metric and r['mean']}, self.legal('others_queue'))

    def test_starts(self):
        config = sections('launch.ini')
        self.assertEqual(set().union(*(values(of) for of in config.values() if of['vary'] == 'start')), self.legal('start'))
        rows, _ = self.ran('launch.ini')
        self.check_rows(rows, config)
        metrics = {r['metric'] for r in rows['cpu']}
        self.assertTrue(metrics >= {'to_first', 'to_rung', 'call', 'clock_error'}, metrics)


if __name__ == '__main__':
    assert PROGRAM
    main()

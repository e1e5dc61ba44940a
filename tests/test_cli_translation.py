# SPDX-License-Identifier: Apache-2.0
"""The probes `tlb` and `register` of the real program: a config of both in small runs on any
machine, its rows hold together, and what can't be is refused before anything runs."""
import configparser
import fcntl
import json
import os
import socket
import subprocess
import sys

from cli import BOUND, PROGRAM, SKIPPED, USAGE, Case, main

CONFIGS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'configs')
ARMS = {'one': 1, 'four': 4, 'packed': 64}     # lines in a page of 4 KiB
CROSSOVER = os.path.join(os.path.dirname(CONFIGS), 'scripts', 'crossover.py')
KNEES = {'reach', 'reach_pages', 'miss', 'other_knee'}


def wrong_ladder(rows):
    """What isn't as the probe promises, [] when all is; and the rungs by arm and lines."""
    out, seen = [], {a: {} for a in ARMS}
    for r in rows:
        if r['metric'] == 'latency':
            arm, lines, pages = r['interval'].split('-')
            seen[arm][int(lines)] = r
            if int(pages) != -(-int(lines) // ARMS[arm]):
                out.append(f'{r["interval"]}: as many lines are in other pages')
            if not 0 < float(r['min']) <= float(r['p50']) <= float(r['max']) or int(r['n']) != 16:
                out.append(f'{r["interval"]}: no sixteen times')
        elif r['metric'] not in KNEES:
            out.append(f'{r["metric"]}: not known')
        elif r['mean'] and not float(r['ci_lo']) <= float(r['mean']) <= float(r['ci_hi']):
            out.append(f'{r["interval"]} {r["metric"]}: outside its interval')
        if r['stage'] != 'translation' or r['status'] != 'ok' or r['link'] != 'host':
            out.append(f'{r["interval"]}: {r["stage"]} {r["status"]} {r["link"]}')
    for arm in ('one', 'four'):
        out += [f'{arm}-{n}: no packed lines to compare with' for n in seen[arm] if n not in seen['packed']]
    reach = [r for r in rows if r['metric'] == 'reach']
    if not reach or (len(reach) > 1 and not all(r['mean'] for r in reach)):
        out.append('neither a reach nor "none found"')
    if any(not r['mean'] and not r['reason'].startswith('none found') for r in reach):
        out.append('no reach, and no reason')
    return out, seen


class Translation(Case):
    def test_a_ladder(self):
        self.run_out('probe=tlb', 'issuer=cpu', 'set=8M', 'host_page=4k')
        rows = self.summary()
        wrong, seen = wrong_ladder(rows)
        self.assertEqual(wrong, [])
        self.assertEqual(max(seen['one']), 8 << 20 >> 12)
        self.assertEqual(max(seen['packed']), 8 << 20 >> 6)
        self.assertEqual(min(seen['packed']), 4)
        # the controls
        self.assertTrue(wrong_ladder([r for r in rows if r['interval'] != 'packed-64-1'])[0])
        self.assertTrue(wrong_ladder([r for r in rows if r['metric'] == 'latency'])[0])
        self.assertTrue(wrong_ladder([{**r, 'interval': r['interval'].replace('one-64-64', 'one-64-1')} for r in rows])[0])

    def test_registering(self):
        self.run_out('probe=register', 'mechanism=populate,mlock', 'bytes=4K,64K', '--cross')
        rows = self.summary()
        for p in {r['point'] for r in rows}:
            mine = {r['metric']: r for r in rows if r['point'] == p}
            self.assertEqual(set(mine), {'register', 'deregister', 'register_first', 'deregister_first'})
            for m, r in mine.items():
                self.assertEqual((r['status'], r['unit'], r['interval'], r['stage']), ('ok', 'ns', '-', 'translation'))
                self.assertGreater(float(r['mean']), 0)
                self.assertEqual(int(r['n']) == 1, m.endswith('_first'))
        by = {(r['value'], r['metric']): float(r['p50']) for r in rows}
        few, many = (next(v for v in {r['value'] for r in rows} if 'populate' in v and v.endswith(e)) for e in ('4096', '65536'))
        self.assertGreater(by[(many, 'register')], by[(few, 'register')])     # 16 times the pages

    def test_the_quick_config(self):
        ini = os.path.join(CONFIGS, 'translation-quick.ini')
        with open(ini, encoding='utf-8') as f:
            text = f.read()
        small = text.replace('set = 128M', 'set = 64M').replace('2M, 16M, 128M', '2M').replace('4K, 32K, 256K, 2M', '4K, 2M')
        self.assertNotEqual(small, text)
        self.run_out(self.path('small.ini', small))
        rows = self.summary()
        self.assertEqual({r['status'] for r in rows} - {'ok', 'skipped', 'flagged'}, set())
        for r in rows:
            self.assertTrue(r['status'] == 'ok' or r['reason'], r)
        ran = {r['experiment'] for r in rows if r['status'] == 'ok'}
        self.assertLessEqual({'tlb-host', 'register-populate-4k', 'register-mlock-4k', 'regions-cpu', 'cache-turn-cpu',
                              'cache-random-cpu', 'staged-4k', 'on-demand-mlock-4k'}, ran)
        said = {r['experiment']: r['reason'] for r in rows if r['status'] == 'skipped'}
        self.assertIn('not written yet', said['register-reg-mr'])
        self.assertIn('needs a GPU', said['register-cuda-ipc'])
        self.hits_as_predicted(rows)
        self.arms_can_be_compared(rows)

    def talk(self, *messages):
        """What a serving process replies to each message, over its descriptors 3 and 4, which are sockets."""
        to, served_to = socket.socketpair()
        up, served_up = socket.socketpair()
        ends = [fcntl.fcntl(s.fileno(), fcntl.F_DUPFD, 10) for s in (served_to, served_up)]

        def place():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)
        with to, up, subprocess.Popen([PROGRAM, 'serve'], pass_fds=(3, 4), preexec_fn=place, stdin=subprocess.DEVNULL) as p:
            for s in ends:
                os.close(s)
            served_to.close()
            served_up.close()
            up.settimeout(BOUND)
            said, replies = [], up.makefile()
            for m in messages:
                to.sendall((json.dumps(m) + '\n').encode())
                said.append(json.loads(replies.readline()))
            to.close()
            self.assertEqual(p.wait(timeout=BOUND), 0)
        return said

    def test_memory_is_lent_or_refused_in_words(self):
        lent, none, other = self.talk({'op': 'lend', 'device': 0, 'bytes': 4096}, {'op': 'lend', 'device': 0},
                                      {'op': 'borrow', 'device': 0, 'bytes': 4096})
        if 'handle' in lent:
            self.assertRegex(lent['handle'], '^[0-9a-f]{128}$')
        else:
            self.assertLess(lent['done'], 0)
            self.assertRegex(lent['reason'], 'CUDA|GPU')
        self.assertIn('no bytes', none['reason'])
        self.assertIn('no such operation', other['reason'])

    def hits_as_predicted(self, rows):
        """In turn all of 64 regions hit, or none; in a random order some share between."""
        hits = {(r['experiment'], r['value']): float(r['mean']) / float(r['n']) for r in rows if r['metric'] == 'xlat_hits'}
        self.assertEqual([hits[('cache-turn-cpu', n)] for n in ('32', '64')], [0, 1])
        self.assertEqual(hits[('cache-random-cpu', '64')], 1)
        self.assertLess(abs(hits[('cache-random-cpu', '16')] - 0.25), 0.12)
        self.assertNotIn(('cache-turn-cpu', '0'), hits)

    def arms_can_be_compared(self, rows):
        """Each size has what it cost in both arms; and the script says something of them, whatever this machine gave."""
        cost = {(r['experiment'], r['value']) for r in rows if r['metric'] == 'registration_cost' and r['status'] == 'ok'}
        for arm in ('staged-4k', 'on-demand-mlock-4k'):
            self.assertEqual(len([1 for e, _ in cost if e == arm]), 3)
        r = subprocess.run([sys.executable, CROSSOVER, self.out], capture_output=True, text=True, check=False)
        self.assertEqual((r.returncode, r.stderr), (0, ''))
        self.assertRegex(r.stdout, r'mechanism=mlock [^:]*issuer=cpu [^:]*host_page=4k[^:]*: .*(crossover|undecided).* 4 KiB to 1 MiB \(3 sizes\)')

    def test_what_a_gpu_asks_a_proxy_for(self):
        """The sections of a GPU that can run with a thread in its place: two arms that can be compared. Three threads
        may have to take turns on two CPUs, so messages are few."""
        with open(os.path.join(CONFIGS, 'translation-quick.ini'), encoding='utf-8') as f:
            parts = f.read().split('\n[')
        mine = [x for x in parts if x.startswith(('gpu-staged-proxy-4k', 'gpu-on-demand-mlock-4k'))]
        self.assertEqual(len(mine), 2)
        text = '[global]\nabsent = skip\n\n' + ''.join('[' + x.split('\n#')[0] + '\n' for x in mine).replace('issuer = gpu', 'issuer = cpu')
        text = text.replace('messages = 128', 'messages = 32\nwarmup = 8')
        self.run_out(self.path('proxy.ini', text))
        rows = self.summary()
        self.assertEqual({r['status'] for r in rows} - {'ok', 'skipped', 'flagged'}, set())
        for metric in ('registration_cost', 'total_with_registration'):
            have = {(r['experiment'], r['value']) for r in rows if r['metric'] == metric}
            for arm in ('gpu-staged-proxy-4k', 'gpu-on-demand-mlock-4k'):
                self.assertEqual(len([1 for e, _ in have if e == arm]), 3)
        r = subprocess.run([sys.executable, CROSSOVER, self.out, '--metric', 'total_with_registration'], capture_output=True, text=True, check=False)
        self.assertEqual((r.returncode, r.stderr), (0, ''))
        self.assertRegex(r.stdout, r'mechanism=mlock staged_from=host [^:]*host_page=4k[^:]*: .* 4 KiB to 1 MiB \(3 sizes\)')

    def test_the_full_config_is_legal(self):
        for name in ('translation.ini', 'staging.ini', 'crossover.ini'):
            r = self.run_it('run', os.path.join(CONFIGS, name), '--dry-run')
            self.assertIn('points', r.stdout, name)

    def test_what_was_registered_is_said_to_be_seen(self):
        self.run_out('probe=register', 'mechanism=mlock,populate', 'bytes=1M')
        self.assertEqual([rep['verified'] for p in self.run_json()['points'].values() for rep in p.values()], ['yes', 'yes'])

    def test_crossover_has_the_arms_of_translation(self):
        def sections(name):
            ini = configparser.ConfigParser()
            ini.read(os.path.join(CONFIGS, name))
            return {s: {k: v for k, v in ini[s].items() if k != 'values'} for s in ini.sections() if s != 'global'}
        few, all_of_them = sections('crossover.ini'), sections('translation.ini')
        self.assertEqual(few, {s: v for s, v in all_of_them.items() if v.get('registration') in ('staged', 'on-demand')})
        self.assertEqual(len(few), 6)

    def refused(self, words, *args):
        r = self.run_it('run', *args, '-o', self.out, code=USAGE)
        self.assertIn(words, r.stderr)
        self.assertFalse(os.path.exists(self.out))

    def test_refusals(self):
        tlb, reg = ('probe=tlb', 'issuer=cpu'), ('probe=register',)
        self.refused("mem=gpu with issuer=cpu: a CPU can't reach GPU memory; legal: auto, host", *tlb, 'mem=gpu')
        self.refused('a ladder needs 16; legal: set=', *tlb, 'set=1M', 'host_page=2m')
        self.refused('MiB of host memory are free', *tlb, 'set=4000G')
        self.refused('MiB are free', *reg, 'bytes=4000G')
        self.refused('legal: host_page=auto, or mem=host', 'probe=tlb', 'issuer=gpu', 'host_page=4k')
        self.refused('memory comes in pages of 2048 KiB; legal: multiples of 2048K', *reg, 'bytes=4K', 'host_page=2m')
        self.refused('makes its own pages; legal: host_page=auto', *reg, 'mechanism=cuda-malloc', 'host_page=4k')
        self.refused('mechanism=odp: not written yet', *reg, 'mechanism=odp')
        path = ('issuer=cpu', 'nic=soft')
        self.refused('legal: 0, or a power of two up to 256', *path, 'xlat_cache=3')
        self.refused('nobody translates; legal: xlat_cache=0', 'issuer=cpu', 'nic=null', 'xlat_cache=4')
        self.refused('a payload has to lie on one; legal: size=1..4096, or a larger page', *path, 'xlat_cache=4', 'size=8K')
        self.refused('legal: signal=1, or xlat_cache=0', *path, 'xlat_cache=4', 'metric=rate', 'marks=outer', 'signal=4', 'depth=8')
        self.refused('legal: payload=pointer, or xlat_cache=0', *path, 'xlat_cache=4', 'size=64', 'payload=inline')
        self.refused('legal: mr_count=2.., or mr_order=turn', *path, 'mr_order=random')
        self.refused('legal: depth=1..256', *path, 'mr_count=4', 'depth=512')
        self.refused('it has no key; legal: op=write or read', *path, 'mr_count=4', 'op=nop')
        self.refused('legal: check=each, none or auto', *path, 'mr_count=4', 'check=end')
        self.refused('legal: at most 64 MiB, by a larger page or fewer regions', *path, 'mr_count=256', 'size=1M', 'depth=256')
        self.refused('legal: mr_count=1..64', *path, 'mr_count=256', 'size=1M')
        self.refused('nobody reads what is copied; legal: nic=soft, peer', 'issuer=cpu', 'nic=null', 'registration=staged')
        self.refused('legal: doorbell=record-ring and cq=ring', 'issuer=gpu', 'registration=staged', 'doorbell=ring')
        self.refused('legal: staged_from=auto', *path, 'staged_from=host')
        self.refused('legal: submitter=proxy, or issuer=cpu', 'issuer=gpu', 'registration=on-demand', 'mechanism=mlock')
        self.refused('legal: mechanism=mlock, host-register', *path, 'registration=on-demand')
        self.refused('legal: op=write with size=1.. and payload=pointer or auto', *path, 'registration=staged', 'op=read')
        self.refused('legal: op=write with size=1.. and payload=pointer or auto', *path, 'registration=staged', 'payload=inline')
        self.refused('legal with metric=latency and depth=1', *path, 'registration=staged', 'depth=4')
        self.refused('legal: host_page=auto', *path, 'host_page=2m')

    def test_absent_is_skipped(self):
        ini = self.path('a.ini', '[a]\nprobe = register\nmechanism = peermem\nabsent = skip\n')
        self.run_out(ini, code=SKIPPED)


if __name__ == '__main__':
    main()

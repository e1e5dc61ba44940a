# SPDX-License-Identifier: Apache-2.0
"""Values of papers stand beside a run's as series of their own, where axis and settings fit:
their numbers are read back from the SVG, and the run's own are the same with them and
without. What doesn't fit is refused. The shipped file is whole: each value has a source, a platform, a
unit and a number, and what it is set beside is a variable of the suite and a legal value.
"""
import csv
import os
import re

from plots import ROOT, Case, main
import plots
from plotlib import published      # pylint: disable=wrong-import-order

PAPER = os.path.join(ROOT, 'results', 'published', 'baydamirli-2026.csv')
ORDERINGS = ('none', 'gpu-fence', 'gpu-fence-record', 'gpu-release', 'threadfence', 'sys-fence', 'sys-fence-record',
             'sys-release')


def paper():
    with open(PAPER, encoding='utf-8', newline='') as f:
        return list(csv.DictReader(f))


def of_table(where, stage, scale=1e3, axis='ordering'):
    return {r['at']: float(r['number']) * scale for r in paper()
            if r['where'] == where and r['stage'] == stage and r['axis'] == axis}


class Run(plots.Run):
    VARIABLES = {**plots.Run.VARIABLES, 'submitter': 'gpu', 'op': 'write', 'payload': 'auto', 'doorbell': 'record-ring',
                 'depth': '1'}


class RateRun(Run):
    VARIABLES = {**Run.VARIABLES, 'sharing': 'exclusive', 'threads': 'auto', 'blocks': 'auto', 'queues': 'auto'}


def rate_rows(point, _rep):
    return [('total', '-', 'measured', 2.0 + point)]


class Published(Case):
    def orderings(self, **base):
        Run(self.dir).experiment('e', 'ordering', ORDERINGS, base={'issuer': 'gpu', **base}).write()

    def beside(self, *args):
        return self.plot('--published', PAPER, '--format', 'svg', *args)

    def published_ids(self, svg):
        return [i for i in svg.ids if i.startswith('published')]

    def test_orderings(self):
        self.orderings()
        self.assertEqual(self.beside(), ['e.stack.published.svg', 'e.sweep.published.svg'])
        sweep, stack = self.svg('e.sweep.published'), self.svg('e.stack.published')
        self.assertEqual(sorted(self.published_ids(sweep)), ['published.submit.0', 'published.total.1'])
        for k, stage in enumerate(('submit', 'total')):
            want = of_table('Table 4', stage)
            self.assertEqual(len(want), 7)     # the eighth ordering is not the paper's
            self.close(sweep.markers(f'published.{stage}.{k}'), want)
            self.close(stack.bars(f'published.{stage}.{k}'), want)
            self.assertTrue(stack.hatched(f'published.{stage}.{k}'))
            self.assertIn('stroke-dasharray', stack.style(f'published.{stage}.{k}'))
        for svg in (sweep, stack):
            legend = ' '.join(' '.join(svg.texts_of('legend')).split())
            for words in ('published, not measured here: total, p50 of mini-gda', 'Table 4 of arXiv:2610.01380',
                          'H200 + ConnectX-7 200 Gb/s IB'):
                self.assertIn(words, legend)
            self.assertIn("Published values (p50) are the papers' own", ' '.join(svg.texts_of('note')))

    def test_own_series_stay(self):
        self.orderings()
        self.plot('--format', 'svg')
        self.beside()
        for kind, read in (('sweep', 'markers'), ('stack', 'bars')):
            plain, both = self.svg(f'e.{kind}'), self.svg(f'e.{kind}.published')
            self.assertEqual(self.published_ids(plain), [])     # only when asked
            self.assertNotIn('published', ' '.join(plain.texts))
            own = [i for i in plain.ids if i.startswith(('points.', 'part.'))]
            self.assertGreater(len(own), 5)
            for i in own:
                self.close(getattr(both, read)(i), getattr(plain, read)(i))
            # control: theirs are others
            self.assertNotIn(of_table('Table 4', 'total')['none'], [round(v) for i in own for v in getattr(both, read)(i).values()])

    def test_numbers_on_an_axis(self):
        Run(self.dir).experiment('r', 'batch', ('1', '4', '16'), rows=rate_rows, metric=('rate', 'Mmsg/s'),
                                 base={'metric': 'rate', 'issuer': 'gpu', 'nic': 'null'}).write()
        self.assertEqual(self.beside(), ['r.sweep.published.svg'])
        svg = self.svg('r.sweep.published')
        want = {k: v for k, v in of_table('Table 5', '-', 1, 'batch').items() if k != '32'}   # that is a warp's
        self.assertEqual(want, {'1': 1.79, '16': 4.7})
        self.close(svg.markers('published.total.0'), want)
        self.close(svg.line('published-line.total.0'), want)
        self.close(svg.line('line.total'), {'1': 2, '4': 3, '16': 4})
        self.assertIn('no back-pressure', ' '.join(svg.texts_of('note')))

    def test_sharing(self):
        RateRun(self.dir).experiment('s', 'sharing', ('warp', 'block', 'gpu', 'lock'), rows=rate_rows, probe='rate',
                                     metric=('rate', 'Mmsg/s'),
                                     base={'issuer': 'gpu', 'threads': '256', 'queues': '1', 'batch': '32'}).write()
        self.beside()
        self.close(self.svg('s.sweep.published').markers('published.total.0'), {'warp': 30.7, 'gpu': 2.6})

    def test_blocks(self):
        RateRun(self.dir).experiment('b', 'blocks', ('1', '16', '64'), rows=rate_rows, probe='rate',
                                     metric=('rate', 'Mmsg/s'), base={'issuer': 'gpu', 'batch': '16'}).write()
        self.beside()
        self.close(self.svg('b.sweep.published').markers('published.total.0'), {'16': 74.4, '64': 260})
        RateRun(self.dir).experiment('b', 'blocks', ('1', '16', '64'), rows=rate_rows, probe='rate',
                                     metric=('rate', 'Mmsg/s'), base={'issuer': 'gpu', 'batch': '32'}).write()
        self.refuses('batch')

    def test_workers(self):
        base = {'issuer': 'gpu', 'submitter': 'proxy', 'workers': '1'}
        def run(**more):
            RateRun(self.dir).experiment('w', 'proxy_batch', ('1', '4', '16'), rows=rate_rows, probe='rate', metric=('rate', 'Mmsg/s'),
                                         base={**base, **more}).write()
        RateRun.VARIABLES.update(proxy_batch='1', workers='1')
        self.addCleanup(lambda: [RateRun.VARIABLES.pop(k) for k in ('proxy_batch', 'workers')])
        run()
        self.assertEqual(self.beside(), ['w.sweep.published.svg'])
        svg = self.svg('w.sweep.published')
        for k, clock in enumerate(('cold', 'warm')):
            want = {r['at']: float(r['number']) for r in paper() if r['where'] == 'Table 10' and r['metric'] == f'rate {clock}'}
            self.assertEqual(set(want), {'1', '16'})
            self.close(svg.markers(f'published.total.{k}'), want)
        run(workers='2')
        self.refuses('workers')

    def test_state_of_a_worker(self):
        RateRun.VARIABLES.update(proxy_batch='1', workers='1', cpu_state='as-is')
        self.addCleanup(lambda: [RateRun.VARIABLES.pop(k) for k in ('proxy_batch', 'workers', 'cpu_state')])
        for state, clocks in (('as-is', ['cold', 'warm']), ('cold', ['cold']), ('warm', ['warm'])):
            RateRun(self.dir).experiment('w', 'proxy_batch', ('1', '16'), rows=rate_rows, metric=('rate', 'Mmsg/s'),
                                         base={'issuer': 'gpu', 'submitter': 'proxy', 'metric': 'rate', 'cpu_state': state}).write()
            self.assertEqual(self.beside(), ['w.sweep.published.svg'])
            svg = self.svg('w.sweep.published')
            self.assertEqual([i for i in self.published_ids(svg) if 'line' not in i],
                             [f'published.total.{k}' for k in range(len(clocks))], state)
            for k, clock in enumerate(clocks):
                self.close(svg.markers(f'published.total.{k}'), {r['at']: float(r['number']) for r in paper()
                                                                 if r['where'] == 'Table 10' and r['metric'] == f'rate {clock}'})

    def test_whose_queue(self):
        """Round trips beside round trips, and beside nothing else."""
        Run.VARIABLES.update(others_queue='private', trip='one-way')
        self.addCleanup(lambda: [Run.VARIABLES.pop(k) for k in ('others_queue', 'trip')])
        Run(self.dir).experiment('q', 'others_queue', ('private', 'shared'), probe='contended', base={'issuer': 'gpu', 'trip': 'round'}).write()
        self.beside()
        svg = self.svg('q.sweep.published')
        self.close(svg.markers('published.total.0'), {'private': 13.9, 'shared': 27.3})     # us
        self.assertNotIn(13.9, [round(v, 1) for i in svg.ids if i.startswith('points.') for v in svg.markers(i).values()])
        self.assertIn('rtt p50 of GDAKI; Table 11', ' '.join(' '.join(svg.texts_of('legend')).split()))
        Run(self.dir).experiment('q', 'others_queue', ('private', 'shared'), probe='contended',
                                 base={'issuer': 'gpu', 'trip': 'round', 'submitter': 'proxy'}).write()
        self.beside()
        svg = self.svg('q.sweep.published')
        self.close(svg.markers('published.total.0'), {'private': 115, 'shared': 2190})      # us
        self.assertEqual([i for i in self.published_ids(svg) if 'line' not in i], ['published.total.0'])
        Run(self.dir).experiment('q', 'others_queue', ('private', 'shared'), probe='contended', base={'issuer': 'cpu', 'trip': 'round'}).write()
        self.refuses('issuer')
        Run(self.dir).experiment('q', 'others_queue', ('private', 'shared'), probe='contended', base={'issuer': 'gpu'}).write()
        self.refuses('trip=round', 'trip=one-way')

    def test_single_point(self):
        Run(self.dir).experiment('u', base={'issuer': 'gpu', 'ordering': 'none'}).write()
        self.assertEqual(self.beside(), ['u.stack.published.svg'])
        bars = self.svg('u.stack.published').bars('published.total.1')
        self.close({'u': next(iter(bars.values()))}, {'u': 3460})

    # ---- what doesn't fit ----
    def refuses(self, *words, args=()):
        said = self.refused('nothing published stands beside it', *words, args=('--published', PAPER, *args))
        return said

    def test_other_settings(self):
        self.orderings(issuer='cpu')
        self.refuses('they are of issuer=gpu, and this is issuer=cpu')
        self.assertFalse(os.path.exists(self.out))
        self.orderings(size='64')
        self.refuses('size=8', 'size=64')
        self.orderings(batch='1')   # control
        self.assertTrue(self.beside())

    def test_other_axis(self):
        Run(self.dir).experiment('e', 'size', ('8', '64'), base={'issuer': 'gpu'}).write()
        self.refuses('it varies size', 'has values by payload, ordering, batch, sharing, blocks, threads')

    def test_other_values(self):
        Run(self.dir).experiment('e', 'batch', ('2', '4'), rows=rate_rows, metric=('rate', 'Mmsg/s'),
                                 base={'metric': 'rate', 'issuer': 'gpu'}).write()
        self.refuses('by batch at 1, 16', 'none of which is here')

    def test_other_unit(self):
        Run(self.dir).experiment('e', 'ordering', ORDERINGS[:3], metric=('polls', 'count'), base={'issuer': 'gpu'}).write()
        self.refuses('none in a unit of polls [count]')

    def test_other_kind(self):
        self.orderings()
        self.refused('--published', 'stack, size, sweep', args=('--published', PAPER, '--kind', 'dist'))

    def test_among_others(self):
        """Where several are drawn, those that nothing fits are named."""
        Run(self.dir).experiment('e', 'ordering', ORDERINGS, base={'issuer': 'gpu'}) \
            .experiment('c', 'ordering', ORDERINGS).write()
        r = self.run_plot('--published', PAPER, '--format', 'svg')
        self.assertEqual((r.returncode, r.stderr), (0, ''))
        self.assertIn('not drawn: c: nothing published stands beside it', r.stdout)
        self.refuses('issuer=cpu', args=('--experiment', 'c'))

    def test_files(self):
        self.orderings()
        with open(PAPER, encoding='utf-8') as f:
            text = f.read()
        line = text.splitlines()[1]
        for spoiled, words in (
                (text.replace('source,where', 'where,source', 1), '"source" belongs'),
                (text[:-1], 'half-written'),
                (text.splitlines()[0] + '\n', 'no value in it'),
                (text.replace(line, line.replace('arXiv:2610.01380', ''), 1), 'source is empty'),
                (text.replace(line, line.replace('H200 + ConnectX-7 200 Gb/s IB', ' '), 1), 'platform is empty'),
                (text.replace(line, line.replace(',0.70,', ',nan,'), 1), 'number is "nan"'),
                (text.replace(line, line.replace(',payload,inline,', ',payload,,'), 1), 'axis and at'),
                (text.replace(line, line.replace('size=8', 'size'), 1), 'no NAME=VALUE'),
                (text + next(x for x in text.splitlines() if ',Table 4,' in x) + '\n', 'a second value of mini-gda at none')):
            path = os.path.join(self.tmp, 'p.csv')
            with open(path, 'w', encoding='utf-8') as f:
                f.write(spoiled)
            self.refused('p.csv', words, args=('--published', path))
        self.refused('gone.csv', args=('--published', os.path.join(self.tmp, 'gone.csv')))


def legal_values():
    """{variable: (words, whether numbers too)}, of stages/vars.c as it is written; no words where a list macro has them."""
    with open(os.path.join(ROOT, 'stages', 'vars.c'), encoding='utf-8') as f:
        text = f.read()
    out = {}
    for row in re.split(r'\{ (?=\.name = ")', text)[1:]:
        words = re.search(r'\.words = "([^"]*)"', row)
        out[re.match(r'\.name = "(\w+)"', row)[1]] = (set(words[1].split('|')) if words else set(), ' NUMBERS(' in row)
    return out


def wrong(rows, variables):
    """What is wrong with the values of a paper."""
    out, seen = [], set()
    for i, r in enumerate(rows):
        for name in ('source', 'where', 'platform', 'path', 'metric', 'stage', 'unit', 'number', 'series'):
            if not (r[name] or '').strip():
                out.append(f'{i}: no {name}')
        try:
            if not 0 < float(r['number']) < 1e6:
                out.append(f'{i}: number {r["number"]}')
        except ValueError:
            out.append(f'{i}: number {r["number"]}')
        if not re.fullmatch(r'arXiv:\d{4}\.\d{5}', r['source']):
            out.append(f'{i}: source {r["source"]}')
        if r['unit'] not in ('us', 'ns', 'Mmsg/s', 'cycles'):
            out.append(f'{i}: unit {r["unit"]}')
        key = tuple(r[k] for k in ('where', 'path', 'variable', 'value', 'metric', 'stage'))
        if key in seen:
            out.append(f'{i}: twice')
        seen.add(key)
        beside = [w.partition('=') for w in r['holds'].split()]
        beside += [(r['axis'], '=', r['at'])] if r['axis'] else []
        for name, _, values in beside:
            if name != 'probe' and name not in variables:
                out.append(f'{i}: no variable {name}')
            elif name != 'probe' and variables[name][0]:
                words, numbers = variables[name]
                if not all(v in words or numbers and v.isdigit() for v in values.split('|')):
                    out.append(f'{i}: {name}={values}')
    return out


class Shipped(Case):
    def test_values(self):
        rows, variables = paper(), legal_values()
        self.assertGreater(len(variables), 20)
        self.assertEqual(wrong(rows, variables), [])
        self.assertGreater(len(rows), 60)
        with open(os.path.join(os.path.dirname(PAPER), 'README.md'), encoding='utf-8') as f:
            readme = f.read()
        for source in {r['source'] for r in rows}:
            self.assertIn(source, readme)
        for column in rows[0]:
            self.assertIn(f'`{column}`', readme)

    def test_defaults_of_later_variables(self):
        with open(os.path.join(ROOT, 'stages', 'vars.c'), encoding='utf-8') as f:
            defaults = dict(re.findall(r'\.name = "(\w+)",.*?\.def = "([^"]*)"', f.read(), re.S))
        for name, value in published.SINCE.items():
            self.assertEqual(defaults[name], value)

    def test_orderings_are_the_suites(self):
        with open(os.path.join(ROOT, 'stages', 'queue', 'queue.h'), encoding='utf-8') as f:
            words = re.findall(r'^\tX\(\w+, "([\w-]+)"', f.read().split('FS_ORDERINGS(X)')[1].split('#define')[0], re.M)
        self.assertEqual(tuple(words), ORDERINGS)
        self.assertEqual({r['at'] for r in paper() if r['axis'] == 'ordering'}, set(words) - {'sys-fence-record'})

    def test_what_is_wrong_is_found(self):
        variables = legal_values()
        for change in ({'source': ''}, {'platform': ' '}, {'unit': ''}, {'number': 'x'}, {'number': '-1'}, {'unit': 'm'},
                       {'axis': 'colour'}, {'at': 'outline'}, {'holds': 'issuer=nobody'}):
            rows = paper()
            rows[0] = {**rows[0], **change}
            self.assertNotEqual(wrong(rows, variables), [], change)
        self.assertNotEqual(wrong(paper() + paper()[:1], variables), [])


if __name__ == '__main__':
    main()

# SPDX-License-Identifier: Apache-2.0
"""What the tests of scripts/plot.py share: directories of made-up rows, and a reader
that gets the figures' numbers back out of an SVG.  test_plot_NAME.py ROOT
"""
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

ROOT = os.path.abspath(sys.argv[1])
PLOT = os.path.join(ROOT, 'scripts', 'plot.py')
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, 'scripts'))

HEADER = ('schema,point,rep,seq,t_start_ns,experiment,probe,varied,value,nic,issuer,submitter,size_b,'
          'stage,interval,link,metric,unit,n,mean,ci_lo,ci_hi,min,p50,p90,p99,p999,max,mad,origin,'
          'order_class,status,reason_code,reason')
PATH = (    # of a GPU that submits: interval, its stage, its origin
    ('intent-reserved', 'issue', 'measured'), ('reserved-resolved', 'translation', 'measured'),
    ('resolved-built', 'handoff', 'measured'), ('built-rung', 'handoff', 'measured'),
    ('seen-started', 'queueing', 'emulated'), ('started-fetched', 'handoff', 'emulated'),
    ('fetched-translated', 'translation', 'emulated'), ('translated-read', 'completion', 'emulated'),
    ('read-written', 'completion', 'emulated'), ('written-completed', 'completion', 'emulated'))
STAGES = ('issue', 'crossing', 'translation', 'handoff', 'completion', 'queueing')
CROSSING = 450.0


def skip_without_matplotlib():
    try:
        import matplotlib
    except ImportError:
        print(f'no matplotlib in {sys.executable}')
        sys.exit(77)
    return matplotlib


def interval_mean(k, point, rep):
    """A mean of its own for each interval, point and repetition."""
    return 20.0 + 7 * k + 11 * point + 3 * ((rep * 7 + point) % 5)


def point_rows(point, rep, crossing=CROSSING):
    """[(stage, interval, origin, mean)] of a path's latency."""
    out = [(s, i, o, interval_mean(k, point, rep)) for k, (i, s, o) in enumerate(PATH)]
    whole = {s: sum(m for t, _, _, m in out if t == s) for s in STAGES}
    whole['crossing'] = crossing + 5 * point + rep
    origin = {s: 'measured' if s in ('issue', 'crossing') else 'emulated' for s in STAGES}
    out += [(s, '-', origin[s], whole[s]) for s in STAGES]
    out.append(('submit', '-', 'measured', sum(m for _, i, _, m in out[:4])))
    out.append(('total', '-', 'emulated', sum(whole.values())))
    return out


class Run:
    """A directory as `fivestage run` writes it. `edit(row)` may change a summary row (a
    list of cells) or drop it (None); points whose row says so become skipped or failed."""

    VARIABLES = {'metric': 'latency', 'nic': 'soft', 'issuer': 'cpu', 'size': '8', 'ordering': 'gpu-fence',
                 'batch': '1', 'queue_mem': 'auto', 'plant': 'none'}

    def __init__(self, directory, repeat=1):
        self.dir, self.repeat, self.plan, self.rows = directory, repeat, [], []

    def experiment(self, name, varied='', values=('',), rows=point_rows, trouble=None, base=None, probe='path',
                   metric=('latency', 'ns')):
        for i, value in enumerate(values):
            settings = {**self.VARIABLES, **(base or {})}
            for a, v in zip(varied.split('*'), value.split('*')):
                if a:
                    settings[a] = v
            text = ' '.join([probe, *(f'{k}={v}' for k, v in settings.items())])
            point = f'{sum(ord(c) * 131 ** k for k, c in enumerate(text)) % 16 ** 12:012x}'
            self.plan.append([point, name, probe, varied, value, *settings.values()])
            for rep in range(1, self.repeat + 1):
                head = ['1', point, str(rep), '1', '1', name, probe, varied, value, settings['nic'],
                        settings['issuer'], 'gpu', settings['size']]
                said = trouble and trouble(value, rep)
                if said and said[0] in ('skipped', 'failed'):
                    self.rows.append(head + ['-', '-', 'none', '', ''] + [''] * 11
                                     + ['measured', '-', said[0], 'code', said[1]])
                    continue
                for stage, interval, origin, mean in rows(i, rep):
                    q = [1000, mean, mean - 2, mean + 3, mean / 2, mean * .9, mean * 1.2, mean * 2, '', mean * 4, 1]
                    self.rows.append(head + [stage, interval, 'none', *metric] + [str(x) for x in q]
                                     + [origin, '-', *(['flagged', 'code', said[1]] if said else ['ok', '', ''])])
        return self

    def write(self, edit=None):
        os.makedirs(self.dir, exist_ok=True)
        rows = [r for r in (edit(list(r)) if edit else r for r in self.rows) if r]
        top = ['point', 'experiment', 'probe', 'varied', 'value', *self.VARIABLES]
        for name, lines in (('plan.csv', [top, *self.plan]), ('summary.csv', [HEADER.split(','), *rows])):
            with open(os.path.join(self.dir, name), 'w', encoding='utf-8') as f:
                f.writelines(','.join(quoted(c) for c in line) + '\n' for line in lines)
        with open(os.path.join(self.dir, 'run.json'), 'w', encoding='utf-8') as f:
            json.dump({'schema': 1, 'tool': 'fivestage', 'revision': 'abc', 'complete': True, 'repeat': self.repeat}, f)
        return self.dir


def quoted(cell):
    return '"' + cell.replace('"', '""') + '"' if set(cell) & set(',"\n') else cell


class Svg:
    """A figure read back: texts, and numbers by way of the axes' own tick labels."""

    NS = '{http://www.w3.org/2000/svg}'

    def __init__(self, path):
        self.root = ET.parse(path).getroot()
        self.texts = [''.join(t.itertext()) for t in self.root.iter(self.NS + 'text')]
        self.ids = {g.get('id'): g for g in self.root.iter() if g.get('id')}
        self.log = any('logarithmic' in t for t in self.texts_of('ylabel'))
        self.yticks, self.xticks = self.ticks('ytick_', 'y'), self.ticks('xtick_', 'x')

    def texts_of(self, prefix):
        """In order of ids, which end in numbers."""
        ids = sorted((i for i in self.ids if i == prefix or i.startswith(prefix + '.')),
                     key=lambda i: [int(x) if x.isdigit() else 0 for x in i.split('.')])
        return [''.join(t.itertext()) for i in ids for t in self.ids[i].iter(self.NS + 'text')]

    def ticks(self, prefix, axis):
        out = []
        for i, g in self.ids.items():
            if i.startswith(prefix):
                use = next(g.iter(self.NS + 'use'))
                out.append((float(use.get(axis)), ''.join(''.join(t.itertext()) for t in g.iter(self.NS + 'text'))))
        return sorted(out)

    def y(self, at):
        f = math.log10 if self.log else float
        (a, first), (b, last) = self.yticks[0], self.yticks[-1]
        v = f(float(first)) + (at - a) * (f(float(last)) - f(float(first))) / (b - a)
        return 10 ** v if self.log else v

    def x(self, at):
        """The label of the tick that is nearest."""
        return min(self.xticks, key=lambda t: abs(t[0] - at))[1]

    def shapes(self, gid):
        """Subpaths of the first path of a group, as points in the drawing's own units."""
        if gid not in self.ids:
            return []
        d = next(self.ids[gid].iter(self.NS + 'path')).get('d')
        return [[tuple(map(float, p)) for p in re.findall(r'(-?[\d.]+) (-?[\d.]+)', sub)]
                for sub in d.split('M') if sub.strip()]

    def bars(self, gid):
        """{x label: height in units of the y axis}"""
        out = {}
        for s in self.shapes(gid):
            xs, ys = [p[0] for p in s], [p[1] for p in s]
            out[self.x((min(xs) + max(xs)) / 2)] = self.y(min(ys)) - self.y(max(ys))
        return out

    def spans(self, gid):
        """{x label: (lowest, highest)} of the upright lines."""
        return {self.x(s[0][0]): tuple(sorted((self.y(s[0][1]), self.y(s[1][1]))))
                for s in self.shapes(gid) if len(s) == 2 and s[0][0] == s[1][0]}

    def line(self, gid):
        return {self.x(x): self.y(y) for s in self.shapes(gid) for x, y in s}

    def markers(self, gid):
        return {self.x(float(u.get('x'))): self.y(float(u.get('y'))) for u in self.ids[gid].iter(self.NS + 'use')} \
            if gid in self.ids else {}

    def style(self, gid):
        return next(self.ids[gid].iter(self.NS + 'path')).get('style')

    def hatched(self, gid):
        return 'url(#' in self.style(gid).split('fill:')[1].split(';')[0]

    def colour(self, gid):
        """What fills it: itself, or the ground of its hatch."""
        fill = self.style(gid).split('fill:')[1].split(';')[0].strip()
        if fill.startswith('url('):
            fill = next(self.ids[fill[5:-1]].iter(self.NS + 'rect')).get('fill')
        return fill


class Case(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.mkdtemp(prefix='fivestage-plot-')
        self.addCleanup(shutil.rmtree, self.tmp, ignore_errors=True)
        self.dir, self.out = os.path.join(self.tmp, 'run'), os.path.join(self.tmp, 'out')

    def run_plot(self, *args, where=None):
        return subprocess.run([sys.executable, PLOT, where or self.dir, '-o', self.out, *args], capture_output=True,
                              text=True, check=False, timeout=600)

    def plot(self, *args, where=None):
        """Has to work, and to say nothing on stderr; the names of the files, without the directory."""
        r = self.run_plot(*args, where=where)
        self.assertEqual((r.returncode, r.stderr), (0, ''))
        return sorted(os.path.basename(x) for x in r.stdout.splitlines() if not x.startswith('not drawn'))

    def svg(self, name):
        return Svg(os.path.join(self.out, name + '.svg'))

    def refused(self, *words, args=(), where=None):
        """Exit 2 and one sentence that has these words; nothing is drawn."""
        r = self.run_plot(*args, where=where)
        self.assertEqual(r.returncode, 2, r.stdout + r.stderr)
        self.assertEqual(r.stderr.count('\n'), 1, r.stderr)
        self.assertNotIn('Traceback', r.stderr)
        self.assertNotIn('a fault of this script', r.stderr)
        for w in words:
            self.assertIn(w, r.stderr)
        return r.stderr

    def close(self, a, b, places=3):
        """Coordinates in an SVG have six decimals, of points."""
        self.assertEqual(sorted(a), sorted(b))
        for k in a:
            for x, y in zip(*((v if isinstance(v, tuple) else (v,)) for v in (a[k], b[k]))):
                self.assertLess(abs(x - y), 10 ** -places * max(1.0, abs(y)), f'{k}: {a[k]} is not {b[k]}')


def main():
    skip_without_matplotlib()
    unittest.main(argv=sys.argv[:1])

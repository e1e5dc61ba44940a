# SPDX-License-Identifier: Apache-2.0
"""The figures in docs/figures are those of results/: drawn again, they have the same
texts and the same numbers (the files themselves differ with matplotlib's version)."""
import os
import re

from plots import ROOT, Case, Svg, main

FIGURES = os.path.join(ROOT, 'docs', 'figures')
SHAPES = {'part': Svg.bars, 'line': Svg.line, 'points': Svg.markers, 'interval': Svg.spans}


def numbers(svg):
    """{(id, x): value} of bars, lines, markers and intervals, in units of the axes: another
    version of matplotlib measures its font otherwise, and moves the columns a little."""
    out = {}
    for gid in svg.ids:
        read = SHAPES.get(gid.split('.')[0])
        for x, v in (read(svg, gid) if read else {}).items():
            out.update({(gid, x, k): y for k, y in enumerate(v if isinstance(v, tuple) else (v,))})
    return out


def words(svg):
    """Of all texts, wherever lines were broken."""
    return sorted(' '.join(svg.texts).split())


class Docs(Case):
    def again(self, name):
        """MACHINE-EXPERIMENT.KIND.svg is of results/MACHINE/default; of a pair, of results/MACHINE-pair/pair."""
        machines = sorted(os.listdir(os.path.join(ROOT, 'results')), reverse=True)
        machine = next(m for m in machines if name.startswith(m + '-'))
        experiment, kind, _ = name[len(machine) + 1:].rsplit('.', 2)
        self.plot('--experiment', experiment, '--kind', kind, '--format', 'svg',
                  where=os.path.join(ROOT, 'results', machine, 'pair' if machine.endswith('-pair') else 'default'))
        return self.svg(f'{experiment}.{kind}')

    def same(self, a, b, how=''):
        self.assertEqual(sorted(a), sorted(b), how)
        far = [k for k in a if abs(a[k] - b[k]) > 1e-3 * abs(b[k]) + 0.05]
        self.assertEqual(far, [], how)

    def test_the_same(self):
        names = sorted(os.listdir(FIGURES))
        self.assertGreater(len(names), 1)
        for name in names:
            kept, new = Svg(os.path.join(FIGURES, name)), self.again(name)
            how = f'docs/figures/{name} is not of results/ as it stands: draw it again (docs/plots.md)'
            self.assertEqual(words(kept), words(new), how)
            self.same(numbers(kept), numbers(new), how)
            self.assertGreater(len(numbers(new)), 40, name)
            self.assertLess(os.path.getsize(os.path.join(FIGURES, name)), 300 << 10, name)

    def test_another_figure_is_told_from_it(self):
        name = next(n for n in sorted(os.listdir(FIGURES)) if 'stack' in n)
        with open(os.path.join(FIGURES, name), encoding='utf-8') as f:
            text = f.read()
        at = re.compile(r'L ([\d.]+) ([\d.]+)').search(text, text.index('id="part.crossing'))
        path = os.path.join(self.tmp, 'other.svg')
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text[:at.start(2)] + str(float(at.group(2)) + 1) + text[at.end(2):])
        with self.assertRaises(AssertionError):
            self.same(numbers(Svg(path)), numbers(self.again(name)))


if __name__ == '__main__':
    main()

# SPDX-License-Identifier: Apache-2.0
"""Every number that the documents quote as a result is in the result files, within its
rounding.  test_numbers.py ROOT [--write]

A mark in the text, which readers don't see, says where the numbers before it are from:

    447 ns <!-- from results/h200/targets: peer-gpu-fence submit -->
    | a | 43 | 544 <!-- from results/h200/targets: peer-gpu-fence issue crossing --> |

It backs as many numbers as it names, the last ones before it in its table row or paragraph.
After the directory: EXPERIMENT[=VALUE] and STAGE[@INTERVAL][.METRIC]..., several of these
divided by `;`. A number is the mean over repetitions. `from FILE.json: a.b.c` is a value of
a JSON file, `from FILE.txt: RE` the number behind what this regular expression matches.

A number with a unit that has no mark is an error, unless FIXED has it: what the program or
its texts lay down, rather than what was measured. --write puts the numbers of the result
files into the text, after these were measured again.
"""
import csv
import glob
import json
import os
import re
import subprocess
import sys
import unittest

ROOT = os.path.abspath(sys.argv[1])
# No results in these: docs/status.md is kept by who measures, and its figures are those of
# scripts/targets, most of them ratios and extremes that a mark can't name.
LEFT_OUT = ('docs/status.md',)

# (document, words around the number): laid down, not measured.
FIXED = (
    ('docs/method.md', 'blocks of less than 100 us'),
    ('docs/method.md', 'stays within 0.5 % over four spans of 100 us'),
    ('docs/method.md', 'The 95 % interval'),
    ('docs/method.md', 'slots fit into 64 MiB'),
    ('docs/method.md', '500 ns where a GPU thread waits, 5 us where a CPU thread does'),
    ('docs/method.md', 'as its interval (97.9 %'),
    ('docs/method.md', 'by 5 % of the latency and by 0.5 ns'),
    ('docs/method.md', 'the pages are 2 MiB'),
    ('docs/method.md', 'data caches above 1 GiB (512 MiB on a CPU)'),
    ('docs/method.md', 'at most 0.1 s of that counts'),
    ('docs/method.md', 'rounds of 4 waits, of 2 us at most'),
    ('docs/method.md', 'of rounds of 160 us'),
    ('docs/method.md', 'by more than 15 %, the row is flagged'),
    ('docs/method.md', 'were busy over 90 % of the time'),
    ('docs/method.md', 'worked in less than 80 % of the pass'),
    ('docs/method.md', 'keeps pieces of 8 MiB under way'),
    ('docs/method.md', 'a kernel rests 20 us'),
    ('docs/method.md', "2.5 GHz after 45 s idle (cold) and 4.0 GHz after 20 s of load (warm), which moves a proxy's latency by 12 %"),
    ('docs/method.md', 'The default, 1 s,'),
    ('docs/method.md', "the paper's 45 and 20 s are"),
    ('docs/method.md', 'names the first size whose mean reaches 90 % of the'),
    ('docs/method.md', 'where less than 90 % of it is carried'),
    ('docs/method.md', 'two loads within 2 % of each other'),
    ('docs/method.md', "isn't over after 80 s ends"),
    ('docs/method.md', "NIC's workers are busy for more than 90 % of the time"),
    ('docs/method.md', 'of which none excludes more than 0.0093 %'),
    ('README.md', 'from which size on a path carries 90 % of what it can'),
    ('CHANGELOG.md', 'the first size that carries 90 % of what a path, or the link, can'),
    ('docs/tutorial.md', 'a wait of 5 us'),
    ('docs/plots.md', '90, 99 and 99.9 %'),
    ('docs/plots.md', "Student's (95 %)"),
    ('README.md', 'fewer above 64 KiB'),
    ('README.md', '1 GiB of host memory'),
    ('README.md', 'auto: 32 MiB for load'),
)

MARK = re.compile(r'<!--\s*from\s+(\S+?):\s+(.*?)\s*-->', re.S)
NUMBER = re.compile(r'(?<![\w.,/=*-])(\d{1,3}(?:,\d{3})+|\d+)(\.\d+)?(?![\w]|\.\d)')
UNIT = re.compile(r'\s?(ns|us|ms|s|M/s|Mmsg/s|KiB|MiB|GiB|%|cycles)(?!\w)')
SCALE = {'ns': 1, 'us': 1e3, 'ms': 1e6, 's': 1e9, 'M/s': 1, 'Mmsg/s': 1}


class Wrong(Exception):
    pass


# ---- result files ----
class Files:
    def __init__(self, root):
        self.root, self.kept = root, {}

    def rows(self, directory):
        """{(experiment, value, stage, interval, metric): [mean of each repetition]}, and units"""
        if directory not in self.kept:
            out = {}
            try:
                with open(os.path.join(self.root, directory, 'summary.csv'), encoding='utf-8', newline='') as f:
                    for r in csv.DictReader(f):
                        if r['mean']:
                            key = tuple(r[k] for k in ('experiment', 'value', 'stage', 'interval', 'metric'))
                            out.setdefault(key, []).append((float(r['mean']), r['unit']))
            except OSError as e:
                raise Wrong(f'{directory}/summary.csv: {e.strerror}') from e
            self.kept[directory] = out
        return self.kept[directory]

    def text(self, path):
        try:
            with open(os.path.join(self.root, path), encoding='utf-8') as f:
                return f.read()
        except OSError as e:
            raise Wrong(f'{path}: {e.strerror}') from e

    def values(self, where, what):
        """[(value, unit)]; the unit is '' where the file has none."""
        if where.endswith('.json'):
            at = json.loads(self.text(where))
            for k in what.split('.'):
                try:
                    at = at[int(k)] if isinstance(at, list) else at[k]
                except (KeyError, IndexError, ValueError, TypeError) as e:
                    raise Wrong(f'{where} has no {what}') from e
            return [(float(at), '')]
        if where.endswith('.txt'):
            found = re.search(what + r'\D*?(\d[\d.]*)', self.text(where))
            if not found:
                raise Wrong(f'{where} has no number behind "{what}"')
            return [(float(found.group(1).rstrip('.')), '')]
        out = []
        for part in what.split(';'):
            point, *items = part.split()
            experiment, _, value = point.partition('=')
            if not items:
                raise Wrong(f'{part}: names no stage')
            for item in items:
                name, _, metric = item.partition('.')
                stage, _, interval = name.partition('@')
                key = (experiment, value, stage, interval or '-', metric or 'latency')
                means = self.rows(where).get(key)
                if not means:
                    raise Wrong(f'{where} has no row {" ".join(key)}')
                out.append((sum(m for m, _ in means) / len(means), means[0][1]))
        return out


# ---- documents ----
def blank(found):
    return re.sub(r'[^\n]', ' ', found.group(0))


def readable(text):
    """The text without what isn't prose, at the same places: code, links, comments but marks."""
    text = re.sub(r'^```.*?^```', blank, text, flags=re.S | re.M)
    text = re.sub(r'(?<=\n\n)(?: {4}.*\n|\n(?= {4}))+', blank, text)
    text = re.sub(r'``[^\n]*?``|`[^`\n]*`', blank, text)
    text = re.sub(r'\]\([^)\s]*\)', blank, text)
    return re.sub(r'<!--(?!\s*from\s).*?-->', blank, text, flags=re.S)


def blocks(text):
    """(start, end) of table rows and paragraphs."""
    at = 0
    for line in re.finditer(r'(?m)^\|.*$|^[ \t]*$', text):
        if line.start() > at:
            yield at, line.start()
        if line.group(0).startswith('|'):
            yield line.start(), line.end()
        at = line.end()
    if at < len(text):
        yield at, len(text)


def close(number, value, unit_here, unit_there):
    """Is it the value, rounded as the text rounds?"""
    x = float(number.replace(',', ''))
    if unit_here in SCALE and unit_there in SCALE:
        value = value * SCALE[unit_there] / SCALE[unit_here]
    places = len(number.partition('.')[2])
    return abs(x - value) <= 0.5001 * 10 ** -places, f'{value:.{places}f}'


def check(name, text, files):
    """([what is wrong], how many numbers are backed, the text with right numbers)"""
    wrong, backed, edits = [], 0, []
    prose = readable(text)
    fixed = [(m.start(), m.end()) for doc, words in FIXED if doc == name
             for m in re.finditer(r'\s+'.join(map(re.escape, words.split())), text)]
    for start, end in blocks(prose):
        marks = list(MARK.finditer(prose, start, end))
        hidden = MARK.sub(blank, prose[start:end])
        numbers = [(start + n.start(), start + n.end(), n.group(0)) for n in NUMBER.finditer(hidden)]
        covered = set()
        before = start
        for mark in marks:
            try:
                values = files.values(mark.group(1), ' '.join(mark.group(2).split()))
            except Wrong as e:
                wrong.append(f'{name}:{text.count(chr(10), 0, mark.start()) + 1}: {e}')
                values = []
            mine = [n for n in numbers if before <= n[0] and n[1] <= mark.start()][-len(values):] if values else []
            if len(mine) < len(values):
                wrong.append(f'{name}:{text.count(chr(10), 0, mark.start()) + 1}: the mark names {len(values)} numbers, '
                             f'before it stand {len(mine)}')
                continue
            for (a, b, number), (value, unit) in zip(mine, values):
                here = UNIT.match(hidden, b - start)
                good, right = close(number, value, here.group(1) if here else '', unit)
                backed += 1
                covered.add(a)
                edits.append((a, b, right))
                if not good:
                    wrong.append(f'{name}:{text.count(chr(10), 0, a) + 1}: {number} is {right} in {mark.group(1)}')
            before = mark.end()
        row = hidden.startswith('|')
        cells = [m.span(1) for m in re.finditer(r'\|\s*(\d[\d,]*(?:\.\d+)?)\s*(?=\|)', hidden)] if row else []
        for a, b, number in numbers:
            bare = any(start + x <= a and b <= start + y for x, y in cells[1 if cells[:1] and cells[0][0] < 4 else 0:])
            if a in covered or not (UNIT.match(hidden, b - start) or bare):
                continue
            if any(x <= a and b <= y for x, y in fixed):
                continue
            wrong.append(f'{name}:{text.count(chr(10), 0, a) + 1}: nothing backs {number}: mark where it is from, or '
                         f'name it in FIXED')
    for a, b, right in sorted(edits, reverse=True):
        text = text[:a] + right + text[b:]
    return wrong, backed, text


def documents(root):
    paths = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'results/README.md'] + \
        sorted(os.path.relpath(p, root) for p in glob.glob(os.path.join(root, 'docs', '*.md')))
    return [p for p in paths if p not in LEFT_OUT and os.path.exists(os.path.join(root, p))]


class Numbers(unittest.TestCase):
    def test_documents(self):
        files, wrong, total = Files(ROOT), [], 0
        for name in documents(ROOT):
            bad, backed, _ = check(name, files.text(name), files)
            wrong += bad
            total += backed
            if name == 'README.md':
                self.assertGreater(backed, 20)
        print(f'{total} numbers in {len(documents(ROOT))} documents are in the result files')
        self.assertEqual(wrong, [], '\n' + '\n'.join(wrong))

    def test_a_changed_number_is_found(self):
        """Control: each number of README.md, one place up or down; and a mark that is gone."""
        files = Files(ROOT)
        text = files.text('README.md')
        _, backed, right = check('README.md', text, files)
        self.assertEqual(check('README.md', right, files)[0], [])
        found = 0
        for mark in MARK.finditer(right):
            last = list(NUMBER.finditer(right, 0, mark.start()))[-1]
            n = last.group(0)
            for step in (-1, 1):
                places = len(n.partition('.')[2])
                other = f'{float(n) + step * 10 ** -places:.{places}f}'
                bad = check('README.md', right[:last.start()] + other + right[last.end():], files)[0]
                self.assertEqual(len(bad), 1, bad)
                self.assertIn(f'{other} is {n} in', bad[0])
                found += 1
            self.assertTrue(check('README.md', right[:mark.start()] + right[mark.end():], files)[0])
        self.assertGreater(found, 5)

    def test_a_text_that_a_script_wrote_is_what_it_says_today(self):
        script = os.path.join(ROOT, 'scripts', 'crossover.py')
        kept = {'crossover': [], 'crossover-coarse': [], 'staging-5': ['--metric', 'total_with_registration']}
        for name, args in kept.items():
            path = os.path.join(ROOT, 'results', 'h200', name + '.txt')
            said = subprocess.run([sys.executable, script, path[:-len('.txt')], *args], capture_output=True, text=True, check=True).stdout
            with open(path, encoding='utf-8') as f:
                self.assertEqual(f.read(), said, path)

    def test_small_texts(self):
        files = Files(ROOT)
        files.kept['d'] = {('e', '', 'total', '-', 'latency'): [(1000.0, 'ns'), (1010.0, 'ns')],
                           ('e', '8', 'handoff', 'built-rung', 'latency'): [(7.04, 'ns')],
                           ('r', '', 'total', '-', 'rate'): [(2.349, 'Mmsg/s')]}
        for good in ('It took 1005 ns <!-- from d: e total -->.', '1.00 us <!-- from d: e total -->',
                     '2.3 M/s <!-- from d: r total.rate -->, and 7.0 ns <!-- from d: e=8 handoff@built-rung -->',
                     '| x | 1,005 | 7 <!-- from d: e total; e=8 handoff@built-rung --> |',
                     'Two of 3 points, `5 ns`, and\n\n    6 ns in code\n\n', '| 1 | a |\n', 'x in 2026'):
            self.assertEqual(check('x.md', good, files)[0], [], good)
        for bad in ('It took 1006 ns <!-- from d: e total -->.', '1.02 us <!-- from d: e total -->', 'It took 5 ns.',
                    '2.4 M/s <!-- from d: r total.rate -->', '<!-- from d: e total -->', '7 ns <!-- from d: e=9 total -->',
                    '7 ns <!-- from d: e -->', '7 ns <!-- from nowhere: e total -->', '7 <!-- from no.json: a -->',
                    '| x | 43 | y |\n', '12 % of it', '| a | 1005 | 8 <!-- from d: e total; e=8 handoff@built-rung --> |'):
            self.assertNotEqual(check('x.md', bad, files)[0], [], bad)


def write():
    files = Files(ROOT)
    for name in documents(ROOT):
        text = files.text(name)
        new = check(name, text, files)[2]
        if new != text:
            with open(os.path.join(ROOT, name), 'w', encoding='utf-8') as f:
                f.write(new)
            print(f'{name}: written')


if __name__ == '__main__':
    if '--write' in sys.argv[2:]:
        write()
    else:
        unittest.main(argv=sys.argv[:1])

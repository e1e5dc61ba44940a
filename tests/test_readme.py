# SPDX-License-Identifier: Apache-2.0
"""What README.md and the documents point at is there: files, headings, figures that can be
read; README names every package of scripts/packages, and no other list.  test_readme.py ROOT"""
import glob
import os
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ET

ROOT = os.path.abspath(sys.argv[1])


def text(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as f:
        return f.read()


def anchors(path):
    return {re.sub(r'[^\w\- ]', '', h.lower()).strip().replace(' ', '-')
            for h in re.findall(r'^#+ (.*)$', text(path), re.M)}


def broken(path, said):
    """Links of the text of this document that lead nowhere."""
    out = []
    for link in re.findall(r'\]\(([^)\s]+)\)', re.sub(r'^ {4}.*$', '', said, flags=re.M)):
        if re.match(r'[a-z]+:', link):
            continue
        file, _, anchor = link.partition('#')
        file = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if not os.path.exists(os.path.join(ROOT, file)) or (anchor and anchor not in anchors(file)):
            out.append(link)
    return out


class Readme(unittest.TestCase):
    def test_links(self):
        for full in [*glob.glob(os.path.join(ROOT, '*.md')), *glob.glob(os.path.join(ROOT, 'docs', '*.md')),
                     os.path.join(ROOT, 'results', 'README.md')]:
            path = os.path.relpath(full, ROOT)
            self.assertEqual(broken(path, text(path)), [], path)
        # Control.
        self.assertEqual(broken('docs/x.md', '[a](nowhere.md) [b](method.md#nothing) [c](method.md#order)'),
                         ['nowhere.md', 'method.md#nothing'])

    def test_two_figures(self):
        shown = re.findall(r'!\[[^\]]+\]\((docs/figures/(h200|cpu)[^)]*\.svg)\)', text('README.md'))
        self.assertEqual({m for _, m in shown}, {'h200', 'cpu'})
        for path, _ in shown:
            self.assertTrue(ET.parse(os.path.join(ROOT, path)).getroot().tag.endswith('svg'))

    def test_packages(self):
        table = subprocess.run(['bash', '-c', '. scripts/packages; packages_table'], cwd=ROOT, capture_output=True,
                               text=True, check=True).stdout
        names = sorted(x.split('|')[0] for x in table.splitlines())
        self.assertGreater(len(names), 8)
        line = re.search(r'`apt install ([^`]*)`', text('README.md')).group(1)
        self.assertEqual(sorted(line.split()), names)
        for row in table.splitlines():
            self.assertEqual(row.count('|'), 4, row)
            self.assertIn(row.split('|')[2], ('required', 'optional'))
        # One place: no other script has a list of its own.
        for path in ('scripts/test', 'scripts/quickstart', 'scripts/bundle', '.ci/run', 'tests/test_fresh.sh'):
            self.assertNotIn('libjansson', text(path), path)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])

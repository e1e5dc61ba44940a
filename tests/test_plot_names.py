# SPDX-License-Identifier: Apache-2.0
"""The names that plots use are those of the sources: stages, marks and their agents, columns, units."""
import os
import re
import unittest

from plots import HEADER, ROOT

from plotlib import load, look


def source(*path):
    with open(os.path.join(ROOT, *path), encoding='utf-8') as f:
        return f.read()


def stages_of(text):
    """The names in order, from the table stage_names."""
    table = re.search(r'stage_names\[STAGES\] = \{(.*?)\};', text, re.S).group(1)
    return tuple(re.findall(r'\[STAGE_\w+\] = "(\w+)"', table))


def marks_of(text):
    return dict(re.findall(r'X\(\w+, (\w+), (\w+),', re.search(r'define FS_MARKS\(X\)(.*?)\n\n', text, re.S).group(1)))


class Names(unittest.TestCase):
    def test_stages(self):
        found = stages_of(source('stages', 'stage.c'))
        self.assertEqual(tuple(s.name for s in look.STAGES), found)
        self.assertEqual(look.FIVE, found[:5])
        self.assertEqual(len(found), 6)

    def test_a_renamed_stage_is_seen(self):
        text = source('stages', 'stage.c').replace('"handoff"', '"handover"')
        self.assertNotEqual(tuple(s.name for s in look.STAGES), stages_of(text))

    def test_marks(self):
        marks = marks_of(source('stages', 'queue', 'mark.h'))
        self.assertGreater(len(marks), 12)
        self.assertEqual(look.NIC_MARKS, tuple(m for m, agent in marks.items() if agent == 'NIC'))
        self.assertEqual(look.HELPER_MARKS, tuple(m for m, agent in marks.items() if agent == 'HELPER'))

    def test_columns(self):
        text = source('harness', 'csv.c')
        header = ''.join(re.findall(r'"([^"]*)"', re.search(r'fs_summary_header\[\] =(.*?);', text, re.S).group(1)))
        self.assertEqual(header.split(','), load.SUMMARY)
        self.assertEqual(HEADER.split(','), load.SUMMARY)

    def test_statuses_and_origins(self):
        self.assertEqual(tuple(re.findall(r'\[FS_\w+\] = "(\w+)"', source('harness', 'rows.c'))), load.STATUSES)
        for o in re.findall(r'origin, "(\w+)"', source('harness', 'rows.c') + source('stages', 'path_rows.c')):
            self.assertIn(o, look.ORIGIN)

    def test_units_of_variables(self):
        rows = re.findall(r'\{ \.name = "(\w+)"(?:, \.unit = "(\w*)")?', source('stages', 'vars.c'))
        self.assertGreater(len(rows), 20)
        self.assertEqual({n: u for n, u in rows if u}, look.VARIABLE_UNIT)


if __name__ == '__main__':
    import sys
    unittest.main(argv=sys.argv[:1])

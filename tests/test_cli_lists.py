# SPDX-License-Identifier: Apache-2.0
"""The lists are printed whole."""
import subprocess

from cli import FAILED, PROGRAM, Case, main


class Lists(Case):
    def test_everything(self):
        out = self.run_it('list').stdout
        for word in ('variables:', 'probes:', 'nics:', 'stages', 'marks:', 'configs', 'crossing',
                     'not available: these stages are fake', 'ends as it is told'):
            self.assertIn(word, out)

    def test_one(self):
        out = self.run_it('list', 'probes').stdout
        self.assertIn('fake', out)
        self.assertNotIn('variables:', out)

    def test_markdown(self):
        lines = self.run_it('list', 'variables', '--markdown').stdout.splitlines()
        self.assertEqual(len({x.replace('\\|', '').count('|') for x in lines}), 1)
        self.assertTrue(any('`nic`' in x and 'path, fake' in x for x in lines))

    def test_full_disk(self):
        with open('/dev/full', 'w', encoding='ascii') as full:
            r = subprocess.run([PROGRAM, 'list'], stdout=full, stderr=subprocess.DEVNULL, check=False)
        self.assertEqual(r.returncode, FAILED)


if __name__ == '__main__':
    main()

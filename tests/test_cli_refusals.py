# SPDX-License-Identifier: Apache-2.0
"""What is refused, with which words, and that nothing is written then."""
import os

from cli import REFUSED, USAGE, Case, main


class Refusals(Case):
    def refuse(self, *args, words=(), code=USAGE):
        r = self.run_it('run', '-o', self.out, *args, code=code)
        self.assertFalse(os.path.exists(self.out), 'something was written')
        for w in words:
            self.assertIn(w, r.stderr)

    def ini(self, text):
        return self.path('bad.ini', text)

    def test_settings(self):
        for args, words in (
                (['colour=red'], ['colour', 'nic']),
                (['nic=ib'], ['ib', 'null', 'soft', 'peer']),
                (['size=9'], ['size']),
                (['depth=0'], ['1..1024']),
                (['probe=path', 'mode=ok'], ['mode', 'path']),
                (['probe=none'], ['none', 'fake']),
                (['probe=fake', 'size=8,64', 'depth=1,2'], ['cross']),
                (['probe=fake', 'nic=null', 'depth=65'], ['depth=64']),
                (['probe=fake', 'issuer=gpu'], ['needs a GPU']),
                (['size=64..8*2'], ['size']),
                (['nonsense'], ['nonsense']),
                (['missing.ini'], ['missing.ini'])):
            with self.subTest(args=args):
                self.refuse(*args, words=words)

    def test_options(self):
        for args in (['--repeat', '0'], ['--repeat', 'x'], ['--repeat'], ['--seed', '-1'],
                     ['--timeout', '0'], ['--timeout', 'nan'], ['--raw=1'], ['-x'], ['--repeat', '2x'],
                     ['--ns', '5']):
            with self.subTest(args=args):
                self.refuse('probe=fake', *args, words=['fivestage: run: ' + args[0].split('=')[0]])

    def test_configs(self):
        for text, words in (
                ('[a]\nprobe = fake\ncolour = red\n', ['bad.ini:3', 'colour']),
                ('[a]\nprobe = fake\nsize = 9\n', ['bad.ini:3', 'size']),
                ('[a]\nprobe = path\nmode = ok\n', ['bad.ini:3', 'mode']),
                ('[a]\nprobe = fake\nvary = size\n', ['bad.ini:', 'values']),
                ('[a]\nprobe = fake\n\nno assignment\n', ['bad.ini:4']),
                ('[a]\nprobe = fake\n[a]\nprobe = fake\n', ['bad.ini:3']),
                ('[a]\nprobe = fake\nsize = 8\nsize = 16\n', ['bad.ini:4', 'size']),
                ('[a]\nprobe = fake\nnic = null\ndepth = 65\n', ['depth=64']),
                ('', ['bad.ini'])):
            with self.subTest(text=text):
                self.refuse(self.ini(text), words=words)

    def test_directory_that_is_not_empty(self):
        self.path('out/kept', 'x')
        self.run_out('probe=fake', code=REFUSED)
        self.assertEqual(self.files(), ['kept'])

    def test_directory_that_is_a_file(self):
        self.path('out', 'x')
        self.run_out('probe=fake', code=REFUSED)

    def test_directory_that_cannot_be_written(self):
        r = self.run_it('run', '-o', '/proc/fivestage', 'probe=fake', code=REFUSED)
        self.assertIn('/proc/fivestage', r.stderr)

    def test_empty_directory_is_taken(self):
        os.mkdir(self.out)
        self.run_out('probe=fake')

    def test_commands(self):
        for args in ([], ['fly'], ['list', 'birds'], ['list', 'nics', '--markdown'], ['validate', 'x.ini']):
            with self.subTest(args=args):
                self.run_it(*args, code=USAGE)

    def test_help(self):
        for args in (['--help'], ['run', '--help'], ['list', '--help'], ['validate', '-h']):
            self.assertIn('fivestage', self.run_it(*args).stdout)
        self.assertRegex(self.run_it('--version').stdout, r'^fivestage \d+\.\d+\.\d+ \(.+\)\n$')


if __name__ == '__main__':
    main()

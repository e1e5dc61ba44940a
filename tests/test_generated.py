# SPDX-License-Identifier: Apache-2.0
"""What is made from the program's tables can't drift from them: man page and
completion of the build, the table of variables in README.md, --help.

    test_generated.py PROGRAM SOURCE FIVESTAGE.1 FIVESTAGE.BASH
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM, SOURCE, MAN, COMPLETION = map(os.path.abspath, sys.argv[1:5])


def out(*args):
    return subprocess.run([PROGRAM, *args], check=True, capture_output=True, text=True, timeout=300).stdout


def text_of(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def variables():
    """name -> legal values in words, from the README's table as the program prints it."""
    rows = [x.split(' | ') for x in out('list', 'variables', '--markdown').splitlines()[2:]]
    return {r[0].strip('| `'): r[1] for r in rows}


def options():
    """command -> options, from --help."""
    return {c: re.findall(r'^  (--?[a-z-]+)', out(c, '--help'), re.M) for c in ('run', 'list', 'validate')}


def plain(man):
    """A man page as it reads, near enough to look for words."""
    return man.replace('\\-', '-').replace('\\fB', '').replace('\\fI', '').replace('\\fR', '')


def missing_from_manual(man):
    man = plain(man)
    want = [f'\n{v}\n' for v in variables()] + [f'\n{o}' for os_ in options().values() for o in os_]
    want += [f'fivestage {c}\n' for c in options()]
    return [w for w in want if w not in man]


def readme_is_true(readme):
    return out('list', 'variables', '--markdown') in readme


class Generated(unittest.TestCase):
    def test_built_is_what_it_prints(self):
        for path, what in ((MAN, 'man'), (COMPLETION, 'completion')):
            self.assertEqual(text_of(path), out('list', what))
            self.assertNotEqual(text_of(path).replace('timeout', 'patience'), out('list', what))   # the control

    def test_they_are_hidden(self):
        self.assertNotIn('complete -F', out('list'))
        self.assertNotIn('.TH', out('list'))

    def test_the_manual_has_everything(self):
        man = text_of(MAN)
        self.assertEqual(missing_from_manual(man), [])
        for gone in ('resume', 'ordering', 'validate'):
            self.assertTrue(missing_from_manual(man.replace(gone, 'x')), gone)

    def test_readme(self):
        readme = text_of(os.path.join(SOURCE, 'README.md'))
        self.assertTrue(readme_is_true(readme), 'its table of variables: `fivestage list variables --markdown`')
        self.assertFalse(readme_is_true(readme.replace('| `depth` | 1..', '| `depth` | 2..')))

    # ---- the man page is one ----

    def lint(self, man):
        """What the linters here say; None without any."""
        said = None
        with tempfile.NamedTemporaryFile('w', suffix='.1', encoding='utf-8') as f:
            f.write(man)
            f.flush()
            # mandoc misses a date: there is none, so that equal programs give equal pages
            for cmd in (['groff', '-man', '-Tutf8', '-ww', '-z', f.name],
                        ['mandoc', '-T', 'lint', '-W', 'warning', f.name]):
                if shutil.which(cmd[0]):
                    r = subprocess.run(cmd, capture_output=True, text=True, timeout=300, check=False)
                    said = (said or '') + '\n'.join(x for x in (r.stdout + r.stderr).splitlines()
                                                    if 'missing date' not in x)
        return said

    def test_lint(self):
        said = self.lint(text_of(MAN))
        if said is None:
            self.skipTest('neither groff nor mandoc is installed')
        self.assertEqual(said, '')
        self.assertNotEqual(self.lint(text_of(MAN) + '.NOSUCH macro\n\\fQ\n'), '')

    # ---- the completion completes ----

    def complete(self, line, cwd=None):
        script = ('source "$1"; COMP_LINE=$2 COMP_POINT=${#2}; _fivestage; '
                  '((${#COMPREPLY[@]})) && printf "%s\\n" "${COMPREPLY[@]}"; true')
        r = subprocess.run(['bash', '--norc', '-c', script, 'bash', COMPLETION, line], capture_output=True, text=True,
                           timeout=300, check=True, cwd=cwd)
        self.assertEqual(r.stderr, '')
        return r.stdout.split('\n')[:-1] if r.stdout else []

    def test_completion(self):
        for line, want in (
                ('fivestage ', ['run', 'list', 'validate', '--help', '--version']), ('fivestage va', ['validate']),
                ('fivestage list pr', ['probes']), ('fivestage list --', ['--markdown', '--help']),
                ('fivestage run --re', ['--repeat', '--resume']), ('fivestage run --timeout ', []),
                ('fivestage validate --untold rea', ['read:']), ('fivestage run ordering=sys',
                                                                 ['sys-fence', 'sys-fence-record', 'sys-release']),
                ('fivestage run nic=null,so', ['null,soft']), ('fivestage run probe=pi', ['pingpong']),
                ('fivestage run orde', ['ordering=']), ('fivestage validate plant=comp', ['completed:']),
                ('fivestage run plant=read:', []), ('fivestage run size=', []), ('fivestage list nic=', []),
                ('fivestage fly ', []), ('fivestage run --raw nic=soft check=e', ['each', 'end'])):
            with self.subTest(line=line):
                self.assertEqual(self.complete(line), want)

    def test_every_option_and_value_is_completed(self):
        for cmd, names in options().items():
            self.assertEqual(set(self.complete(f'fivestage {cmd} -')), set(names) | {'--help'}, cmd)
        for name, legal in variables().items():
            self.assertIn(name + '=', self.complete(f'fivestage run {name}'))
            words = re.sub(r',? ?(or )?NAME:.*| or \d+\.\..*|, a power of two', '', legal).replace(' or ', ', ').split(', ')
            words = [w for w in words if not re.match(r'\d+\.\.', w)]
            got = [w for w in self.complete(f'fivestage run {name}=') if not w.endswith(':')]
            self.assertEqual(got, words, name)

    def test_the_words_of_list_are_words_of_list(self):
        for word in self.complete('fivestage list '):
            out('list', word)

    def test_files(self):
        with tempfile.TemporaryDirectory() as d:
            for name in ('mine.ini', 'mine.txt'):
                with open(os.path.join(d, name), 'w', encoding='utf-8'):
                    pass
            os.mkdir(os.path.join(d, 'minor'))
            self.assertEqual(self.complete('fivestage run mi', d), ['mine.ini', 'minor/'])
            self.assertEqual(self.complete('fivestage run -o mi', d), ['minor'])
            self.assertIn('default.ini', self.complete(f'{PROGRAM} run def', d))


if __name__ == '__main__':
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]], verbosity=1)

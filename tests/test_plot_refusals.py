# SPDX-License-Identifier: Apache-2.0
"""What can't be read or drawn is said in one sentence that names the file and the line."""
import os
import shutil

from plots import Case, Run, main, quoted


class Refusals(Case):
    def setUp(self):
        super().setUp()
        self.run_ = Run(self.dir).experiment('e', 'size', ('8', '64'))
        self.run_.write()

    def file(self, name, text=None, edit=None):
        path = os.path.join(self.dir, name)
        if edit:
            with open(path, encoding='utf-8') as f:
                text = edit(f.read())
        with open(path, 'wb') as f:
            f.write(text if isinstance(text, bytes) else text.encode())

    def test_the_untouched_directory_is_drawn(self):
        """The control of everything below."""
        self.plot()

    def test_directories(self):
        self.refused('no such directory', where=os.path.join(self.tmp, 'nowhere'))
        self.refused('no directory', where=os.path.join(self.dir, 'plan.csv'))
        empty = os.path.join(self.tmp, 'empty')
        os.mkdir(empty)
        self.refused('run.json', 'no result directory', where=empty)
        odd = os.path.join(self.tmp, 'two\nlines')
        os.mkdir(odd)
        self.refused('two?lines', where=odd)

    def test_run_json(self):
        for text, word in (('', 'no JSON'), ('{', 'run.json:1: no JSON'), ('[]', 'not of fivestage'),
                           ('{"tool": "fio"}', 'not of fivestage'), ('{"tool": "fivestage", "schema": 2}', 'schema 2'),
                           ('{"tool": "fivestage", "schema": 1, "complete": false, "how_far": "3 of 9"}', '3 of 9'),
                           ('{"tool": "fivestage", "schema": 1, "complete": true, "repeat": "x"}', 'repeat'),
                           ('[' * 100000, 'no JSON'), (b'\xff\xfe', 'no JSON')):
            self.file('run.json', text)
            self.refused('run.json', word)

    def test_missing_files(self):
        for name in ('plan.csv', 'summary.csv'):
            kept = os.path.join(self.tmp, name)
            os.rename(os.path.join(self.dir, name), kept)
            self.refused(name, 'No such file')
            os.mkdir(os.path.join(self.dir, name))
            self.refused(name, 'not a regular file')
            os.rmdir(os.path.join(self.dir, name))
            self.file(name, '')
            self.refused(name, 'empty')
            os.replace(kept, os.path.join(self.dir, name))

    def test_half_written(self):
        """Cut anywhere: at a byte, at a cell, at a line."""
        with open(os.path.join(self.dir, 'summary.csv'), encoding='utf-8') as f:
            text = f.read()
        lines = text.splitlines(keepends=True)
        half = len(lines) // 2
        for cut, word in ((text[:-1], 'half-written'), (text[:-40], 'half-written'),
                          (''.join(lines[:half]) + lines[half][:30] + '\n', f':{half + 1}: '),
                          (''.join(lines[:len(lines) * 2 // 5]), 'half-written: it has no row of point'),
                          (lines[0], 'half-written'), (lines[0][:50] + '\n', 'column "')):
            self.file('summary.csv', cut)
            self.refused('summary.csv', word)

    def test_cells(self):
        def put(column, value):
            def edit(text):
                lines = text.splitlines()
                cells = lines[3].split(',')
                cells[lines[0].split(',').index(column)] = quoted(value)
                return '\n'.join([*lines[:3], ','.join(cells), *lines[4:]]) + '\n'
            return edit
        for column, value, word in (('mean', 'nan', 'mean is "nan"'), ('mean', '1e400', 'mean'),
                                    ('mean', '1e300', 'mean'),
                                    ('ci_lo', 'N/A', 'ci_lo is "N/A"'), ('p50', '1_0', 'p50'), ('rep', '0', 'rep'),
                                    ('rep', '-1', 'rep'), ('stage', 'handover', 'unknown stage "handover"'),
                                    ('origin', 'guessed', 'unknown origin'), ('status', 'fine', 'unknown status'),
                                    ('schema', '9', 'schema "9"'), ('point', 'feedfeed', 'not in plan.csv'),
                                    ('unit', 'us', 'latency in "us"'), ('reason', 'a"b', None)):
            self.run_.write()
            self.file('summary.csv', edit=put(column, value))
            if word:
                self.refused('summary.csv:4: ' if column != 'unit' else 'summary.csv:', word)
            else:
                self.plot('--kind', 'stack')

    def test_columns(self):
        self.file('summary.csv', edit=lambda t: t.replace('ci_lo', 'ci_low', 1))
        self.refused('summary.csv:1', 'unknown column "ci_low"')
        self.run_.write()
        self.file('summary.csv', edit=lambda t: t.replace('\n', ',more\n'))
        self.refused('summary.csv:1', 'unknown column "more"')
        self.run_.write()
        self.file('plan.csv', edit=lambda t: t.replace(',nic,', ',issuer,', 1))
        self.refused('plan.csv:1', 'stands twice')

    def test_bytes(self):
        for text, word in ((b'\xff\xfe\n', 'not UTF-8'), (b'point,exper\0iment\n', ''), (b'"point\n', 'no CSV'),
                           (b'point,experiment,probe,varied,value,nic\n', 'no point')):
            self.file('plan.csv', text)
            self.refused('plan.csv', word)

    def test_a_row_that_stands_twice(self):
        self.file('summary.csv', edit=lambda t: t + t.splitlines()[-1] + '\n')
        self.refused('summary.csv:', 'a second row')

    def test_options(self):
        for args, word in ((('--kind', 'pie'), 'there is no kind "pie"'), (('--experiment', 'x'), 'no experiment "x"'),
                           (('--compare', 'e,x'), 'no experiment "x"'), (('--vary', 'colour'), 'no column "colour"'),
                           (('--vary', 'nic'), 'varies size, not nic'), (('--metric', 'joy'), '"joy"'),
                           (('--stage', 'x'), 'nothing to draw'), (('--format', 'pdf'), 'no format "pdf"'),
                           (('--kind',), 'needs a value'), (('--what', 'x'), '--what is no option'),
                           (('more',), '2 are named'),
                           (('--kind', 'stack', '--metric', 'latency', '--stage', 'total', '--kind', 'x'), 'twice')):
            self.refused(word, args=args)

    def test_single_points(self):
        Run(self.dir).experiment('one').write()
        self.refused('one: a single point, and a sweep needs two', args=('--kind', 'sweep'))
        self.refused('varies nothing, not size', args=('--kind', 'size'))
        Run(self.dir).experiment('e', 'ordering', ('none', 'sys-fence')).write()
        self.refused('it varies ordering, not size', args=('--kind', 'size'))

    def test_no_stages_no_stack(self):
        Run(self.dir).experiment('e', 'size', ('8', '64'), rows=lambda p, r: [('total', '-', 'measured', 5.0)]).write()
        self.refused('no point has a mean of each of the five stages', args=('--kind', 'stack'))

    def test_samples(self):
        for text, word in (('', 'empty'), ('a,b\n', 'not the columns'),
                           ('point,rep,message,intent\nx,1,1,5\n', ':2: point x'),
                           ('point,rep,message,intent\nx,1\n', ':2: 2 cells'),
                           ('point,rep,message,intent', 'half-written'),
                           (f'point,rep,message,intent\n{self.run_.plan[0][0]},1,0,soon\n', ':2: intent is "soon"')):
            self.file('samples.csv', text)
            self.refused('samples.csv', word)

    def test_without_matplotlib(self):
        """A Python that has none: a module of that name which can't be imported stands before it."""
        hidden = os.path.join(self.tmp, 'hidden')
        os.makedirs(hidden)
        with open(os.path.join(hidden, 'matplotlib.py'), 'w', encoding='ascii') as f:
            f.write('raise ModuleNotFoundError("No module named matplotlib", name="matplotlib")\n')
        os.environ['PYTHONPATH'] = hidden
        try:
            self.refused('matplotlib is missing', 'python3-matplotlib')
        finally:
            del os.environ['PYTHONPATH']
            shutil.rmtree(hidden)


if __name__ == '__main__':
    main()

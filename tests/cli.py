# SPDX-License-Identifier: Apache-2.0
"""What the tests of the command line share. They run a program whose stages are
fake (tests/fake_stages.c):  test_cli_NAME.py PROGRAM
"""
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv[1])
HEADER = ('schema,point,rep,seq,t_start_ns,experiment,probe,varied,value,nic,issuer,submitter,size_b,'
          'stage,interval,link,metric,unit,n,mean,ci_lo,ci_hi,min,p50,p90,p99,p999,max,mad,origin,'
          'order_class,status,reason_code,reason')
OK, FAILED, USAGE, REFUSED, INVALID, SKIPPED, TIMEOUT = 0, 1, 2, 5, 6, 77, 124
# Of what takes moments: a bound against hanging, far beyond what a busy machine needs.
BOUND = 150


def strict_json(path):
    """JSON as the standard has it: NaN and repeated names are errors."""
    def no_constant(word):
        raise ValueError(f'{path}: {word}')

    def no_repeats(pairs):
        if len({k for k, _ in pairs}) != len(pairs):
            raise ValueError(f'{path}: a name stands twice')
        return dict(pairs)
    with open(path, encoding='utf-8') as f:
        return json.load(f, parse_constant=no_constant, object_pairs_hook=no_repeats)


def strict_csv(path):
    """Rows as dicts; every record must have as many cells as the header."""
    with open(path, encoding='utf-8', newline='') as f:
        text = f.read()
    assert '\r' not in text, f'{path}: CR'
    assert text.endswith('\n'), f'{path}: last line is cut'
    records = list(csv.reader(text.splitlines(keepends=True), strict=True))
    for r in records[1:]:
        assert len(r) == len(records[0]), f'{path}: {r}'
        for cell in r:
            assert cell.lower() not in ('nan', '-nan', 'inf', '-inf', 'n/a'), f'{path}: {r}'
    return [dict(zip(records[0], r)) for r in records[1:]]


class Case(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.mkdtemp(prefix='fivestage-test-')
        self.addCleanup(shutil.rmtree, self.tmp, ignore_errors=True)
        self.out = os.path.join(self.tmp, 'out')

    def path(self, name, text=None):
        p = os.path.join(self.tmp, name)
        if text is not None:
            os.makedirs(os.path.dirname(p), exist_ok=True)
            with open(p, 'w', encoding='utf-8') as f:
                f.write(text)
        return p

    def run_it(self, *args, code=OK, env=None, program=None):
        r = subprocess.run([program or PROGRAM, *args], cwd=self.tmp, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=BOUND,
                           env={**os.environ, **(env or {})}, check=False)
        self.assertEqual(r.returncode, code, f'{args}\n{r.stdout}\n{r.stderr}')
        return r

    def run_out(self, *args, **kw):
        return self.run_it('run', '-o', self.out, *args, **kw)

    def summary(self):
        with open(os.path.join(self.out, 'summary.csv'), encoding='utf-8') as f:
            self.assertEqual(f.readline().rstrip('\n'), HEADER)
        return strict_csv(os.path.join(self.out, 'summary.csv'))

    def run_json(self):
        return strict_json(os.path.join(self.out, 'run.json'))

    def files(self):
        return sorted(os.path.relpath(os.path.join(d, f), self.out)
                      for d, _, names in os.walk(self.out) for f in names)

    def resume(self, *args, **kw):
        return self.run_it('run', '--resume', '-o', self.out, *args, **kw)

    def wait_for(self, condition, seconds=BOUND):
        """Polls until condition() is true and returns what it gave; bounded."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            got = condition()
            if got:
                return got
            time.sleep(0.01)
        return self.fail(f'waited {seconds} s in vain')

    def points(self):
        """Finished points: name -> bytes."""
        d = os.path.join(self.out, 'points')
        names = os.listdir(d) if os.path.isdir(d) else []
        got = {}
        for n in names:
            if not n.startswith('.') and n.endswith('.csv'):
                with open(os.path.join(d, n), 'rb') as f:
                    got[n] = f.read()
        return got

    def check_whole(self):
        """Whatever stands under its final name is whole."""
        for f in self.files():
            path = os.path.join(self.out, f)
            if os.path.basename(f).startswith('.'):
                continue
            if f.endswith('.json'):
                strict_json(path)
            else:
                strict_csv(path)

    def by_value(self, rows):
        got = {}
        for r in rows:
            got.setdefault(r['value'], []).append(r)
        return got


def processes_with(mark):
    """Ids of the processes that have FS_TEST_MARK=mark in their environment."""
    want, found = f'FS_TEST_MARK={mark}'.encode(), []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/environ', 'rb') as f:
                here = want in f.read().split(b'\0')
            with open(f'/proc/{pid}/stat', encoding='ascii', errors='replace') as f:
                dead = f.read().rsplit(')', 1)[1].split()[0] in 'ZX'
        except OSError:
            continue
        if here and not dead:
            found.append(int(pid))
    return found


def main():
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=1)

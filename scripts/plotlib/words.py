# SPDX-License-Identifier: Apache-2.0
"""What is written around a figure: what varies, what is fixed, what an interval is
of, and every point that is flagged, skipped or failed, with its reason."""
import os

from .look import VARIABLE_UNIT
from .page import plain

SLOTS = 12                      # names of points in a row, before "and N more"


def si(x, unit):
    """A value's unit for the whole axis: (divisor, unit). Times get a readable one."""
    if unit != 'ns':
        return 1.0, unit
    for limit, div, name in ((2e4, 1.0, 'ns'), (2e7, 1e3, 'us'), (2e10, 1e6, 'ms')):
        if x < limit:
            return div, name
    return 1e9, 's'


def value_text(variable, text):
    """64 KiB rather than 65536, for variables in bytes."""
    if VARIABLE_UNIT.get(variable) == 'B' and text.isascii() and text.isdigit():
        n = int(text)
        for unit, shift in (('GiB', 30), ('MiB', 20), ('KiB', 10)):
            if n >= 1 << shift and n % (1 << shift) == 0:
                return f'{n >> shift} {unit}'
        return f'{n} B' if n else '0'
    return text


def variable_text(variable):
    unit = VARIABLE_UNIT.get(variable)
    return f'{variable} [{unit}]' if unit else variable or 'experiment'


def listed(names):
    more = len(names) - SLOTS
    return ', '.join(names[:SLOTS]) + (f' and {more} more' if more > 0 else '')


def title(group, what):
    by = f', by {group.varied}' if group.varied else ''
    return f'{group.heading}: {what}{by}'


def about(group):
    varies = f'Varies: {group.varied} ({len(group.points)} values). ' if group.varied else 'One point: nothing varies. '
    said = [f'{n}={value_text(n, v)}'.replace(' ', '') for n, v in group.fixed if v != 'auto']
    auto = [n for n, v in group.fixed if v == 'auto']
    return [varies + 'Fixed: ' + ' '.join(said) + '.'] + ([f'Left at auto: {", ".join(auto)}.'] if auto else [])


def intervals(means):
    """Of which kind the intervals of these figures are."""
    over = {m.over for m in means}
    runs = sorted({m.runs for m in means if m.over == 'runs'})
    out = []
    if 'runs' in over:
        n = str(runs[0]) if len(runs) == 1 else f'{runs[0]} to {runs[-1]}'
        out.append(f'Unit is the run: means over {n} runs of each point; intervals are 95 % (Student) over the runs.')
    if 'row' in over:
        who = 'Points with one run: its mean; the interval' if 'runs' in over else 'One run of each point; intervals'
        out.append(f'{who} (95 %) are of the messages within the run and say nothing of the next run.'
                   if 'runs' not in over else
                   f'{who} (95 %) is of the messages within the run and says nothing of the next run.')
    if '' in over:
        out.append('Where no interval is drawn the row has none.')
    return [' '.join(out)] if out else []


def troubles(group, without=(), lacking=''):
    """Flagged, skipped and failed points by reason; `without`: points that have no figure here."""
    by = {}
    for p in group.points:
        for (status, why), n in p.reasons.items():
            of = '' if p.repeat == 1 or n == p.repeat else f' ({n} of {p.repeat} runs)'
            by.setdefault((status, why), []).append(plain(value_text(group.varied, p.label)) + of)
    out = []
    for status in ('failed', 'skipped', 'flagged'):
        for (s, why), names in by.items():
            if s == status:
                mark = '!' if s == 'flagged' else 'x'
                out.append(f'{mark} {s}: {listed(names)}: {plain(why) or "no reason given"}')
    silent = [plain(value_text(group.varied, p.label)) for p in without if not p.reasons]
    if silent:
        out.append(f'x not drawn: {listed(silent)}: {lacking}')
    return out


def source(group):
    """Which run it is, and on what."""
    run = group.results.run
    parts = [f'From {os.path.join(*os.path.abspath(group.results.dir).split(os.sep)[-2:])}']

    def dig(*names):
        at = run
        for n in names:
            at = at.get(n) if isinstance(at, dict) else None
        return at
    if isinstance(run.get('revision'), str):
        parts.append(f'revision {run["revision"]}')
    if isinstance(run.get('start'), str):
        parts.append(run['start'])
    cpu = dig('environment', 'before', 'cpu', 'model')
    if isinstance(cpu, str):
        parts.append(cpu)
    gpus = dig('machine', 'gpus')
    if isinstance(gpus, list):
        names = [g['name'] for g in gpus if isinstance(g, dict) and isinstance(g.get('name'), str)]
        if names:
            parts.append(f'{len(names)} x {names[0]}' if len(names) > 1 else names[0])
    return [plain(', '.join(parts)) + '.']

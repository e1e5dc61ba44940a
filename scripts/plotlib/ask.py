# SPDX-License-Identifier: Apache-2.0
"""What the scripts that print sentences about a result directory have in common: their command line, how
they end, and how they write a size. No matplotlib here."""
import sys

from . import Refused


def options(argv, names):
    """(directory, {option: text}) of `--name VALUE` and `--name=VALUE`."""
    argv, given, places = list(argv), {}, []
    while argv:
        a = argv.pop(0)
        name, eq, text = a.partition('=')
        if name in names:
            if not eq and not argv:
                raise Refused(f'{name} needs a value')
            if name in given:
                raise Refused(f'{name} stands twice')
            given[name] = text if eq else argv.pop(0)
        elif a.startswith('-'):
            raise Refused(f'{a} is no option; there are: {", ".join(names)}, --help')
        else:
            places.append(a)
    if len(places) != 1:
        raise Refused(f'one result directory is looked at, {len(places)} are named; see --help')
    return places[0], given


def size_text(x):
    """As a number that can be typed, where it is a whole one; three digits else, and never an exponent."""
    unit, shift = next(((u, s) for u, s in (('MiB', 20), ('KiB', 10)) if x >= 1 << s), ('B', 0))
    x /= 1 << shift
    return f'{x:.0f} {unit}' if x >= 100 or x == int(x) else f'{x:.3g} {unit}'


def said_over(means):
    """What intervals are of."""
    return 'over the runs' if {m.over for m in means if m} == {'runs'} else 'within the run, which says nothing of the next one'


def troubles(figures):
    """What is to be known of [(Point, Mean)] besides: '; ...', or nothing. A point is limited by something else than it
    says where any of its repetitions is flagged; and its mean is of those repetitions alone that didn't fail."""
    figures, out = [(p, m) for p, m in figures if m], []
    flagged = sum(p.runs('flagged') > 0 for p, _ in figures)
    if flagged:
        out.append(f'; {flagged} of {len(figures)} points are flagged')
    ways = {'failed': lambda p, m: p.runs('failed'), 'were skipped': lambda p, m: p.runs('skipped'),
            'have no figure': lambda p, m: max(0, p.repeat - m.runs - p.runs('failed') - p.runs('skipped'))}
    for said, count in ways.items():
        lost = [(count(p, m), p.repeat) for p, m in figures if count(p, m)]
        if lost:
            out.append(f'; {sum(n for n, _ in lost)} of {sum(n for _, n in lost)} repetitions {said}, '
                       f'at {len(lost)} of {len(figures)} points')
    return ''.join(out)


def main(script, doc, lines_of):
    """Prints each line that lines_of(argv) gives, or its help; the exit code."""
    argv = sys.argv[1:]
    try:
        if any(a in ('-h', '--help') for a in argv):
            print(doc.strip())
            return 0
        for text in list(lines_of(argv)):
            print(text)
        return 0
    except Refused as e:
        why = str(e)
    except OSError as e:
        why = f'{e.filename or "stdout"}: {e.strerror or e}'
    print(f'scripts/{script}: {why}', file=sys.stderr)
    return 2

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws a result directory of `fivestage run`.

  scripts/plot.py DIR [-o OUT] [--kind K,...] [--experiment E,...] [--compare E,E,...]
                  [--vary NAME] [--metric M] [--stage S] [--published FILE] [--format svg,png]

Without options every experiment in DIR is drawn, in the kinds that fit it, into
DIR/plots: EXPERIMENT.KIND.svg and .png. A line on stdout for each file.

  -o OUT            where to; made if it isn't there
  --kind            stack   the five stages of each point on each other (means)
                    share   the same as parts of the whole
                    size    means by message size
                    sweep   means by any other variable
                    ladder  of the probe tlb: a load by the lines touched, an arm a line
                    dist    quantiles, and the samples of --raw where there are some
  --experiment      these alone
  --compare         the points of several experiments in one figure; they may differ in
                    one column of plan.csv
  --vary            of a grid (--cross): the variable on the x axis
  --metric          of sweep and dist: another one than the experiment's first
  --stage           of dist: another one than the total
  --published       values of papers (results/published) beside those of the run, in stack, size and
                    sweep: where axis and settings fit, as series of their own
  --format          svg, png or both (default)

Needs matplotlib 3.6 or later (Debian: python3-matplotlib) and nothing else.
Exit codes: 0 drawn; 2 refused, with one sentence that says why; 130 interrupted.
"""
import contextlib
import os
import sys

sys.dont_write_bytecode = True      # the sources' directory may be shared, or read-only
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

# pylint: disable=wrong-import-position
from plotlib import Refused, load, points, published

FORMATS = ('svg', 'png')
KINDS = ('stack', 'share', 'size', 'sweep', 'ladder', 'dist')
OPTIONS = ('-o', '--kind', '--experiment', '--compare', '--vary', '--metric', '--stage', '--published', '--format')


# ---- the command line ----
def several(option, text, legal, what):
    out = []
    for word in text.split(','):
        if word not in legal:
            raise Refused(f'{option}: there is no {what} "{word}"; there {"is" if len(legal) == 1 else "are"}: '
                          f'{", ".join(legal)}')
        if word not in out:
            out.append(word)
    return out


def options(argv):
    """(DIR, {option: text})"""
    given, places, args = {}, [], list(argv)
    while args:
        a = args.pop(0)
        if a == '--':
            places += args
            break
        name, eq, text = a.partition('=') if a.startswith('--') else (a, '', '')
        if not a.startswith('-') or a == '-':
            places.append(a)
            continue
        if name not in OPTIONS:
            raise Refused(f'{name} is no option; there are: {", ".join(OPTIONS)}, --help')
        if name in given:
            raise Refused(f'{name} stands twice')
        if not eq and not args:
            raise Refused(f'{name} needs a value')
        given[name] = text if eq else args.pop(0)
        if not given[name]:
            raise Refused(f'{name} needs a value')
    if len(places) != 1:
        raise Refused(f'one result directory is drawn at a time, {len(places)} are named; see --help')
    if '--compare' in given and '--experiment' in given:
        raise Refused('--compare names experiments already: it goes without --experiment')
    return places[0], given


# ---- what is drawn ----
def fitting(group, metric, stage):
    """The kinds that show something of this group; metric and stage are None where not asked for."""
    out = []
    if not metric and not stage and any(p.stages() for p in group.points):
        out += ['stack']
        if any(p.stages() and min(p.parts().values()) >= 0 < sum(p.parts().values()) for p in group.points):
            out += ['share']
    metric = metric or next(iter(group.metrics), None)
    if not stage and group.varied and len(group.shown(metric)) > 1:
        out += ['size' if group.varied == 'size' else 'sweep']
    if not stage and metric == 'latency' and any(p.has_rungs() for p in group.points):
        out += ['ladder']
    if any(p.quantiles(s, metric) for p in group.points for s in ([stage] if stage else p.figure_stages(metric))):
        out += ['dist']
    return out


def groups(results, given):
    rows_of = points.experiments(results)
    if '--vary' in given and given['--vary'] not in results.variables:
        raise Refused(f'{results.plan_path}:1: there is no column "{given["--vary"]}"; variables are: '
                      f'{", ".join(results.variables)}')
    if '--compare' in given:
        names = several('--compare', given['--compare'], list(rows_of), 'experiment')
        return [points.group_together(results, names, rows_of)]
    names = several('--experiment', given['--experiment'], list(rows_of), 'experiment') \
        if '--experiment' in given else list(rows_of)
    return [g for n in names for g in points.groups_of(results, n, rows_of[n], given.get('--vary'))]


def reasons(group):
    found = []
    for p in group.points:
        for status, why in p.reasons:
            if f'{status}: {why}' not in found:
                found.append(f'{status}: {why}')
    return '; '.join(found[:3]) + (f'; and {len(found) - 3} reasons more' if len(found) > 3 else '')


def lacking(group, metric, stage):
    metric = metric or next(iter(group.metrics), None)
    if not metric:
        return 'its rows have no mean of anything'
    n = len(group.shown(metric))
    return (f'{n or "no"} point{"" if n == 1 else "s"} with a mean of {metric}, and no quantiles'
            f'{" of stage " + stage if stage else ""}: no kind that was asked for shows that')


def jobs(results, given, found, papers):
    """[(group, kind, published series)], and of groups without a figure why."""
    kinds = several('--kind', given['--kind'], KINDS, 'kind') if '--kind' in given else None
    if papers and kinds and not set(kinds) <= set(published.KINDS):
        raise Refused(f'--published stands beside means: it goes with {", ".join(published.KINDS)}')
    metrics = sorted({m for g in found for m in g.metrics})
    if '--metric' in given:
        several('--metric', given['--metric'], metrics, 'metric in these experiments,')
        if ',' in given['--metric']:
            raise Refused('--metric: one at a time')
    out, silent = [], []
    for g in found:
        mine = fitting(g, given.get('--metric'), given.get('--stage'))
        # What was named has to be drawn, or refused in words; among all experiments, where it fits.
        one = '--experiment' in given or '--compare' in given or len(found) == 1
        if kinds:
            mine = kinds if one else [k for k in kinds if k in mine]
        beside = ()
        if papers:
            mine = [k for k in mine if k in published.KINDS]
            beside, why = papers.beside(g, given.get('--metric'))
            if not beside and one:
                raise Refused(f'{results.path}: {g.heading}: nothing published stands beside it: {why}')
            if not beside:
                silent.append((g, f'nothing published stands beside it: {why}'))
                continue
        if not mine:
            silent.append((g, reasons(g) or lacking(g, given.get('--metric'), given.get('--stage'))))
        out += [(g, k, beside) for k in mine]
    if not out:
        g, why = silent[0]
        raise Refused(f'{results.path}: nothing to draw: {g.heading}: {why}'
                      + (f' (and {len(silent) - 1} experiments more)' if len(silent) > 1 else ''))
    return out, silent


def histograms(results, wanted, given):
    """What dist wants of samples.csv, read in one pass; of planted points nothing."""
    from plotlib import samples, spread
    stages, point = {}, {}
    if not samples.there(results):
        return {}
    for g, kind, _ in wanted:
        if kind != 'dist':
            continue
        metric, pairs = spread.wanted(g, given.get('--metric'), given.get('--stage'))
        for p, s in pairs:
            if metric == 'latency' and not samples.planted(results, p):
                stages.setdefault(p.id, set()).add(s)
                point[p.id] = p
    wanted = {i: samples.Wanted(point[i], sorted(s)) for i, s in stages.items()}
    if wanted:
        samples.read(results, wanted)
    return {(i, s): h for i, w in wanted.items() for s, h in w.hist.items() if h.n}


def left_out(results, wanted, given):
    """[(heading, how many)] of the planted points that would have a histogram else."""
    from plotlib import samples, spread
    out = []
    for g, kind, _ in wanted if samples.there(results) else ():
        if kind == 'dist':
            metric, pairs = spread.wanted(g, given.get('--metric'), given.get('--stage'))
            n = len({p.id for p, s in pairs if metric == 'latency' and p.quantiles(s, metric) and samples.planted(results, p)})
            out += [(g.heading, n)] if n else []
    return out


def draw(group, kind, given, hist, beside):
    from plotlib import bars, curves, ladders, spread
    metric = given.get('--metric')
    if kind == 'ladder':
        return ladders.ladder(group)
    if kind in ('stack', 'share'):
        return bars.stacked(group, metric, kind == 'share', beside)
    if kind == 'dist':
        return spread.dist(group, metric, given.get('--stage'), hist)
    return curves.sweep(group, metric, kind, beside)


def with_matplotlib():
    """Only now, since it takes longer to load than most directories."""
    try:
        import matplotlib
        if tuple(int(x) for x in matplotlib.__version__.split('.')[:2]) < (3, 6):
            raise Refused(f'matplotlib {matplotlib.__version__} is too old: 3.6 or later is needed')
        from plotlib import page
    except ImportError as e:
        raise Refused(f'{e.name} is missing in {sys.executable}: install matplotlib (Debian: python3-matplotlib, '
                      f'for /usr/bin/python3)') from e
    return page


def directory(given, where):
    out = given.get('-o', os.path.join(where, 'plots'))
    try:
        os.makedirs(out, exist_ok=True)
    except OSError as e:
        raise Refused(f'{out}: cannot be made: {e.strerror}') from e
    return out


def run(argv):
    if any(a in ('-h', '--help') for a in argv):
        print(__doc__.strip())
        return
    where, given = options(argv)
    formats = several('--format', given.get('--format', ','.join(FORMATS)), FORMATS, 'format')
    results = load.Results(where)
    papers = published.Published(given['--published']) if '--published' in given else None
    wanted, silent = jobs(results, given, groups(results, given), papers)
    page = with_matplotlib()
    hist = histograms(results, wanted, given)
    page.start()
    out, used = directory(given, where), set()
    pages = []
    for g, kind, beside in wanted:
        # Suffixes of what isn't the default, so that figures don't overwrite each other.
        stem = '.'.join([g.name, kind] + [given[o] for o in ('--metric', '--stage') if o in given]
                        + ['published'] * bool(beside))
        stem = page.safe(stem)
        while stem in used:
            stem += '_'
        used.add(stem)
        pages.append((g, kind, beside, stem))
    from plotlib import hands
    with contextlib.closing(hands.drawn(pages, lambda j: draw(j[0], j[1], given, hist, j[2]).save(out, j[3], formats),
                                        fault_of)) as figures:
        for paths in figures:
            for path in paths:
                print(path, flush=True)
    for heading, n in left_out(results, wanted, given):
        print(f'not drawn: {heading}: samples of {n} planted point{"" if n == 1 else "s"}: they are of plain blocks too, rows of planted ones alone')
    for g, why in silent:
        print(f'not drawn: {g.heading}: {why}')


def fault_of(e):
    if isinstance(e, OSError):
        return f'{e.filename or "stdout"}: {e.strerror or e}'
    if isinstance(e, MemoryError):
        return 'out of memory'
    at = e.__traceback__
    while at.tb_next:
        at = at.tb_next
    return (f'a fault of this script, not of what it reads: {type(e).__name__}: {e} '
            f'({os.path.basename(at.tb_frame.f_code.co_filename)}:{at.tb_lineno})')


def main():
    try:
        run(sys.argv[1:])
        sys.stdout.flush()
        return 0
    except Refused as e:
        said = str(e)
    except BrokenPipeError:     # nobody reads the list any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except Exception as e:      # pylint: disable=broad-except
        said = fault_of(e)
    # One line, whatever was in a file's name or in a cell.
    said = ''.join(c if c.isprintable() else '?' for c in f'scripts/plot.py: {said}')
    print(said.encode('utf-8', 'replace').decode('utf-8'), file=sys.stderr)
    return 2


if __name__ == '__main__':
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""From which size on one way of sending costs less than another: between which sizes two arms change
sides, and where two lines over the size meet. No matplotlib here.

At each size that both arms have, the difference of their means has an interval: both arms' half
widths, as of independent means (over runs with two repetitions or more, else within the run).
A size is sure where that interval doesn't hold nought. The crossover is between the last size at which
one arm is sure to be better and the next one at which the other is: that follows from what was measured alone.
Where in there is an assumption: means and ends are joined by straight lines, the crossover is where
the means' line meets nought, and its interval reaches from where the first end meets it to where the
other one does. That interval holds what the means may be off, and not how far the arms are from straight lines.
Where all sizes are sure and alike it is excluded in their range, if there are enough of them; it is
never guessed beyond the sizes that were measured.
"""
import math
from collections import namedtuple

# found: 'crossover', 'excluded', 'undecided' or 'several'; at, lo, hi: sizes; below: which arm costs less
# below it, or everywhere ('a' or 'b'); sizes: first and last that both have; between: the last that is sure on
# one side and the first that is on the other
Found = namedtuple('Found', 'found at lo hi below sizes n between', defaults=(None,))
# Sizes that a range has, at least, for a crossover to be excluded in it: its ends, and one inside.
RANGE = 3


def bare(a, b):
    """The sizes that both arms have a mean at, and one of them at least no interval."""
    return [s for s in sorted(set(a) & set(b)) if a[s] and b[s] and not (a[s].over and b[s].over)]


def differences(a, b):
    """[(size, low, mean, high)] of b less a, by size; an arm is {size: Mean}. Sizes without an interval in
    one of them say nothing, and are named by bare()."""
    out = []
    for size in sorted(set(a) & set(b)):
        x, y = a[size], b[size]
        if x is None or y is None or not x.over or not y.over:
            continue
        half = math.hypot((x.hi - x.lo) / 2, (y.hi - y.lo) / 2)
        d = y.mean - x.mean
        out.append((size, d - half, d, d + half))
    return out


def sure(d):
    return 1 if d[1] > 0 else -1 if d[3] < 0 else 0


def meets(d, first, last, k):
    """Where column k of the differences meets nought between two of them; the first place from `first` on."""
    for (s, *u), (t, *v) in zip(d[first:last], d[first + 1:last + 1]):
        x, y = u[k], v[k]
        if x == 0:
            return s
        if x * y <= 0:
            return s + (t - s) * x / (x - y)
    return None


def crossover(a, b):
    """Of arms a and b."""
    d = differences(a, b)
    ends = (d[0][0], d[-1][0]) if d else (None, None)
    known = [i for i, x in enumerate(d) if sure(x)]
    signs = [sure(d[i]) for i in known]
    changes = [k for k in range(1, len(known)) if signs[k] != signs[k - 1]]
    if not known or (not changes and len(known) < len(d)):
        return Found('undecided', None, None, None, None, ends, len(d))
    less = 'a' if signs[0] > 0 else 'b'
    if not changes:
        return Found('excluded' if len(d) >= RANGE else 'undecided', None, None, None, less, ends, len(d))
    if len(changes) > 1:
        return Found('several', None, None, None, None, ends, len(d))
    first, last = known[changes[0] - 1], known[changes[0]]
    between = d[first][0], d[last][0]
    near, far = (0, 2) if signs[0] > 0 else (2, 0)      # the end that leaves its side first
    lo, at = meets(d, first, last, near), meets(d, first, last, 1)
    back = [(-t, *v) for t, *v in reversed(d[first:last + 1])]
    hi = -meets(back, 0, len(back) - 1, far)
    # a size that isn't sure outside of these two could hold another one
    if any(not sure(x) for x in d[:first] + d[last:]):
        return Found('undecided', at, lo, hi, less, ends, len(d), between)
    return Found('crossover', at, lo, hi, less, ends, len(d), between)

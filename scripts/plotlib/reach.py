# SPDX-License-Identifier: Apache-2.0
"""The first size at which a goodput reaches a share of a ceiling, with an interval. No matplotlib here.

A size reaches it if its mean is at least the share of the ceiling's mean. It is sure to if the lower end of
its interval is at least the share of the ceiling's upper end, and can't if its upper end is below
the share of the ceiling's lower end. `at` is the first measured size that reaches it; `lo` the first
that could, `hi` the first that surely does. Nothing is interpolated: sizes between those that were
measured are not known.
"""
from collections import namedtuple

# at, lo, hi: sizes that were measured, or None where there is none; known: whether there are intervals; lost:
# larger sizes than `at` that don't reach it
Reach = namedtuple('Reach', 'at lo hi known lost')


def highest(arm):
    """(size, Mean) of the highest mean."""
    return max(arm.items(), key=lambda x: x[1].mean)


def reach(arm, ceiling, share):
    """Of {size: Mean} against the Mean of a ceiling."""
    sizes = sorted(arm)

    def first(good):
        return next((s for s in sizes if good(arm[s])), None)

    at = first(lambda m: m.mean >= share * ceiling.mean)
    lost = [s for s in sizes if at is not None and s > at and arm[s].mean < share * ceiling.mean]
    if not ceiling.over or not all(arm[s].over for s in sizes):
        return Reach(at, None, None, False, lost)
    return Reach(at, first(lambda m: m.hi >= share * ceiling.lo), first(lambda m: m.lo >= share * ceiling.hi), True, lost)

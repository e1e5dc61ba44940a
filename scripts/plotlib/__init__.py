# SPDX-License-Identifier: Apache-2.0
"""Figures of a result directory; scripts/plot.py is the command.

    look      names, colours, hatches and marks: the one table
    load      run.json, plan.csv and summary.csv, read strictly
    samples   samples.csv, where --raw left one
    better    which way each metric is better
    points    from rows to what a figure shows of each point; what may be compared
    page      one page: title, axes, legend, captions, and its files
    kinds     what is drawn on it

Nothing here prints or exits. What can't be drawn raises Refused, with one
sentence that names the file and, where there is one, the line.
"""


class Refused(Exception):
    """One sentence for the user; the command ends with 2."""

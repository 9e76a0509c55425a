"""Rewrite an archive of MovieLens 1M: rewritten.py KIND ARCHIVE OUTPUT.

`times` replaces each rating by 3, and the times of a user by 0, 1, 2 ... in the same order, with
the same ties, which the study should not see. `lines` puts the ratings in a random order.
"""

import sys
import zipfile

import numpy as np

MEMBER = "ml-1m/ratings.dat"


def with_other_times(user, item, time):
    order = np.lexsort((time, user))
    is_later = np.diff(time[order], prepend=-1) != 0
    is_other = np.diff(user[order], prepend=-1) != 0
    place = np.cumsum(is_later | is_other)
    first_of_user = np.maximum.accumulate(np.where(is_other, place, 0))
    counted = np.empty_like(time)
    counted[order] = place - first_of_user
    return np.column_stack([user, item, np.full_like(user, 3), counted])


def main():
    kind, archive, output = sys.argv[1:]
    with zipfile.ZipFile(archive) as zipped:
        lines = zipped.read(MEMBER).decode("latin-1").split()
    events = np.array([line.split("::") for line in lines], dtype=np.int64)
    if kind == "times":
        events = with_other_times(events[:, 0], events[:, 1], events[:, 3])
    else:
        events = np.random.default_rng(0).permutation(events)
    text = "".join(f"{u}::{i}::{r}::{t}\n" for u, i, r, t in events.tolist())
    with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr(MEMBER, text)


if __name__ == "__main__":
    main()

"""Counts of the candidates above ranked items by scores that are made some items at a time."""

import numpy as np

from sampled_metrics._base.arrays import CACHE, Int, blocks, count_rows
from sampled_metrics._base.tiles import Tiles
from sampled_metrics.ranks.counting import Counts, Task
from sampled_metrics.ranks.products import SLACK, UNIT

_TINY = float(np.finfo(np.float32).smallest_subnormal)


def by_tiles(tiles: Tiles, users: Int, task: Task) -> Counts:
    """Count candidates per user, and better and tied candidates per item, tile by tile."""
    task.require_shape(len(tiles), tiles.n_items)
    row, item = task.ranked.of(users)
    n_candidates = tiles.n_items - task.seen.size[users]
    # In float32 scores are summed in half the time; those that are too close are compared again.
    histories = tiles.histories[users].astype(np.float32)
    own, terms = tiles.of_pairs(users[row], item), np.diff(histories.indptr)[row]
    margin = 2 * UNIT * (terms + SLACK) * own + 2 * terms * _TINY
    low, high = (own - margin).astype(np.float32), (own + margin).astype(np.float32)
    n_better, n_tied = np.zeros(row.size, np.int64), np.full(row.size, -1)
    for first, columns in tiles:
        # Nothing vanishes, so scores are 0 where they are 0 in float32.
        short = np.maximum(columns, (columns > 0.0) * _TINY).astype(np.float32)
        for pairs in blocks(row.size, tiles.width, CACHE):
            scores = histories[row[pairs]] @ short
            place, seen = task.seen.of(users[row[pairs]])
            both = np.flatnonzero(seen == item[pairs][place])
            if both.size:
                task.refuse_item(0.0, users[row[pairs]][place[both[0]]], seen[both[0]])
            here = (seen >= first) & (seen < first + columns.shape[1])
            scores[place[here], seen[here] - first] = -np.inf
            above = scores > high[pairs, None]
            n_better[pairs] += count_rows(above)
            n_tied[pairs] += np.where(own[pairs] == 0.0, count_rows(scores == 0.0), 0)
            close = (scores >= low[pairs, None]) ^ above
            place, other = np.nonzero(close & (scores > 0.0))
            pair = pairs.start + place
            scored = tiles.of_columns(users[row[pair]], columns, other)
            for counts, counted in ((n_better, scored > own[pair]), (n_tied, scored == own[pair])):
                counts += np.bincount(pair[counted], minlength=row.size)
    return [(n_candidates, n_better, n_tied)]

"""Shape of a metric where relevant items have random ranks, which an interval is mixed with.

It gives an interval the values that are possible but did not occur, see `population`: their range,
and moments for half a user.
"""

from collections.abc import Collection

import numpy as np

from sampled_metrics._base.arrays import Float, Int, starts
from sampled_metrics.estimators.least_squares import rank_rule
from sampled_metrics.intervals.population import Shape
from sampled_metrics.metrics import Measure, values
from sampled_metrics.metrics.levels import random_places
from sampled_metrics.ranks import Ranks

_UNKNOWN_SIZE = 1000  # candidates, if their number is not known


def prior_shapes(measures: Collection[Measure], ranks: Ranks) -> dict[Measure, Shape]:
    """Calculate the shapes of metrics of the users of `ranks` in a uniformly random ranking.

    The ranks of one relevant item are summed over; further relevant items of its user have ranks
    drawn with a fixed seed. The range is from the worst value to the best value that any
    of the users can have.

    Examples
    --------
    >>> several = Ranks([9, 9], [0, 1, 4], [0, 0, 0], n_found=[2, 1])
    >>> (shape,) = prior_shapes([Measure("precision", 4)], several).values()
    >>> shape.low, shape.high  # no item or both items of the first user in the top 4
    (0.0, 0.5)
    """
    n = ranks.mean_candidates or _UNKNOWN_SIZE
    places, weights = rank_rule(list(measures), n, 1)
    if (ranks.n_relevant == 1).all():
        return {measure: Shape.of(measure.at(places, n), weights) for measure in measures}
    drawn = _at_places(ranks, places)
    tied = _all_tied(ranks)
    shapes = {}
    for measure in measures:
        low = 0.0
        high = 1.0
        if not measure.metric.pooled:
            low = float(values(measure, tied, "pessimistic").min())
            high = float(values(measure, tied, "optimistic").max())
        shape = Shape.of(values(measure, drawn), weights)
        shapes[measure] = shape._replace(low=low, high=high)
    return shapes


def _at_places(ranks: Ranks, places: Float) -> Ranks:
    """Rank an item of some user at each place, and the user's remaining items at random."""
    rng = np.random.default_rng(0)
    rows = np.linspace(0, len(ranks) - 1, places.size).astype(np.int64)
    n_relevant = ranks.n_relevant[rows]
    n = np.maximum(ranks.mean_candidates or _UNKNOWN_SIZE, n_relevant + 1)
    first = np.minimum(np.rint(places).astype(np.int64), n) - 1
    begins = starts(n_relevant)
    item = np.ones(int(n_relevant.sum()), bool)
    item[begins] = False
    above = np.empty(item.size, np.int64)
    above[begins] = first
    others = random_places(n - 1, n_relevant - 1, rng)
    above[item] = others + (others >= np.repeat(first, n_relevant - 1))
    return _made(ranks, rows, n, above, np.zeros_like(above), rng)


def _all_tied(ranks: Ranks) -> Ranks:
    """Tie all candidates of one user of each kind: candidates, and number of relevant items."""
    n = np.where(ranks.n_candidates > 0, ranks.n_candidates, _UNKNOWN_SIZE)
    n = np.maximum(n, ranks.n_relevant)
    _, rows = np.unique(np.column_stack([n, ranks.n_relevant]), axis=0, return_index=True)
    tied = np.repeat(n[rows] - 1, ranks.n_relevant[rows])
    return _made(ranks, rows, n[rows], np.zeros_like(tied), tied, None)


def _made(
    ranks: Ranks, rows: Int, n: Int, above: Int, tied: Int, rng: np.random.Generator | None
) -> Ranks:
    """Rank the relevant items of some users anew; items with grades in a random order by `rng`."""
    users = ranks.take(rows)
    grades = users.relevance
    if grades is not None and rng is not None:
        user = np.repeat(np.arange(rows.size), users.n_relevant)
        grades = grades[np.lexsort((rng.random(user.size), user))]
    made = Ranks(n, above, tied, n_found=users.n_relevant, relevance=grades)
    if ranks.min_relevance > 0.0:
        made = made.at_least(ranks.min_relevance)
    return made

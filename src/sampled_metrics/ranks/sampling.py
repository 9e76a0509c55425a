"""How the negatives of a sampled evaluation are drawn, or were drawn.

A module without numpy, because the help of the commands imports it and must start fast.
"""

from enum import StrEnum

from sampled_metrics._base.errors import InputError, format_value


class Sampling(StrEnum):
    """Way to draw m negatives uniformly from the n - 1 candidates besides the held-out item."""

    WITHOUT_REPLACEMENT = "without-replacement"
    """Every set of m candidates is equally probable; m is at most n - 1."""

    WITH_REPLACEMENT = "with-replacement"
    """Each of m draws is independent, so a candidate may be drawn more than once (eq. 15)."""

    DISTINCT = "distinct"
    """Draws with replacement without the duplicates, so that at most m items are ranked.

    Evaluators that scatter the scores of the m drawn items into a matrix do this.
    """

    @classmethod
    def _missing_(cls, value: object) -> None:
        if "pop" in str(value).lower():
            raise InputError(
                "sampling is that of uniform negatives; drawn by popularity, they gave .09 for a "
                "recall@10 of .23. Pass pairs with ids of items and, instead of sampling, counts= "
                "(--counts), the events of training; without ids score uniform ones (`negatives`), "
                "or rank fully (`evaluate`). For printed numbers, pass counts "
                "to `reported` in place of sampling"
            )
        raise InputError(f"unknown sampling {format_value(value)}; known: {', '.join(cls)}")


class Design(StrEnum):
    """Way to draw negatives with known ids; each draws m different items."""

    UNIFORM = "uniform"
    """Every set of m candidates is equally probable."""

    POPULARITY = "popularity"
    """One after another, each with a probability proportional to the counts of the items left."""

    HALF = "half"
    """m // 2 by popularity, the others uniformly from the items left."""

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise InputError(f"unknown design {format_value(value)}; known: {', '.join(cls)}")

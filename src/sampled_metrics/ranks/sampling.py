"""How the negatives of a sampled evaluation are drawn."""

from enum import StrEnum

from sampled_metrics._base.errors import InputError


class Sampling(StrEnum):
    """Way to draw m negatives for a held-out item from the n - 1 other candidates."""

    WITHOUT_REPLACEMENT = "without-replacement"
    """Every set of m candidates is equally probable; m is at most n - 1."""

    WITH_REPLACEMENT = "with-replacement"
    """Each of m draws is independent, so a candidate may be drawn more than once (eq. 15)."""

    DISTINCT = "distinct"
    """Draws with replacement of which duplicates are dropped, so that at most m items are ranked.

    So do evaluators that scatter the scores of the m drawn items into a matrix.
    """

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise InputError(f"unknown sampling {value!r}; known: {', '.join(cls)}")

"""The result of comparing two recommenders."""

from dataclasses import dataclass

UNDECIDED = "undecided"


@dataclass(frozen=True)
class Compared:
    """The difference of one metric between two recommenders.

    Attributes
    ----------
    a, b
        Their names.
    metric, estimator
        What was computed; `exact` from full rankings.
    value_a, value_b
        Their values as fractions, over the common users if users are paired.
    difference
        value_b - value_a.
    std_error, ci_low, ci_high
        Of the expectation of this difference, see `intervals`. That of estimates from sampled
        ranks is not the difference of the exact metrics.
    range_low, range_high
        Values of the difference of the exact metrics that the sampled ranks allow, see `ranges`;
        from full rankings the interval.
    order
        The recommender with the higher exact metric, `a` or `b`, or `undecided`.
    p_value
        One less the highest confidence at which the range excludes 0, or from full rankings that
        of a test; adjusted for all pairs of the same metric.
    behaves_like
        Resolution of the estimates, see `correct`; None from full rankings and for AUC.
    verdict
        The order, and what the estimates say at their resolution, in words.
    paired
        Whether users were paired.
    n_users
        Number of pairs, or without pairs the smaller number of users.
    n_items
        n, the mean where users differ; None if not known.
    n_negatives, sampling
        m and how negatives were drawn; None for full rankings.
    """

    a: str
    b: str
    metric: str
    estimator: str
    value_a: float
    value_b: float
    difference: float
    std_error: float
    ci_low: float
    ci_high: float
    range_low: float
    range_high: float
    order: str
    p_value: float
    behaves_like: int | None
    verdict: str
    paired: bool
    n_users: int
    n_items: int | None = None
    n_negatives: int | None = None
    sampling: str | None = None

    def in_words(self, order: str | None = None) -> str:
        """Put an order, its own by default, in words."""
        words = {"a": f"{self.a} above {self.b}", "b": f"{self.b} above {self.a}"}
        return words.get(order or self.order, UNDECIDED)

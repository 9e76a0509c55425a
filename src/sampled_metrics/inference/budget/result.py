"""What an evaluation on a budget returns."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.text import Parts
from sampled_metrics.inference.budget.audit import Audited
from sampled_metrics.inference.budget.estimate import Estimate
from sampled_metrics.inference.budget.runs import Run
from sampled_metrics.inference.results import Results, Shown

if TYPE_CHECKING:
    import pandas as pd

    from sampled_metrics.inference.compared import Compared

WEAK_DEPTH = 400.0  # position beyond which a proxy is called weak
DEPTH_SHARE = 0.9  # of the better items lie before the depth
LEAST_CONFIRMED = 5  # audited users with all candidates scored, for a depth
WEAK_DISAGREEMENT = 3.0  # standard deviations between the model and the audit


@dataclass(frozen=True)
class BudgetResult(Shown):
    """Metrics of one or several recommenders.

    Attributes
    ----------
    names, metrics
        Of the recommenders and metrics.
    estimates
        Of each recommender and metric.
    differences
        Of pairs (a, b) of running numbers and each metric: b minus a.
    posterior_mean, posterior_variance
        Of the model per user, shape (recommenders, metrics, users).
    n_asked
        Pairs asked of each recommender, held-out items not counted.
    n_held_out, n_users, n_audited
        Held-out items, users, and users drawn for the audit.
    n_candidates
        Pairs that a full ranking of one recommender scores, held-out items not counted.
    confidence, level
        Coverage asked for, and that of the intervals by themselves, which is higher where the
        evaluation might have stopped before.
    proxy
        Name of the proxy.
    depth
        Position in the proxy's order before which 90 % of the better items of users with few of
        them lie, by the audit; NaN where too few users were ranked fully.
    trials
        Names of the proxies that the pilot tried, with the depths it expects; the least is taken.
    seconds_per_score
        Time that each recommender took per pair, where this package called it.
    """

    names: tuple[str, ...]
    metrics: tuple[str, ...]
    estimates: list[list[Estimate]]
    differences: dict[tuple[int, int], list[Estimate]]
    posterior_mean: Float
    posterior_variance: Float
    n_asked: tuple[int, ...]
    n_held_out: int
    n_users: int
    n_audited: int
    n_candidates: int
    confidence: float
    level: float
    proxy: str
    depth: tuple[float, ...]
    trials: tuple[tuple[str, float], ...] = ()
    seconds_per_score: tuple[float, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per recommender and metric, with its price and its proxy.

        Depth and weakness of the proxy are None where too few users were ranked fully.
        """
        depths = [None if np.isnan(depth) else depth for depth in self.depth]
        return [
            {
                "recommender": name,
                "metric": metric,
                "value": one.value,
                "std_error": one.std_error,
                "ci_low": one.low,
                "ci_high": one.high,
                "model": one.model,
                "n_users": self.n_users,
                "n_held_out": self.n_held_out,
                "n_candidates": self.n_candidates,
                "n_asked": self.n_asked[number],
                "n_audited": self.n_audited,
                "proxy": self.proxy,
                "depth": depths[number],
                "weak_proxy": self.weak[number] or (None if depths[number] is None else False),
            }
            for number, name in enumerate(self.names)
            for metric, one in zip(self.metrics, self.estimates[number], strict=True)
        ]

    def to_frame(self) -> "pd.DataFrame":
        """Return the rows as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def compare(self, correction: str = "holm") -> "Results[Compared]":
        """Compare all pairs of recommenders: which has the higher exact metric, of these users.

        An order is decided if the interval of the difference excludes 0, and also after correction
        for the number of pairs (`none`, `bonferroni`, `holm` or `bh`).
        """
        from sampled_metrics.inference.budget.comparison import compared

        return compared(self, correction)

    def parts(self, **options: Any) -> Parts:
        """Return tables of metrics and orders, and lines about them; see `compare` for options."""
        from sampled_metrics.inference.budget.printed import parts_of

        return parts_of(self, **options)

    @property
    def scores_per_user(self) -> tuple[float, ...]:
        """Scores asked of each recommender per user, held-out items not counted."""
        return tuple(asked / self.n_users for asked in self.n_asked)

    @property
    def full_ranking_seconds(self) -> tuple[float, ...]:
        """Time that a full ranking by each recommender would take, at the speed measured."""
        pairs = self.n_candidates + self.n_held_out
        return tuple(pairs * seconds for seconds in self.seconds_per_score)

    @property
    def weak(self) -> tuple[bool, ...]:
        """Whether the proxy is too weak for a recommender's model to be trusted by itself."""
        return tuple(
            bool(depth > WEAK_DEPTH)
            or any(abs(one.disagreement) > WEAK_DISAGREEMENT for one in row)
            for depth, row in zip(self.depth, self.estimates, strict=True)
        )


def depth_of(run: Run, audited: Audited) -> float:
    """Depth of the proxy's order, by the audited users of whom all candidates were scored."""
    frame = run.counts.frame
    weight = np.zeros(frame.n.shape[0])
    for phase in audited.phases:
        weight[phase.users] = 1.0 / phase.reached
    users = np.flatnonzero((weight > 0) & (run.counts.left.sum(1) == 0))
    if users.size < LEAST_CONFIRMED:
        return float("nan")
    better = np.zeros((users.size, frame.n.shape[1]))
    place, row = frame.rows_of(users)
    np.add.at(better, place, run.counts.better[row])
    sums = np.concatenate([[0.0], np.cumsum(weight[users] @ better)])
    if sums[-1] == 0.0:
        return 0.0
    return float(np.interp(DEPTH_SHARE * sums[-1], sums, frame.edges))

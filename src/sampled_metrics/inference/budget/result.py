"""What an evaluation on a budget returns."""

from dataclasses import dataclass

import numpy as np

from sampled_metrics._base.arrays import Float
from sampled_metrics.inference.budget.counts import Frame
from sampled_metrics.inference.budget.estimate import Estimate
from sampled_metrics.inference.budget.runs import Audited, Run

WEAK_DEPTH = 400.0  # position beyond which a proxy is called weak
DEPTH_SHARE = 0.9  # of the better items lie before the depth
LEAST_CONFIRMED = 5  # audited users with all candidates scored, for a depth
WEAK_DISAGREEMENT = 3.0  # standard deviations between the model and the audit


@dataclass(frozen=True)
class BudgetResult:
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
    proxy
        Name of the proxy.
    depth
        Position in the proxy's order before which 90 % of the better items of users with few of
        them lie, by the audit; NaN where too few users were ranked fully.
    trials
        Names of the proxies that the pilot tried, with the depths it expects; the least is taken.
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
    proxy: str
    depth: tuple[float, ...]
    trials: tuple[tuple[str, float], ...] = ()

    def rows(self) -> list[dict[str, float | str]]:
        """One row per recommender and metric, and per pair and metric of what they differ by."""
        named = [(name, row) for name, row in zip(self.names, self.estimates, strict=True)]
        named += [
            (f"{self.names[b]} - {self.names[a]}", row) for (a, b), row in self.differences.items()
        ]
        return [
            {"recommender": name, "metric": metric, **one._asdict()}
            for name, row in named
            for metric, one in zip(self.metrics, row, strict=True)
        ]

    def __str__(self) -> str:
        lines = [f"{'':20s} {'metric':10s}     value   interval"]
        lines += [
            f"{row['recommender']:20s} {row['metric']:10s} {row['value']:9.5f}   "
            f"[{row['low']:.5f}, {row['high']:.5f}]"
            for row in self.rows()
        ]
        asked = ", ".join(f"{count / self.n_users:.1f}" for count in self.n_asked)
        lines.append(f"{asked} scores per user; proxy {self.proxy}")
        for name, depth in self.trials:
            lines.append(f"pilot: {name} has depth {depth:.0f}")
        for name, depth, weak in zip(self.names, self.depth, self.weak, strict=True):
            if np.isnan(depth):
                lines.append(
                    f"{name}: too few users were ranked fully to tell whether the proxy fits; use "
                    "the intervals alone, or a larger budget"
                )
            elif weak:
                lines.append(
                    f"{name}: weak proxy (depth {depth:.0f}); use the intervals alone, or take "
                    "another proxy, a larger budget, or full rankings of some users"
                )
        return "\n".join(lines)

    @property
    def weak(self) -> tuple[bool, ...]:
        """Whether the proxy is too weak for a recommender's model to be trusted by itself."""
        return tuple(
            bool(depth > WEAK_DEPTH)
            or any(abs(one.disagreement) > WEAK_DISAGREEMENT for one in row)
            for depth, row in zip(self.depth, self.estimates, strict=True)
        )


def depth_of(run: Run, frame: Frame, audited: Audited, number: int) -> float:
    """Depth of the proxy's order, by the audited users of whom all candidates were scored."""
    users = audited.users[run.live[audited.users]]
    users = users[run.counts.left[users].sum(1) == 0]
    if users.size < LEAST_CONFIRMED:
        return float("nan")
    weight = 1.0 / audited.probability[number, 0, users]
    better = np.zeros((users.size, frame.n.shape[1]))
    place, row = frame.rows_of(users)
    np.add.at(better, place, run.counts.better[row])
    sums = np.concatenate([[0.0], np.cumsum(weight @ better)])
    if sums[-1] == 0.0:
        return 0.0
    return float(np.interp(DEPTH_SHARE * sums[-1], sums, frame.edges))

"""Results of an evaluation on a budget, as rows, orders and text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtr, stdtrit

from sampled_metrics._base.calls import Note
from sampled_metrics._base.records import Record
from sampled_metrics._base.text import Parts, format_range, nan_to_none
from sampled_metrics.budget.constants import BUDGET_MARGIN, LEAST_RANKED, MODEL_SHARE
from sampled_metrics.budget.estimates import Estimate
from sampled_metrics.budget.user_audit import Audit
from sampled_metrics.evaluation.compare import Compared, decide_orders
from sampled_metrics.evaluation.compare_text import is_above, order_in_words
from sampled_metrics.evaluation.results import (
    UNDECIDED,
    Results,
    Row,
    Shown,
    note_parts,
    quantity,
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class BudgetResult(Record, Shown):
    """Metrics of one or several recommenders.

    Attributes
    ----------
    names, metrics
        Names of the recommenders; names of the metrics.
    estimates, differences
        `Estimate` of each recommender and metric, and of b minus a for pairs (a, b) of numbers of
        recommenders.
    n_asked
        Pairs scored by each recommender, held-out items not counted.
    n_held_out, n_users, n_audited
        Held-out items, users, and users drawn for the audit.
    n_ranked
        Audited users whose candidates were all scored, for each recommender. Fewer than 15 are not
        enough to judge the proxy.
    n_candidates
        Pairs that a full ranking of one recommender scores, held-out items not counted.
    confidence
        Coverage of the intervals.
    proxy, proxy_helps
        Name of the proxy, and whether the first scores of each recommender are related to its
        order. If not, the scores of the model were spent on ranking random users.
    seconds_per_score
        Time that each recommender took per pair.
    notes
        Questions about the scores and the data, as `Results` have them.
    note_records
        The same with their kinds.
    """

    names: tuple[str, ...]
    metrics: tuple[str, ...]
    estimates: list[list[Estimate]]
    differences: dict[tuple[int, int], list[Estimate]]
    n_asked: tuple[int, ...]
    n_held_out: int
    n_users: int
    n_audited: int
    n_ranked: tuple[int, ...]
    n_candidates: int
    confidence: float
    proxy: str
    proxy_helps: tuple[bool, ...]
    seconds_per_score: tuple[float, ...] = ()
    note_records: tuple[Note, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """The texts of all notes."""
        return tuple(str(note) for note in self.note_records)

    def rows(self) -> list[Row]:
        """Return one row per recommender and metric, with its price and its proxy.

        `proxy_helps` judges the proxy by the first scores. `weak_proxy` judges the model: whether
        the audit disagrees with it; None if it does not, but too few users were ranked fully.
        """
        rows = []
        for recommender, name in enumerate(self.names):
            is_weak = self.weak[recommender]
            is_unknown = not is_weak and self.n_ranked[recommender] < LEAST_RANKED
            for metric, estimate in zip(self.metrics, self.estimates[recommender], strict=True):
                row: Row = {
                    "recommender": name,
                    "metric": metric,
                    "value": estimate.value,
                    "std_error": estimate.std_error,
                    "ci_low": estimate.low,
                    "ci_high": estimate.high,
                    "model": estimate.model,
                    "n_users": self.n_users,
                    "n_held_out": self.n_held_out,
                    "n_candidates": self.n_candidates,
                    "n_asked": self.n_asked[recommender],
                    "n_audited": self.n_audited,
                    "n_ranked": self.n_ranked[recommender],
                    "proxy": self.proxy,
                    "proxy_helps": self.proxy_helps[recommender],
                    "weak_proxy": None if is_unknown else is_weak,
                }
                rows.append(row)
        return nan_to_none(rows)

    def to_frame(self) -> "pd.DataFrame":
        """Return the rows as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def compare(self, correction: str = "holm") -> Results[Compared]:
        """Compare all pairs of recommenders by the exact metrics of these users.

        An order is decided if the interval of the difference excludes 0, also after correction for
        the number of pairs (`none` or `holm`). `difference` is the value to rank by. It need not be
        `value_b - value_a`, because errors of a pair partly cancel.
        """
        results = []
        for result in decide_orders(list(self._compare_pairs()), correction, self.confidence):
            verdict = f"undecided after {max(self.scores_per_user):.4g} scores per user"
            if result.order != UNDECIDED:
                verdict = is_above(result, result.order)
            results.append(replace(result, verdict=verdict))
        return Results(results, partial(_format_order_table, confidence=self.confidence))

    def _compare_pairs(self) -> Iterator[Compared]:
        """Yield one comparison per pair and metric, without a verdict."""
        mean_items = round((self.n_candidates + self.n_held_out) / self.n_users)
        for (a, b), differences in self.differences.items():
            by_metric = zip(
                self.metrics, differences, self.estimates[a], self.estimates[b], strict=True
            )
            for metric, difference, of_a, of_b in by_metric:
                yield Compared(
                    a=self.names[a],
                    b=self.names[b],
                    metric=metric,
                    estimator="budget",
                    value_a=of_a.value,
                    value_b=of_b.value,
                    difference=difference.value,
                    std_error=difference.std_error,
                    ci_low=difference.low,
                    ci_high=difference.high,
                    range_low=difference.low,
                    range_high=difference.high,
                    p_value=estimate_p_value(difference, self.confidence),
                    paired=True,
                    n_users=self.n_users,
                    n_items=mean_items,
                )

    def parts(self, correction: str = "holm", **_: Any) -> Parts:
        """Return tables of metrics and orders, and notes on their meaning and price."""
        table = []
        for row in self.rows():
            shown = {name: row[name] for name in ("recommender", "metric", "value")}
            shown[_interval_heading(self.confidence)] = format_range(row["ci_low"], row["ci_high"])
            table.append(shown)
        orders = self.compare(correction)
        notes = [self._notes(orders, correction), *note_parts(self.note_records)]
        return [table, *(orders.parts() if orders else []), *notes]

    @property
    def scores_per_user(self) -> tuple[float, ...]:
        """Pairs scored by each recommender per user, held-out items not counted."""
        return tuple(n_scored / self.n_users for n_scored in self.n_asked)

    @property
    def weak(self) -> tuple[bool, ...]:
        """Whether the audit disagrees with each recommender's model, and so gives the values."""
        return tuple(
            any(estimate.disagrees for estimate in of_recommender)
            for of_recommender in self.estimates
        )

    @property
    def _advised_budget(self) -> float:
        """Scores per user, of which the audit's part pays for more than `LEAST_RANKED` lists."""
        lists = BUDGET_MARGIN * LEAST_RANKED / (1.0 - MODEL_SHARE)
        return lists * self.n_candidates / self.n_users**2

    def _notes(self, orders: Sequence[Compared], correction: str) -> str:
        """Explain the numbers, their price, how the proxy fits, and the next steps."""
        import jinja2

        scores_of_full_ranking = self.n_candidates + self.n_held_out
        seconds = scores_of_full_ranking * sum(self.seconds_per_score)
        environment = jinja2.Environment(  # noqa: S701 - plain text
            loader=jinja2.PackageLoader("sampled_metrics.budget"),
            trim_blocks=True,
            undefined=jinja2.StrictUndefined,
        )
        notes = environment.get_template("notes.txt").render(
            result=self,
            recommenders=self.rows()[:: len(self.metrics)],  # one row of each
            users=quantity(self.n_users, "user"),
            correction=correction,
            orders=orders,
            least_ranked=LEAST_RANKED,
            enough=self._advised_budget,
            n_scores=scores_of_full_ranking,
            seconds=float(f"{seconds:.2g}"),
        )
        return notes.rstrip()


def count_ranked_users(audit: Audit) -> int:
    """Count the audited users whose candidates were all scored."""
    left = audit.model.counts.n_left.sum(1)
    return int(np.count_nonzero(left[audit.users] == 0))


def estimate_p_value(estimate: Estimate, level: float) -> float:
    """Return the p-value of an estimate: 1 minus the highest level whose interval excludes 0.

    The interval of the estimate has the level `level`: centre +- (t std_error + slack), t the
    quantile of Student's distribution. Clipping to the values that the scores allow can only
    shorten it, so its longer side shows the slack. At the highest level that excludes 0,
    |centre| = t std_error + slack, so that

        p = 2 P(T < -(|centre| - slack) / std_error).

    The result is moved, if need be, to the side of 1 - `level` that the interval shows: p is below
    1 - `level` exactly if the interval excludes 0.

    Examples
    --------
    An interval of 0.1 +- 1.96 standard errors of 0.1, so that z = 1.

    >>> round(estimate_p_value(Estimate(0.1, -0.096, 0.296, 0.1, 0.1, 1e6, 0.1), 0.95), 4)
    0.3173
    """
    centre, std_error, freedom = estimate.centre, estimate.std_error, estimate.freedom
    risk = 1.0 - level
    if std_error == 0.0:
        return 0.0 if centre else 1.0
    longer_side = max(estimate.high - centre, centre - estimate.low)
    slack = max(0.0, longer_side - stdtrit(freedom, 1.0 - risk / 2.0) * std_error)
    t = max(0.0, abs(centre) - slack) / std_error
    p = 2.0 * float(stdtr(freedom, -t))
    contains_zero = estimate.low <= 0.0 <= estimate.high
    if contains_zero:
        return max(p, risk)
    return min(p, float(np.nextafter(risk, 0.0)))


def _interval_heading(confidence: float) -> str:
    """Return the heading of a column of intervals, such as `interval (95 %)`."""
    return f"interval ({100 * confidence:g} %)"


def _format_order_table(orders: list[Compared], confidence: float) -> Parts:
    """Return a table of differences b - a with their intervals, and the orders decided."""
    rows = [
        {
            "a": result.a,
            "b": result.b,
            "metric": result.metric,
            "b - a": result.difference,
            _interval_heading(confidence): format_range(result.ci_low, result.ci_high),
            "order": order_in_words(result),
        }
        for result in orders
    ]
    return [rows]

"""What an evaluation on a budget returns, as rows, orders and text."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtr, stdtrit

from sampled_metrics._base.text import Parts
from sampled_metrics.budget.audit import Audited, Estimate
from sampled_metrics.budget.model import Model
from sampled_metrics.inference.compare import decided
from sampled_metrics.inference.results import UNDECIDED, Compared, Results, Shown

if TYPE_CHECKING:
    import pandas as pd

DEPTH_SHARE = 0.9  # of the better items lie before the depth
LEAST_CONFIRMED = 15  # audited users with all candidates scored, for a depth
ROUNDING = 1e-5  # of the numbers in a table
SOON = 60.0  # seconds; a full ranking that takes less is worth more than any estimate


@dataclass(frozen=True)
class BudgetResult(Shown):
    """Metrics of one or several recommenders.

    Attributes
    ----------
    names, metrics
        Of the recommenders and metrics.
    estimates, differences
        `Estimate` of each recommender and metric; of pairs (a, b) of running numbers, b minus a.
    n_asked
        Pairs asked of each recommender, held-out items not counted.
    n_held_out, n_users, n_audited
        Held-out items, users, and users drawn for the audit.
    n_candidates
        Pairs that a full ranking of one recommender scores, held-out items not counted.
    confidence, level
        Coverage asked for, and that of the intervals by themselves, which is higher where the
        evaluation might have stopped before.
    proxy, depth
        Name of the proxy; position in its order before which 90 % of the better items of users
        with few of them lie, by the audit; NaN where too few users were ranked fully.
    seconds_per_score
        Time that each recommender took per pair, where this package called it.
    """

    names: tuple[str, ...]
    metrics: tuple[str, ...]
    estimates: list[list[Estimate]]
    differences: dict[tuple[int, int], list[Estimate]]
    n_asked: tuple[int, ...]
    n_held_out: int
    n_users: int
    n_audited: int
    n_candidates: int
    confidence: float
    level: float
    proxy: str
    depth: tuple[float, ...]
    seconds_per_score: tuple[float, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per recommender and metric, with its price and its proxy.

        Depth is None where too few users were ranked fully, and so is weakness unless it shows.
        """
        rows: list[dict[str, Any]] = []
        shared = ("n_users", "n_held_out", "n_candidates", "n_asked", "n_audited", "proxy")
        for number, name in enumerate(self.names):
            depth = None if math.isnan(self.depth[number]) else self.depth[number]
            weak = self.weak[number] or (None if depth is None else False)
            about = {key: getattr(self, key) for key in shared} | {"n_asked": self.n_asked[number]}
            about |= {"depth": depth, "weak_proxy": weak}
            for metric, x in zip(self.metrics, self.estimates[number], strict=True):
                row = {"recommender": name, "metric": metric, "value": x.value}
                row |= {"std_error": x.std_error, "ci_low": x.low, "ci_high": x.high}
                rows.append(row | {"model": x.model} | about)
        return rows

    def to_frame(self) -> "pd.DataFrame":
        """Return the rows as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def compare(self, correction: str = "holm") -> Results[Compared]:
        """Compare all pairs of recommenders: which has the higher exact metric, of these users.

        An order is decided if the interval of the difference excludes 0, and also after correction
        for the number of pairs (`none` or `holm`). `difference` is the value to rank by. The audit
        moves it for each pair, whose errors partly cancel, so it need not be `value_b - value_a`.
        """
        looks = (1.0 - self.confidence) / (1.0 - self.level)  # at which it might have stopped
        n_items = round((self.n_candidates + self.n_held_out) / self.n_users)
        pairs = []
        for (a, b), leads in self.differences.items():
            values = zip(self.metrics, leads, self.estimates[a], self.estimates[b], strict=True)
            for metric, x, of_a, of_b in values:
                p = min(1.0, p_value(x, self.level) * looks)
                row: dict[str, Any] = {"a": self.names[a], "b": self.names[b], "metric": metric}
                row |= {"value_a": of_a.value, "value_b": of_b.value, "difference": x.value}
                row |= {"std_error": x.std_error, "ci_low": x.low, "ci_high": x.high}
                row |= {"range_low": x.low, "range_high": x.high, "p_value": p, "paired": True}
                row |= {"estimator": "budget", "n_users": self.n_users, "n_items": n_items}
                pairs.append(Compared(**row))
        asked, results = max(self.scores_per_user), []
        for pair in decided(pairs, correction, self.confidence):
            higher = pair.difference > 0 if pair.order == UNDECIDED else pair.order == "b"
            above, below = (pair.b, pair.a) if higher else (pair.a, pair.b)
            verdict = f"{above} is above {below}"
            if pair.order == UNDECIDED:
                verdict = f"undecided after {asked:.4g} scores per user"
                verdict += f"; the estimates put {above} above {below}" * bool(pair.difference)
            results.append(replace(pair, verdict=verdict))
        return Results(results, partial(_order_rows, confidence=self.confidence))

    def parts(self, correction: str = "holm", **_: Any) -> Parts:
        """Return tables of metrics and orders, and what the numbers mean and cost."""
        interval = f"interval ({100 * self.confidence:g} %)"
        table = [
            {name: row[name] for name in ("recommender", "metric", "value")}
            | {interval: f"{row['ci_low']:.4f} to {row['ci_high']:.4f}"}
            for row in self.rows()
        ]
        orders = self.compare(correction)
        notes = "\n".join(self._notes(orders, correction))
        return [table, *(_order_rows(orders, self.confidence) if orders else []), notes]

    @property
    def scores_per_user(self) -> tuple[float, ...]:
        """Scores asked of each recommender per user, held-out items not counted."""
        return tuple(asked / self.n_users for asked in self.n_asked)

    @property
    def weak(self) -> tuple[bool, ...]:
        """Whether the audit disagrees with a recommender's model, and so gives the values."""
        return tuple(any(x.disagrees for x in row) for row in self.estimates)

    def _notes(self, orders: list[Compared], correction: str) -> Iterator[str]:
        """Say what the numbers are, what they cost, how the proxy fits, and what to do."""
        users = f"{self.n_users:,} user{'s' * (self.n_users > 1)}"
        several = len(self.names) > 1
        asked = zip(self.names, self.scores_per_user, strict=True)
        prices = ", ".join(f"{name + ' ' if several else ''}{price:.4g}" for name, price in asked)
        price = (
            f"price: {prices} scores per user of {self.n_candidates / self.n_users:,.5g} "
            "candidates, held-out items not counted."
        )
        if min(self.n_asked) == self.n_candidates:
            yield f"Exact metrics of these {users}, because all candidates were scored. Fractions."
            yield price
            return
        yield f"Exact metrics of these {users}, estimated on a budget. Fractions."
        yield from self._notes_on_values(orders)
        yield (
            "interval: of what a full ranking of these users would give, by the audit of "
            f"{self.n_audited:,} of them; other users like these are not covered."
        )
        if orders:
            pairs, adjusted = len(self.differences), ""
            if pairs > 1 and correction != "none":
                adjusted = f", also corrected for {pairs} pairs ({correction})"
            yield f"order: decided if the interval of b - a excludes 0{adjusted}."
            if any(pair.order == UNDECIDED for pair in orders):
                yield "  An undecided order needs a larger budget, a better proxy or full rankings."
        yield price
        yield from self._notes_on_proxy()
        if self.seconds_per_score:
            pairs = self.n_candidates + self.n_held_out
            seconds = pairs * sum(self.seconds_per_score)
            count = f"{len(self.names)} x " if several else ""
            yield f"full ranking: {count}{pairs:,} scores, about {float(f'{seconds:.2g}'):,g} s."
            if seconds < SOON:
                yield "  That is soon: rank fully (sampled_metrics.rank), which leaves no error."

    def _notes_on_values(self, orders: list[Compared]) -> Iterator[str]:
        weak = ", ".join(name for name, weak in zip(self.names, self.weak, strict=True) if weak)
        yield "value: the model's" + (
            f"; the audit's for {weak}, where both differ." if weak else "."
        )
        if any(abs(x.difference - (x.value_b - x.value_a)) > ROUNDING for x in orders):
            yield "b - a: to rank by; not the difference of the values, as errors of a pair cancel."

    def _notes_on_proxy(self) -> Iterator[str]:
        depths = dict(zip(self.names, self.depth, strict=True))
        order = "most popular" if self.proxy == "popularity" else "highest by it"
        known = [(n, x) for n, x in depths.items() if not math.isnan(x)]
        where = ", ".join(f"the {x:,.0f} {order}" + f" ({n})" * (len(depths) > 1) for n, x in known)
        lie = f"; 90 % of the items that beat the held-out one are among {where}" if known else ""
        yield f"proxy: {self.proxy}{lie}."
        unknown = ", ".join(name for name, depth in depths.items() if math.isnan(depth))
        if unknown:
            yield (
                f"  {unknown}: too few users were ranked fully to judge the proxy, and where it "
                "hides what they like, the interval is too narrow. Take a larger budget."
            )


def depth_of(model: Model, audited: Audited) -> float:
    """Depth of the proxy's order, by the audited users of whom all candidates were scored."""
    frame = model.counts.frame
    weight = np.zeros(frame.n.shape[0])
    for phase in audited.phases:
        weight[phase.users] = 1.0 / phase.reached
    users = np.flatnonzero((weight > 0) & (model.counts.left.sum(1) == 0))
    if users.size < LEAST_CONFIRMED:
        return math.nan
    better = frame.by_user(model.counts.better.T.astype(np.float64))[:, users] @ weight[users]
    sums = np.concatenate([[0.0], np.cumsum(better)])
    return float(np.interp(DEPTH_SHARE * sums[-1], sums, frame.edges)) if sums[-1] else 0.0


def p_value(estimate: Estimate, level: float) -> float:
    """Return one less the highest level at which the interval, now of `level`, excludes 0.

    Clipping to the values that the scores allow can only shorten an interval, so its longer side
    tells how far it reaches beyond the standard error.

    Examples
    --------
    >>> round(p_value(Estimate(0.1, -0.096, 0.296, 0.1, 0.1, 1e6, 0.1), 0.95), 4)
    0.3173
    """
    _, low, high, centre, std_error, freedom, _ = estimate
    risk = 1.0 - level
    if not std_error:
        return 0.0 if centre else 1.0
    reach = max(high - centre, centre - low)
    slack = max(0.0, reach - float(stdtrit(freedom, 1.0 - risk / 2.0)) * std_error)
    distance = max(0.0, abs(centre) - slack) / std_error
    p = 2.0 * float(stdtr(freedom, -distance))
    return max(p, risk) if low <= 0.0 <= high else min(p, float(np.nextafter(risk, 0.0)))


def _order_rows(orders: list[Compared], confidence: float) -> Parts:
    rows: list[dict[str, Any]] = []
    for x in orders:
        row = {"a": x.a, "b": x.b, "metric": x.metric, "b - a": x.difference}
        interval = {f"interval ({100 * confidence:g} %)": f"{x.ci_low:.4f} to {x.ci_high:.4f}"}
        rows.append(row | interval | {"order": x.in_words()})
    return [rows]

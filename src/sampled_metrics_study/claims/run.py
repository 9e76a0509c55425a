"""Claims of the paper as methods that check them on the numbers of a run."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from sampled_metrics._base.array_types import Float
from sampled_metrics.estimators import parse_estimator
from sampled_metrics.ranks import Ranks
from sampled_metrics_study.claims.starts import (
    SIZES,
    USERS,
    count_in_worst_bucket,
    count_users_by_rank,
)
from sampled_metrics_study.tables import COUNTS, EXACT, KEY, SAMPLED, counts_per_100_repetitions
from sampled_metrics_study.verdicts import NOT_COMPARABLE

Finding = tuple[bool | np.bool_, str]  # whether a claim holds, and the numbers as text

NAMES = "XYZ"
PAIRS = ("X vs Y", "X vs Z", "Y vs Z")
TOP_HEAVY = ("Recall@10", "NDCG@10", "AP")
METRICS = (*TOP_HEAVY, "AUC")
BV = [parse_estimator(f"bv:{gamma}").label for gamma in (1, 0.1, 0.01, 0.001)]
LOW_GAMMA = BV[1:]
BEST = BV[1]  # the correction that section 6.3 prefers
RANK_ESTIMATE = parse_estimator("rank-estimate").label
CLS = parse_estimator("cls").label
CORRECTIONS = [RANK_ESTIMATE, CLS, *BV]
_EQUAL = 1e-9  # percentage points; smaller differences are rounding errors


def order_of(values: Mapping[str, float]) -> str:
    """Return the names from best to worst, such as `B = C > A`; equal ones are sorted."""
    names_by_level = []
    for value in sorted(set(values.values()), reverse=True):
        names_of_value = sorted(name for name in values if values[name] == value)
        names_by_level.append(" = ".join(names_of_value))
    return " > ".join(names_by_level)


def _values_in_order(values: Mapping[str, float]) -> str:
    """Return the names from best to worst with their values, such as `Z 9.42, X 7.60`."""
    names = sorted(values, key=values.__getitem__, reverse=True)
    return ", ".join(f"{name} {values[name]:.2f}" for name in names)


def _by_name(parts: Mapping[str, Any], form: str = "{}") -> str:
    """Join a result for each metric or estimator, such as `AP: A > B; AUC: B > A`."""
    return "; ".join(f"{name}: {form.format(part)}" for name, part in parts.items())


class Run:
    """Cells of Tables 3 and 4 and numbers of Figures 5 and 6, of a run or of the printed paper.

    `claims.csv` names the methods that return a `Finding`, with their arguments after `|`.
    """

    def __init__(self, cells: pd.DataFrame, ranks: Mapping[str, Ranks] | None = None) -> None:
        kinds = cells.columns.intersection(["expected", "expected_std"])
        self._numbers = {kind: cells.set_index(KEY)[kind].to_dict() for kind in kinds}
        self.ranks = ranks or {}

    def measure(self, claim: str) -> tuple[bool, str]:
        """Measure a claim, such as `size|Sampled|1001|inf`."""
        name, *arguments = claim.split("|")
        holds, measurement = getattr(self, name)(*arguments)
        return bool(holds), measurement

    def cell(self, *key: str, table: int = 3, kind: str = "expected") -> float:
        """Return a cell by row, metric and column; KeyError if it was not computed."""
        return float(self._numbers[kind][table, *key])

    def cells(
        self, column: str, metrics: Sequence[str] = TOP_HEAVY, kind: str = "expected"
    ) -> Float:
        """Return a column of Table 3, shape (metrics, recommenders)."""
        rows = [
            [self.cell(name, metric, column, kind=kind) for name in NAMES] for metric in metrics
        ]
        return np.array(rows)

    def means(self, metric: str, column: str) -> dict[str, float]:
        """Return a column of Table 3 for a metric, by recommender."""
        return {name: self.cell(name, metric, column) for name in NAMES}

    def bias(self, column: str, metrics: Sequence[str] = TOP_HEAVY) -> Float:
        """Return the distances of an estimator's means from the exact metrics."""
        return np.abs(self.cells(column, metrics) - self.cells(EXACT, metrics))

    def biases(self, column: str, metrics: Sequence[str] = TOP_HEAVY) -> Float:
        """Return the bias of an estimator, divided by the bias of the uncorrected metric."""
        return self.bias(column, metrics) / self.bias(SAMPLED, metrics)

    def sds(self, column: str) -> Float:
        """Return the standard deviations of an estimator over sampling."""
        return self.cells(column, kind="expected_std")

    def counts(self, column: str) -> dict[tuple[str, str], float]:
        """Return a column of Table 4 by pair and metric."""
        keys = product(PAIRS, METRICS)
        return {key: self.cell(*key, column, table=COUNTS) for key in keys}

    # Section 6.1 and Figure 5.

    def number_of_ranks(self) -> Finding:
        """Check that each recommender has ranks of 6040 users."""
        users = {len(self.ranks[name]) for name in NAMES}
        return users == {6040}, f"{max(users):,}"

    def users_in_the_worst_bucket(self) -> Finding:
        """Check that Z ranks the items of over 1600 users in the last bucket of Figure 5."""
        random = count_in_worst_bucket(self.ranks["Z"], "random")
        last = count_in_worst_bucket(self.ranks["Z"], "pessimistic")
        return random > 1600, f"{random:,} with ties at random, {last:,} with ties ranked last"

    def users(self, which: str, low: str, high: str) -> Finding:
        """Check that X ranks the items of `low` to `high` users in a part of the ranks, `which`."""
        users = int(self.cell("X", USERS[1], which, table=USERS[0]))
        return int(low) <= users <= int(high), f"{users:,} of X"

    # Section 6.2: sampled metrics.

    def order(self, column: str, best: str, *metrics: str) -> Finding:
        """Check that the order of recommenders by each of some metrics starts with `best`."""
        values = [self.means(metric, column) for metric in metrics]
        holds = all(order_of(by_name).startswith(best) for by_name in values)
        return holds, _by_name(dict(zip(metrics, map(_values_in_order, values), strict=True)))

    def deviations_below_the_bias(self) -> Finding:
        """Check that standard deviations of sampled metrics are below a tenth of their biases."""
        sd = self.sds(SAMPLED)
        bias = self.bias(SAMPLED)
        deviations = f"deviations {sd.min():.2f} to {sd.max():.2f}"
        text = f"{deviations}, bias {bias.min():.1f} to {bias.max():.1f}"
        return (10 * sd < bias).all(), text

    def worst_becomes_the_best(self) -> Finding:
        """Check that X is the best by sampled NDCG and AP, and the worst by exact ones."""
        metrics = ("NDCG@10", "AP")
        is_best, text = self.order(SAMPLED, "X", *metrics)
        is_worst = all(order_of(self.means(metric, EXACT)).endswith("X") for metric in metrics)
        return is_best and is_worst, text

    def order_of_y_and_z(self) -> Finding:
        """Check that Z is better than Y by sampled NDCG and AP."""
        sampled = {metric: self.means(metric, SAMPLED) for metric in ("NDCG@10", "AP")}
        holds = all(by_name["Z"] > by_name["Y"] for by_name in sampled.values())
        return holds, _by_name(sampled, "Z {0[Z]:.2f}, Y {0[Y]:.2f}")

    def auc_is_consistent(self) -> Finding:
        """Check that sampled and exact AUC give the same order."""
        exact = self.means("AUC", EXACT)
        sampled = self.means("AUC", SAMPLED)
        text = f"exact {_values_in_order(exact)}; sampled {_values_in_order(sampled)}"
        return order_of(exact) == order_of(sampled), text

    def metrics_that_change_the_order(self) -> Finding:
        """Check that sampling changes the order by Recall, NDCG and AP, and not by AUC."""
        changed = []
        for metric in METRICS:
            if order_of(self.means(metric, EXACT)) != order_of(self.means(metric, SAMPLED)):
                changed.append(metric)
        return changed == list(TOP_HEAVY), f"order changes for {', '.join(changed)}"

    # Sections 5.3, 6.3 and 7: corrections.

    def variance_of_low_gamma(self) -> Finding:
        """Check that deviations of BV grow as gamma falls, and at last exceed uncorrected ones."""
        sds = {column: self.sds(column) for column in (SAMPLED, *BV)}
        uncorrected, *by_gamma = sds.values()
        grows = (np.diff(by_gamma, axis=0) >= 0.0).all()
        place = (TOP_HEAVY.index("Recall@10"), NAMES.index("Y"))
        text = _by_name({column: cells[place] for column, cells in sds.items()}, "{:.2f}")
        return grows and (by_gamma[-1] > uncorrected).all(), text

    def corrections_are_closer(self) -> Finding:
        """Check that no correction is farther from an exact metric than the uncorrected one."""
        uncorrected = self.bias(SAMPLED, METRICS)
        differences = [self.bias(column, METRICS) - uncorrected for column in CORRECTIONS]
        farther = np.array(differences) > _EQUAL
        top = farther[:, : len(TOP_HEAVY)].sum()
        cells = f"{farther.sum()} of {farther.size} cells"
        return not farther.any(), f"farther in {cells}, in {top} of Recall, NDCG and AP"

    def close_to_the_exact_metric(self) -> Finding:
        """Check that CLS and BV with low gamma leave at most 5 % of the uncorrected bias."""
        shares = {column: 100 * self.biases(column).max() for column in (CLS, *LOW_GAMMA)}
        return max(shares.values()) <= 5, "at most " + _by_name(shares, "{:.1f} %")

    def z_leads_by_all_corrections(self) -> Finding:
        """Check that Z is the best by every correction of Recall, NDCG and AP."""
        leads = {}
        for metric, column in product(TOP_HEAVY, CORRECTIONS):
            x, y, z = self.means(metric, column).values()
            leads[f"{column} {metric}"] = z - max(x, y)
        least = min(leads, key=leads.__getitem__)
        right = sum(lead > 0 for lead in leads.values())
        text = f"{right} of {len(leads)}; smallest lead {leads[least]:.3f}, {least}"
        return right == len(leads), text

    def corrections_that_order_x_and_y(self) -> Finding:
        """Check that BV with low gamma puts Y above X by Recall, NDCG and AP."""
        metrics = np.array(TOP_HEAVY)
        right = {}
        for column in CORRECTIONS:
            x, y, _ = self.cells(column).T
            right[column] = ", ".join(metrics[y > x]) or "none"
        return all(right[column] == ", ".join(metrics) for column in LOW_GAMMA), _by_name(right)

    def size(self, column: str, low: str, high: str) -> Finding:
        """Check the smallest m at which the expected order of X and Y becomes right."""
        m = self.cell("X vs Y", SIZES[1], column, table=SIZES[0])
        if np.isnan(m):
            return high == "inf", "at no m"
        return float(low) <= m <= float(high), f"from m = {m:,.0f} on"

    def order_by_low_gamma(self) -> Finding:
        """Check that BV with low gamma gives the exact order by every metric."""
        wrong = []
        for metric, column in product(METRICS, LOW_GAMMA):
            order = order_of(self.means(metric, column))
            if order != order_of(self.means(metric, EXACT)):
                wrong.append(f"{column} {metric}: {order}")
        n_orders = len(METRICS) * len(LOW_GAMMA)
        right = f"right in {n_orders - len(wrong)} of {n_orders}"
        return not wrong, "; ".join([right, *wrong])

    def mistakes_resolved(self) -> Finding:
        """Check that each correction puts right over half of the orders that sampling gets wrong.

        An order is wrong if at most 50 of 100 draws give it as the exact metric does.
        """
        mistakes = [key for key, count in self.counts(SAMPLED).items() if count <= 50]
        resolved = {}
        for column in CORRECTIONS:
            counts = self.counts(column)
            resolved[column] = sum(counts[key] > 50 for key in mistakes)
        holds = 2 * min(resolved.values()) > len(mistakes)
        return holds, f"of {len(mistakes)} {_by_name(resolved)}"

    def counts_up_to_90(self, exception: str = "") -> Finding:
        """Check that BV 0.1 is right in at most 90 of 100 draws for one cell, `exception`."""
        few = {}
        for (pair, metric), count in self.counts(BEST).items():
            if count <= 90:
                few[f"{metric} {pair}"] = count
        text = ", ".join(f"{name} {count:.1f}" for name, count in few.items()) or "none"
        return len(few) == 1 and exception in ("", *few), f"90 or less: {text}"

    def better_than_uncorrected(self) -> Finding:
        """Check that the rank estimate is right in more draws than no correction, in each cell."""
        ours = np.round([*self.counts(RANK_ESTIMATE).values()])  # as printed
        theirs = np.round([*self.counts(SAMPLED).values()])
        better = np.sum(ours > theirs)
        equal = np.sum(ours == theirs)
        return better == len(ours), f"better in {better} of {len(ours)}, equal in {equal}"

    def recall_equals_ndcg_by_rank_estimate(self) -> Finding:
        """Check that the rank estimate gives the same Recall@10 and NDCG@10."""
        recall, ndcg = self.cells(RANK_ESTIMATE, ("Recall@10", "NDCG@10"))
        counts = self.counts(RANK_ESTIMATE)
        differences_of_counts = [
            counts[pair, "Recall@10"] - counts[pair, "NDCG@10"] for pair in PAIRS
        ]
        differences = np.append(recall - ndcg, differences_of_counts)
        holds = np.abs(differences).max() < _EQUAL
        both = zip(NAMES, recall, ndcg, strict=True)
        return holds, _by_name({name: f"{a:.2f} and {b:.2f}" for name, a, b in both})

    def rank_estimate_has_less_bias(self) -> Finding:
        """Check that the rank estimate reduces the bias of Recall@10 and NDCG@10."""
        ratios = self.biases(RANK_ESTIMATE, TOP_HEAVY[:2])
        text = f"{ratios.min():.2f} to {ratios.max():.2f} of the uncorrected bias"
        return ratios.max() < 1, text

    def no_equal_recommenders(self) -> Finding:
        """Check that the exact values of all recommenders differ by every metric."""
        distinct = {len(set(self.means(metric, EXACT).values())) for metric in METRICS}
        return distinct == {len(NAMES)}, "no two recommenders are equal by any metric"

    def bias_against_variance(self) -> Finding:
        """Check that the smallest gamma has less bias and more variance than no correction."""
        bias = self.biases(BV[-1])
        sds = self.sds(BV[-1]) / self.sds(SAMPLED)
        text = f"bias times {bias.min():.3f} to {bias.max():.3f}"
        text += f", deviation times {sds.min():.1f} to {sds.max():.1f}"
        return bias.max() < 1 < sds.min(), text


def comparable_run(
    cells: pd.DataFrame, card: pd.DataFrame, ranks: Mapping[str, Ranks], figure6: pd.DataFrame
) -> Run:
    """Collect the numbers of this run that are comparable with the paper's by its scorecard `card`.

    These are cells of Tables 3 and 4 and numbers of Figures 5 and 6. The ranks of a recommender are
    comparable if one of its exact metrics is.
    """
    keys_of_comparable = card.loc[card["verdict"] != NOT_COMPARABLE, KEY]
    comparable_cells = cells.merge(keys_of_comparable, on=KEY)
    is_exact_metric = (comparable_cells["table"] == 3) & (comparable_cells["column"] == EXACT)
    comparable_names = comparable_cells.loc[is_exact_metric, "row"].unique()
    expected = counts_per_100_repetitions(comparable_cells)
    rows_of_figures = _sizes_of_figure6(figure6)
    if "X" in comparable_names:
        rows_of_figures = _users_of_figure5(ranks["X"]) + rows_of_figures
    numbers_of_figures = pd.DataFrame(rows_of_figures, columns=[*KEY, "expected"])
    numbers = pd.concat([comparable_cells.assign(expected=expected), numbers_of_figures])
    return Run(numbers, {name: ranks[name] for name in comparable_names})


def _users_of_figure5(ranks: Ranks) -> list[tuple[Any, ...]]:
    """Return how many users of X have ranks at either end, as rows of `KEY` and the number."""
    table, metric = USERS
    return [
        (table, "X", metric, part_of_ranks, n_users)
        for part_of_ranks, n_users in count_users_by_rank(ranks).items()
    ]


def _sizes_of_figure6(figure6: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Return the m at which each estimator orders X and Y, as rows of `KEY` and m; NaN for none."""
    table, metric = SIZES
    is_ordered = (figure6["kind"] == "ordered") & (figure6["recommender"] == "X vs Y")
    size_by_estimator = figure6[is_ordered].set_index("estimator")["n_negatives"]
    estimators = figure6.loc[figure6["kind"] == "curve", "estimator"].unique()
    return [
        (table, "X vs Y", metric, estimator, size)
        for estimator, size in size_by_estimator.reindex(estimators).items()
    ]


def printed_run(published: pd.DataFrame) -> Run:
    """Return the printed tables as a run; printed means and counts serve as expectations."""
    cells = published[published["table"] >= 3]
    numbers = cells.assign(expected=cells["value"].astype(float))
    return Run(numbers.assign(expected_std=pd.to_numeric(cells["std"])))

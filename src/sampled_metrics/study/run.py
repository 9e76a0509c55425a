"""Numbers of a run, and what the paper says of them: the methods that `claims.csv` names."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from sampled_metrics.estimators import parse_estimator
from sampled_metrics.ranks import Ranks
from sampled_metrics.study.curves import in_worst_bucket
from sampled_metrics.study.scorecard import NOT_COMPARABLE
from sampled_metrics.study.starts import SIZES, USERS, users_by_rank
from sampled_metrics.study.tables import COUNTS, EXACT, KEY, SAMPLED, expected_of_hundred

Found = tuple[bool | np.bool_, str]  # whether a claim holds, and what was measured

NAMES = "XYZ"
PAIRS = ("X vs Y", "X vs Z", "Y vs Z")
TOP_HEAVY = ("Recall@10", "NDCG@10", "AP")
METRICS = (*TOP_HEAVY, "AUC")
BV = [parse_estimator(f"bv:{gamma}").label for gamma in (1, 0.1, 0.01, 0.001)]
LOW_GAMMA = BV[1:]
BEST = BV[1]  # that section 6.3 prefers
RANK_ESTIMATE = parse_estimator("rank-estimate").label
CLS = parse_estimator("cls").label
CORRECTIONS = [RANK_ESTIMATE, CLS, *BV]
CELLS = [(name, metric) for metric in TOP_HEAVY for name in NAMES]
_EQUAL = 1e-9


def ranked(values: Mapping[str, float]) -> str:
    """Names from best to worst, such as `B = C > A`; equal ones in alphabetical order."""
    levels = []
    for value in sorted(set(values.values()), reverse=True):
        equal = sorted(name for name in values if values[name] == value)
        levels.append(" = ".join(equal))
    return " > ".join(levels)


def _listed(values: Mapping[str, float]) -> str:
    """Names from best to worst with their values: `Z 9.42, X 7.60`."""
    names = sorted(values, key=values.__getitem__, reverse=True)
    return ", ".join(f"{name} {values[name]:.2f}" for name in names)


def _each(parts: Mapping[str, Any], form: str = "{}") -> str:
    """What was found for each metric or estimator: `AP: A > B; AUC: B > A`."""
    return "; ".join(f"{name}: {form.format(part)}" for name, part in parts.items())


class Run:
    """Cells of Tables 3 and 4 and numbers on Figures 5 and 6: of this run, or printed, or others.

    Methods that return `Found` are named in `claims.csv`, with arguments after `|`.
    """

    def __init__(self, cells: pd.DataFrame, ranks: Mapping[str, Ranks] | None = None) -> None:
        kinds = cells.columns.intersection(["expected", "expected_std"])
        self._numbers = {kind: cells.set_index(KEY)[kind].to_dict() for kind in kinds}
        self.ranks = ranks or {}

    def measure(self, claim: str) -> tuple[bool, str]:
        """Measure a claim, such as `size|Sampled|1001|inf`."""
        name, *arguments = claim.split("|")
        holds, words = getattr(self, name)(*arguments)
        return bool(holds), words

    def at(self, *cell: str, table: int = 3, kind: str = "expected") -> float:
        """Return a cell by row, metric and column; KeyError if it was not computed."""
        return float(self._numbers[kind][table, *cell])

    def means(self, metric: str, column: str) -> dict[str, float]:
        """Return a column of Table 3 for a metric, by recommender."""
        return {name: self.at(name, metric, column) for name in NAMES}

    def bias(self, name: str, metric: str, column: str) -> float:
        """Return how far the mean of an estimator is from the exact metric."""
        return abs(self.at(name, metric, column) - self.at(name, metric, EXACT))

    def biases(self, column: str, cells: Iterable[tuple[str, str]] = CELLS) -> list[float]:
        """Return the bias of an estimator over that of the uncorrected metric, by cell."""
        return [self.bias(*cell, column) / self.bias(*cell, SAMPLED) for cell in cells]

    def sds(self, column: str) -> list[float]:
        """Return the standard deviations of an estimator over sampling, by cell."""
        return [self.at(*cell, column, kind="expected_std") for cell in CELLS]

    def counts(self, column: str) -> dict[tuple[str, str], float]:
        """Return a column of Table 4 by pair and metric."""
        found = {}
        for pair in PAIRS:
            for metric in METRICS:
                found[pair, metric] = self.at(pair, metric, column, table=COUNTS)
        return found

    # Section 6.1 and Figure 5.

    def number_of_ranks(self) -> Found:
        users = {len(self.ranks[name]) for name in NAMES}
        return users == {6040}, f"{max(users):,}"

    def users_in_the_worst_bucket(self) -> Found:
        random = in_worst_bucket(self.ranks["Z"], "random")
        last = in_worst_bucket(self.ranks["Z"], "pessimistic")
        return random > 1600, f"{random:,} with ties at random, {last:,} with ties ranked last"

    def users(self, which: str, low: str, high: str) -> Found:
        users = int(self.at("X", USERS[1], which, table=USERS[0]))
        return int(low) <= users <= int(high), f"{users:,} of X"

    # Section 6.2: sampled metrics.

    def order(self, column: str, best: str, *metrics: str) -> Found:
        values = {metric: self.means(metric, column) for metric in metrics}
        holds = all(ranked(by_name).startswith(best) for by_name in values.values())
        return holds, _each({metric: _listed(by_name) for metric, by_name in values.items()})

    def deviations_below_the_bias(self) -> Found:
        sd = np.array(self.sds(SAMPLED))
        bias = np.array([self.bias(*cell, SAMPLED) for cell in CELLS])
        deviations = f"deviations {sd.min():.2f} to {sd.max():.2f}"
        words = f"{deviations}, bias {bias.min():.1f} to {bias.max():.1f}"
        return (10 * sd < bias).all(), words

    def worst_becomes_the_best(self) -> Found:
        holds = True
        words = {}
        for metric in ("NDCG@10", "AP"):
            exact = self.means(metric, EXACT)
            sampled = self.means(metric, SAMPLED)
            holds &= ranked(exact).endswith("X") and ranked(sampled).startswith("X")
            words[metric] = _listed(sampled)
        return holds, _each(words)

    def order_of_y_and_z(self) -> Found:
        holds = True
        words = {}
        for metric in ("NDCG@10", "AP"):
            sampled = self.means(metric, SAMPLED)
            holds &= sampled["Z"] > sampled["Y"]
            words[metric] = f"Z {sampled['Z']:.2f}, Y {sampled['Y']:.2f}"
        return holds, _each(words)

    def auc_is_consistent(self) -> Found:
        exact = self.means("AUC", EXACT)
        sampled = self.means("AUC", SAMPLED)
        words = f"exact {_listed(exact)}; sampled {_listed(sampled)}"
        return ranked(exact) == ranked(sampled), words

    def metrics_that_change_the_order(self) -> Found:
        changed = []
        for metric in METRICS:
            exact = ranked(self.means(metric, EXACT))
            if exact != ranked(self.means(metric, SAMPLED)):
                changed.append(metric)
        return changed == list(TOP_HEAVY), f"order changes for {', '.join(changed)}"

    # Sections 5.3, 6.3 and 7: corrections.

    def variance_of_low_gamma(self) -> Found:
        columns = (SAMPLED, *BV)
        sds = np.array([self.sds(column) for column in columns])
        grows = (np.diff(sds[1:], axis=0) >= 0.0).all()
        holds = grows and (sds[-1] > sds[0]).all()
        place = CELLS.index(("Y", "Recall@10"))
        return holds, _each(dict(zip(columns, sds[:, place], strict=True)), "{:.2f}")

    def corrections_are_closer(self) -> Found:
        farther = []
        n_cells = 0
        for metric in METRICS:
            for column in CORRECTIONS:
                for name in NAMES:
                    n_cells += 1
                    uncorrected = self.bias(name, metric, SAMPLED)
                    if self.bias(name, metric, column) - uncorrected > _EQUAL:
                        farther.append(metric)
        top = sum(metric in TOP_HEAVY for metric in farther)
        words = f"farther in {len(farther)} of {n_cells} cells, in {top} of Recall, NDCG and AP"
        return not farther, words

    def close_to_the_exact_metric(self) -> Found:
        shares = {column: 100 * max(self.biases(column)) for column in (CLS, *LOW_GAMMA)}
        return max(shares.values()) <= 5, "at most " + _each(shares, "{:.1f} %")

    def z_leads_by_all_corrections(self) -> Found:
        leads = {}
        for metric in TOP_HEAVY:
            for column in CORRECTIONS:
                values = self.means(metric, column)
                leads[f"{column} {metric}"] = values["Z"] - max(values["X"], values["Y"])
        least = min(leads, key=leads.__getitem__)
        right = sum(lead > 0 for lead in leads.values())
        words = f"{right} of {len(leads)}; smallest lead {leads[least]:.3f}, {least}"
        return right == len(leads), words

    def corrections_that_order_x_and_y(self) -> Found:
        right = {}
        for column in CORRECTIONS:
            right[column] = [
                metric
                for metric in TOP_HEAVY
                if self.at("Y", metric, column) > self.at("X", metric, column)
            ]
        words = {column: ", ".join(metrics) or "none" for column, metrics in right.items()}
        return all(right[column] == list(TOP_HEAVY) for column in LOW_GAMMA), _each(words)

    def size(self, column: str, low: str, high: str) -> Found:
        """Judge the smallest m from which on X and Y are ordered correctly in expectation."""
        m = self.at("X vs Y", SIZES[1], column, table=SIZES[0])
        words = f"from m = {m:,.0f} on"
        if np.isnan(m):
            m = np.inf
            words = "at no m"
        return float(low) <= m <= float(high), words

    def order_by_low_gamma(self) -> Found:
        wrong = []
        for metric in METRICS:
            exact = ranked(self.means(metric, EXACT))
            for column in LOW_GAMMA:
                order = ranked(self.means(metric, column))
                if order != exact:
                    wrong.append(f"{column} {metric}: {order}")
        n_orders = len(METRICS) * len(LOW_GAMMA)
        right = f"right in {n_orders - len(wrong)} of {n_orders}"
        return not wrong, "; ".join([right, *wrong])

    def mistakes_resolved(self) -> Found:
        mistakes = [key for key, count in self.counts(SAMPLED).items() if count <= 50]
        resolved = {}
        for column in CORRECTIONS:
            counts = self.counts(column)
            resolved[column] = sum(counts[key] > 50 for key in mistakes)
        holds = all(2 * number > len(mistakes) for number in resolved.values())
        return holds, f"of {len(mistakes)} {_each(resolved)}"

    def counts_up_to_90(self, exception: str = "") -> Found:
        few = {}
        for (pair, metric), count in self.counts(BEST).items():
            if count <= 90:
                few[f"{metric} {pair}"] = count
        words = ", ".join(f"{name} {count:.1f}" for name, count in few.items()) or "none"
        return len(few) == 1 and exception in ("", *few), f"90 or less: {words}"

    def better_than_uncorrected(self) -> Found:
        ours = np.round([*self.counts(RANK_ESTIMATE).values()])  # as printed
        theirs = np.round([*self.counts(SAMPLED).values()])
        better = np.sum(ours > theirs)
        equal = np.sum(ours == theirs)
        return better == len(ours), f"better in {better} of {len(ours)}, equal in {equal}"

    def recall_equals_ndcg_by_rank_estimate(self) -> Found:
        recall = self.means("Recall@10", RANK_ESTIMATE)
        ndcg = self.means("NDCG@10", RANK_ESTIMATE)
        counts = self.counts(RANK_ESTIMATE)
        differences = [recall[name] - ndcg[name] for name in NAMES]
        for pair in PAIRS:
            differences.append(counts[pair, "Recall@10"] - counts[pair, "NDCG@10"])
        holds = np.max(np.abs(differences)) < _EQUAL
        return holds, _each({name: f"{recall[name]:.2f} and {ndcg[name]:.2f}" for name in NAMES})

    def rank_estimate_has_less_bias(self) -> Found:
        ratios = self.biases(RANK_ESTIMATE, [cell for cell in CELLS if cell[1] != "AP"])
        return max(ratios) < 1, f"{min(ratios):.2f} to {max(ratios):.2f} of the uncorrected bias"

    def no_equal_recommenders(self) -> Found:
        distinct = {len(set(self.means(metric, EXACT).values())) for metric in METRICS}
        return distinct == {len(NAMES)}, "no two recommenders are equal by any metric"

    def bias_against_variance(self) -> Found:
        bias = self.biases(BV[-1])
        sds = np.divide(self.sds(BV[-1]), self.sds(SAMPLED))
        words = f"bias times {min(bias):.3f} to {max(bias):.3f}"
        words += f", deviation times {sds.min():.1f} to {sds.max():.1f}"
        return max(bias) < 1 < sds.min(), words


def this_run(cells: pd.DataFrame, ranks: Mapping[str, Ranks], figure6: pd.DataFrame) -> Run:
    """Collect the cells of Tables 3 and 4, and the numbers on Figures 5 and 6."""
    expected = expected_of_hundred(cells)
    rows: list[tuple[Any, ...]] = []
    if "X" in ranks:
        for which, users in users_by_rank(ranks["X"]).items():
            rows.append((USERS[0], "X", USERS[1], which, users))
    is_ordered = (figure6["kind"] == "ordered") & (figure6["recommender"] == "X vs Y")
    sizes = figure6[is_ordered].set_index("estimator")["n_negatives"]
    for name in figure6.loc[figure6["kind"] == "curve", "estimator"].unique():
        rows.append((SIZES[0], "X vs Y", SIZES[1], name, sizes.get(name, np.nan)))
    others = pd.DataFrame(rows, columns=[*KEY, "expected"])
    return Run(pd.concat([cells.assign(expected=expected), others]), ranks)


def comparable_run(
    cells: pd.DataFrame, card: pd.DataFrame, ranks: Mapping[str, Ranks], figure6: pd.DataFrame
) -> Run:
    """Collect what this run computed with the paper's settings, by the scorecard `card`.

    Ranks of a recommender are comparable where one of its exact metrics is.
    """
    comparable = card.loc[card["verdict"] != NOT_COMPARABLE, KEY]
    kept = cells.merge(comparable, on=KEY)
    of_ranks = kept.loc[(kept["table"] == 3) & (kept["column"] == EXACT), "row"].unique()
    return this_run(kept, {name: ranks[name] for name in of_ranks}, figure6)


def printed_run(published: pd.DataFrame) -> Run:
    """Take the printed tables; their means and counts are also what they expect."""
    cells = published[published["table"] >= 3]
    numbers = {
        "expected": cells["value"].astype(float),
        "expected_std": pd.to_numeric(cells["std"]),
    }
    return Run(cells.assign(**numbers))

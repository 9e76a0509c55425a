"""The sentences of the paper with a number or an order in them, each measured.

`claims.csv` has the sentences. Those about the theory and the toy recommenders are the same in
every run, so the file holds what was found and a test recomputes it. For a sentence about X, Y and
Z it names a method of `Run`, which is also measured on the printed tables and on other starts of X.
"""

import csv
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sampled_metrics._base.files import write_table, write_text
from sampled_metrics.estimators import parse_estimator
from sampled_metrics.ranks import Ranks
from sampled_metrics.study.curves import in_worst_bucket
from sampled_metrics.study.printed import markdown
from sampled_metrics.study.scorecard import NOT_COMPARABLE
from sampled_metrics.study.starts import SIZES, USERS, users_by_rank
from sampled_metrics.study.tables import COUNTS, EXACT, KEY, SAMPLED, scale_of_counts

Found = tuple[bool | np.bool_, str]  # whether a claim holds, and what was measured
NOT_MEASURED = "not computed in this run, or not with the paper's settings"
HOLDS, DEPENDS, DOES_NOT = "holds", "depends on the start", "does not hold"
OFTEN = 0.95  # share of runs in which a claim must hold to hold in general

NAMES, PAIRS = "XYZ", ("X vs Y", "X vs Z", "Y vs Z")
TOP_HEAVY = ("Recall@10", "NDCG@10", "AP")
METRICS = (*TOP_HEAVY, "AUC")
RANK_ESTIMATE, CLS, *BV = CORRECTIONS = [
    parse_estimator(name).label
    for name in ("rank-estimate", "cls", "bv:1", "bv:0.1", "bv:0.01", "bv:0.001")
]
LOW_GAMMA, BEST = BV[1:], BV[1]  # section 6.3 prefers BV 0.1
CELLS = [(name, metric) for metric in TOP_HEAVY for name in NAMES]

_INTRODUCTION = """\
Each sentence of Krichene and Rendle, "On Sampled Metrics for Item Recommendation" (KDD 2020), that
has a number or an order in it, and one of the article of 2022, in its own words where they are
short, beside what it was measured to be. *published* is the paper's number, or what its printed
tables give. Metrics are in percent. Sampled ones and counts of Table 4 are expectations; a count
of 100 draws scatters around its own by 3 where that is 90, by 5 where it is 50.

- `holds`: as stated; a sentence that depends on the random start of X in at least 95 % of this run
  and of those with other starts.
- `depends on the start`: true of some runs, but of fewer than 95 %; the note says of which.
- `does not hold`: of what was measured.
- `slip`: a misprint or a wrong word that no number depends on.
- `rounding`: roughly right. `cannot be told`: the paper does not say what to measure."""


def ranked(values: Mapping[str, float]) -> str:
    """Names from best to worst, such as `B = C > A`; equal ones in alphabetical order."""
    levels = sorted(set(values.values()), reverse=True)
    return " > ".join(" = ".join(sorted(k for k, v in values.items() if v == x)) for x in levels)


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
        return abs(self.at(name, metric, column) - self.at(name, metric, EXACT))

    def biases(self, column: str, cells: Iterable[tuple[str, str]] = CELLS) -> list[float]:
        """Return the bias of an estimator over that of the uncorrected metric, by cell."""
        return [self.bias(*cell, column) / self.bias(*cell, SAMPLED) for cell in cells]

    def sds(self, column: str) -> list[float]:
        """Return the standard deviations of an estimator over sampling, by cell."""
        return [self.at(*cell, column, kind="expected_std") for cell in CELLS]

    def counts(self, column: str) -> dict[tuple[str, str], float]:
        """Return a column of Table 4 by pair and metric."""
        keys = [(pair, metric) for pair in PAIRS for metric in METRICS]
        return {key: self.at(*key, column, table=COUNTS) for key in keys}

    # Section 6.1 and Figure 5.

    def number_of_ranks(self) -> Found:
        users = {len(self.ranks[name]) for name in NAMES}
        return users == {6040}, f"{max(users):,}"

    def users_in_the_worst_bucket(self) -> Found:
        random, last = (in_worst_bucket(self.ranks["Z"], t) for t in ("random", "pessimistic"))
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
        sd, bias = np.array(self.sds(SAMPLED)), [self.bias(*cell, SAMPLED) for cell in CELLS]
        ends = f"{sd.min():.2f} to {sd.max():.2f}, bias {min(bias):.1f} to {max(bias):.1f}"
        return (10 * sd < bias).all(), f"deviations {ends}"

    def worst_becomes_the_best(self) -> Found:
        values = {metric: self.means(metric, SAMPLED) for metric in ("NDCG@10", "AP")}
        holds = all(
            ranked(self.means(metric, EXACT)).endswith("X") and ranked(sampled).startswith("X")
            for metric, sampled in values.items()
        )
        return holds, _each({metric: _listed(sampled) for metric, sampled in values.items()})

    def order_of_y_and_z(self) -> Found:
        values = {metric: self.means(metric, SAMPLED) for metric in ("NDCG@10", "AP")}
        words = {k: f"Z {by_name['Z']:.2f}, Y {by_name['Y']:.2f}" for k, by_name in values.items()}
        return all(by_name["Z"] > by_name["Y"] for by_name in values.values()), _each(words)

    def auc_is_consistent(self) -> Found:
        exact, sampled = self.means("AUC", EXACT), self.means("AUC", SAMPLED)
        words = f"exact {_listed(exact)}; sampled {_listed(sampled)}"
        return ranked(exact) == ranked(sampled), words

    def metrics_that_change_the_order(self) -> Found:
        orders = {m: [ranked(self.means(m, c)) for c in (EXACT, SAMPLED)] for m in METRICS}
        changed = [metric for metric, (exact, sampled) in orders.items() if exact != sampled]
        return changed == list(TOP_HEAVY), f"order changes for {', '.join(changed)}"

    # Sections 5.3, 6.3 and 7: corrections.

    def variance_of_low_gamma(self) -> Found:
        by_column = {column: self.sds(column) for column in (SAMPLED, *BV)}
        holds = all(
            list(bv) == sorted(bv) and bv[-1] > sampled
            for sampled, *bv in zip(*by_column.values(), strict=True)
        )
        place = CELLS.index(("Y", "Recall@10"))
        return holds, _each({column: sds[place] for column, sds in by_column.items()}, "{:.2f}")

    def corrections_are_closer(self) -> Found:
        keys = [((name, m), c) for m in METRICS for c in CORRECTIONS for name in NAMES]
        excess = [self.bias(*cell, column) - self.bias(*cell, SAMPLED) for cell, column in keys]
        farther = [m for ((_, m), _), more in zip(keys, excess, strict=True) if more > 1e-9]
        top = sum(metric in TOP_HEAVY for metric in farther)
        words = f"farther in {len(farther)} of {len(keys)} cells, in {top} of Recall, NDCG and AP"
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
        least, right = min(leads, key=leads.__getitem__), sum(lead > 0 for lead in leads.values())
        words = f"{right} of {len(leads)}; smallest lead {leads[least]:.3f}, {least}"
        return right == len(leads), words

    def corrections_that_order_x_and_y(self) -> Found:
        x, y = ({c: [self.at(n, m, c) for m in TOP_HEAVY] for c in CORRECTIONS} for n in "XY")
        right = {c: [m for m, a, b in zip(TOP_HEAVY, x[c], y[c], strict=True) if b > a] for c in x}
        words = {column: ", ".join(metrics) or "none" for column, metrics in right.items()}
        return all(right[column] == list(TOP_HEAVY) for column in LOW_GAMMA), _each(words)

    def size(self, column: str, low: str, high: str) -> Found:
        """Judge the smallest m from which on X and Y are ordered correctly in expectation."""
        m = self._numbers["expected"].get((SIZES[0], "X vs Y", SIZES[1], column), np.nan)
        m, words = (np.inf, "at no m") if np.isnan(m) else (m, f"from m = {m:,.0f} on")
        return float(low) <= m <= float(high), words

    def order_by_low_gamma(self) -> Found:
        orders = {(c, m): ranked(self.means(m, c)) for m in METRICS for c in LOW_GAMMA}
        exact = {metric: ranked(self.means(metric, EXACT)) for metric in METRICS}
        wrong = [f"{c} {m}: {o}" for (c, m), o in orders.items() if o != exact[m]]
        right = f"right in {len(orders) - len(wrong)} of {len(orders)}"
        return not wrong, "; ".join([right, *wrong])

    def mistakes_resolved(self) -> Found:
        mistakes = [key for key, count in self.counts(SAMPLED).items() if count <= 50]
        resolved = {c: sum(self.counts(c)[key] > 50 for key in mistakes) for c in CORRECTIONS}
        holds = all(2 * number > len(mistakes) for number in resolved.values())
        return holds, f"of {len(mistakes)} {_each(resolved)}"

    def counts_up_to_90(self, exception: str = "") -> Found:
        few = {f"{metric} {pair}": n for (pair, metric), n in self.counts(BEST).items() if n <= 90}
        words = ", ".join(f"{name} {count:.1f}" for name, count in few.items()) or "none"
        return len(few) == 1 and exception in ("", *few), f"90 or less: {words}"

    def better_than_uncorrected(self) -> Found:
        counts = (self.counts(column).values() for column in (RANK_ESTIMATE, SAMPLED))
        ours, theirs = (np.round([*column]) for column in counts)  # as printed
        better, equal = np.sum(ours > theirs), np.sum(ours == theirs)
        return better == len(ours), f"better in {better} of {len(ours)}, equal in {equal}"

    def recall_equals_ndcg_by_rank_estimate(self) -> Found:
        recall, ndcg = (self.means(metric, RANK_ESTIMATE) for metric in ("Recall@10", "NDCG@10"))
        counts = self.counts(RANK_ESTIMATE)
        holds = all(abs(recall[name] - ndcg[name]) < 1e-9 for name in NAMES) and all(
            abs(counts[pair, "Recall@10"] - counts[pair, "NDCG@10"]) < 1e-9 for pair in PAIRS
        )
        return holds, _each({name: f"{recall[name]:.2f} and {ndcg[name]:.2f}" for name in NAMES})

    def rank_estimate_has_less_bias(self) -> Found:
        ratios = self.biases(RANK_ESTIMATE, [cell for cell in CELLS if cell[1] != "AP"])
        return max(ratios) < 1, f"{min(ratios):.2f} to {max(ratios):.2f} of the uncorrected bias"

    def no_equal_recommenders(self) -> Found:
        distinct = {len(set(self.means(metric, EXACT).values())) for metric in METRICS}
        return distinct == {len(NAMES)}, "no two recommenders are equal by any metric"

    def bias_against_variance(self) -> Found:
        bias, sds = self.biases(BV[-1]), np.divide(self.sds(BV[-1]), self.sds(SAMPLED))
        ends = f"{min(bias):.3f} to {max(bias):.3f}", f"{sds.min():.1f} to {sds.max():.1f}"
        return max(bias) < 1 < sds.min(), "bias times {}, deviation times {}".format(*ends)


def this_run(cells: pd.DataFrame, ranks: Mapping[str, Ranks], figure6: pd.DataFrame) -> Run:
    """Collect the cells of Tables 3 and 4, and the numbers on Figures 5 and 6."""
    expected = cells["expected"] * scale_of_counts(cells["table"], cells["repetitions"])
    ordered = figure6[(figure6["kind"] == "ordered") & (figure6["recommender"] == "X vs Y")]
    counts = users_by_rank(ranks["X"]) if "X" in ranks else {}
    sizes = zip(ordered["estimator"], ordered["n_negatives"], strict=True)
    rows = [(USERS[0], "X", USERS[1], which, users) for which, users in counts.items()]
    rows += [(SIZES[0], "X vs Y", SIZES[1], name, m) for name, m in sizes]
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


def ledger(run: Run, printed: Run, starts: Iterable[Run]) -> pd.DataFrame:
    """Measure all claims; one row each: section, claim, published, ours, verdict, note."""
    starts = list(starts)
    rows = [_row(claim, run, printed, starts) for claim in claims()]
    return pd.DataFrame(rows, columns=["section", "claim", "published", "ours", "verdict", "note"])


def claims() -> list[dict[str, str]]:
    """Read `claims.csv`."""
    with files("sampled_metrics.study").joinpath("claims.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _row(claim: dict[str, str], run: Run, printed: Run, starts: list[Run]) -> tuple[str, ...]:
    about, name = (claim["section"], claim["quote"]), claim["measurement"]
    published = claim["published"]
    if not name:
        return (*about, published, claim["ours"], claim["verdict"], claim["note"])
    notes, in_print = [claim["note"]], True  # where the paper says it in words
    try:
        holds, ours = run.measure(name)
        if not published:
            in_print, published = printed.measure(name)
        count = sum(start.measure(name)[0] for start in starts if claim["varies_with"])
    except LookupError:
        return (*about, published, "", "not measured", NOT_MEASURED)
    verdict = HOLDS if holds else DOES_NOT
    if claim["varies_with"]:
        share, others = (count + holds) / (len(starts) + 1), f"{count} of {len(starts)} others"
        verdict = HOLDS if share >= OFTEN else DEPENDS if share else DOES_NOT
        runs = ["the published run"] * in_print + ["this one"] * holds if verdict == DEPENDS else []
        notes += [f"true of {', '.join([*runs, others])}"] * (verdict != DOES_NOT)
    if in_print != holds and not claim["published"]:
        notes.append(f"{HOLDS if in_print else DOES_NOT} in the published tables")
    if claim["if_not"] and not holds:
        verdict = claim["if_not"]
    return (*about, published, ours, verdict, "; ".join(filter(None, notes)))


def write_claims(ledger: pd.DataFrame, ranks: str, path: Path, md: Path) -> None:
    """Write the ledger as CSV, and as Markdown below the number of claims by verdict."""
    write_table(ledger, path)
    counts = [*ledger["verdict"].value_counts().items(), ("all", len(ledger))]
    parts = (
        "# Claims of the paper",
        f"Ranks: {ranks}.",
        _INTRODUCTION,
        markdown(pd.DataFrame(counts, columns=["verdict", "claims"]), decimals=0),
        markdown(ledger.apply(lambda column: column.str.replace("|", "\\|"))),
    )
    write_text(md, "\n\n".join(parts) + "\n")

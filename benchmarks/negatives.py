"""Errors, coverage and orders of corrections of negatives of any design.

    python -m benchmarks.negatives [--data NAME ...] [--draws N] [--ranges N] [--slow N]

Writes docs/measured/negatives.md and negatives.csv. Each draw of negatives is corrected for three
recommenders, which take turns, and each two of them are ordered. A finished draw is a line in
results/negatives, so that a run that was stopped goes on; the folder is removed at the end.
"""

import argparse
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.markdown import markdown
from benchmarks.worlds import DESIGNS, MOST_USERS, SYNTHETIC, WORLDS, Draw, World, count_draw
from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.random_streams import generator
from sampled_metrics.estimators import estimator_matrix, likely_log_errors, parse_estimators
from sampled_metrics.estimators.jackknife import jackknife_log_errors
from sampled_metrics.estimators.tastes import (
    TasteFit,
    estimate_by_tastes,
    fit_tastes,
    log_errors,
    mean_credit,
    metrics_of_cells,
)
from sampled_metrics.evaluation.strata import are_uniform
from sampled_metrics.intervals.kernels import last_shaped_rank
from sampled_metrics.intervals.taste_ranges import (
    Mixture,
    fit_mixture,
    profile_ranges,
    tastes_are_safe,
)
from sampled_metrics.intervals.thinned_ranges import thinned_ranges
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.ranks import Sampling
from sampled_metrics.ranks.strata import JACKKNIFE_GROUPS, StratumCounts

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/measured/negatives.md"
TABLE = PAGE.with_suffix(".csv")
FOLDER = ROOT / "results/negatives"
METRICS = ("HR@10", "NDCG@10", "AP")
MEASURES = [parse_measure(name) for name in METRICS]
LIKELY = parse_estimators("likely")
KIND = Sampling.WITHOUT_REPLACEMENT
SIZES = (20, 100, 500)
AT_A_TIME = 3  # recommenders of a draw
TYPICAL = 100  # negatives of attacks, and of all users
SAFE = ("uniform", "popularity", "half and half")  # designs of the same
ATTACKING_DRAWS, WHOLE_DRAWS = 20, 8  # at most
WHOLE = "all users"
Z, CONFIDENCE = 1.959964, 0.95
TINY = 1e-6  # low end in ratios of ends
WIDEST = 100  # ratio that is printed
RANGES = {"range": "ranges with tastes", "free": "ranges without tastes"}
ORDERS = {
    "printed": "Printed",
    "value": "Estimates",
    "range": "Ranges with tastes, half of the drop of the likelihood each",
    "free": "Ranges of differences without tastes",
}
BY_POPULARITY = ("popularity", "power .75", "log-uniform", "half and half")
KEYS = ["data", "group", "design", "m", "metric"]
TITLES = {"ml-100k": "ML-100K", "ml-1m": "ML-1M", WHOLE: "ML-1M, all users", "synthetic": SYNTHETIC}
ABOUT = """# Negatives of any design

`make measure PAGE=negatives` writes this page; [negatives](../negatives.md) says what it means, and
[negatives.csv](negatives.csv) has each cell. Draws of negatives for each design and m:
{draws}.
Each is of three recommenders, which take turns. The first ones, {ranges} at most, have ranges with
tastes, and {slow} also without. Users are {users:,}, drawn once, or all.

- ML-100K and ML-1M: X, Y and Z and five others of the study. The last item of each user is held
  out, and counts are those of the other events, or .5 for items without any.
- {synthetic}: made up, of Zipf's law, with scores by factors and noise.
- `half and half`: half by popularity, half uniform; `in batch`: held-out items of m other users of
  a batch; `shared`: a uniform set for 50 users together. All without seen items and repeats.
- Errors of batches and shared sets are by a jackknife over 10 groups of clusters; there are two
  batches at m = 500, hence none. Ranges with tastes are widened by the same factor.
"""
ATTACKS_ABOUT = """m = 100, {metrics}. `Niche` prefers items of middling popularity. `Anti-popular`
subtracts the log of it, and `Half anti-popular` does so for half of the users. `Rules` puts five
unpopular items first.
"""
LEAST_INTERVALS, LEAST_RANGES, MOST_ERROR = 0.85, 0.95, 0.10


class Cell(NamedTuple):
    """What a job draws."""

    data: str
    group: str
    design: str
    m: int
    number: int


class Corrected(NamedTuple):
    """A recommender among the negatives of a draw, each of shape (measures,)."""

    exact: Float
    printed: Float
    as_if_uniform: Float
    value: Float
    log_error: Float


def values_at(rank: Int, n: int) -> Float:
    """Return the mean of each metric at the ranks of users."""
    return np.array([measure.value_at(rank, n).mean() for measure in MEASURES])


def correct_as_uniform(n_better: Int, n: int, m: int) -> tuple[Float, Float]:
    """Estimate as if the negatives were uniform and had no ids; return values and log errors."""
    histogram = np.bincount(np.minimum(n_better, m), minlength=m + 1)
    vectors = estimator_matrix(LIKELY, MEASURES, n, m, sampling=KIND, histogram=histogram)
    values = vectors[:, 0] @ (histogram / histogram.sum())
    return values, likely_log_errors(tuple(histogram.tolist()), tuple(MEASURES), n, m, KIND)


def design_effects(counts: StratumCounts, fit: TasteFit, n: int, whole_error: Float) -> Float:
    """Return by how much clusters raise the variance of each log estimate, shape (measures,)."""
    by_chance = fit.fit.log_errors(metrics_of_cells(fit, MEASURES, n).T)
    added = whole_error**2 - log_errors(fit, counts, MEASURES, n) ** 2
    return 1.0 + np.maximum(added, 0.0) / by_chance**2


def find_ranges(
    fit: TasteFit, counts: StratumCounts, n: int, effects: Float, *, is_slow: bool
) -> dict[str, list[Any]]:
    """Return the ranges of each metric: with tastes, also for orders, and without if `is_slow`."""
    m = float(counts.drawn.sum(axis=1).mean())
    none = np.zeros(1, np.int64)
    mixtures: dict[int, Mixture] = {}
    ranges: dict[str, list[Any]] = {"range": [], "half": []}
    for measure, effect in zip(MEASURES, effects, strict=True):
        last = last_shaped_rank(n, m, measure.cutoff)
        if last not in mixtures:
            mixtures[last] = fit_mixture(fit, last)
        credit = measure.value_at(np.arange(1, n + 1), n)
        of_cells = mean_credit(credit, none, fit.level_of_cell[None])
        for kind, share in (("range", 1.0), ("half", 0.5)):
            about = {"design_effect": float(effect), "share_of_drop": share}
            (found,) = profile_ranges(mixtures[last], of_cells, CONFIDENCE, **about)
            ranges[kind].append(found[:2])
    if is_slow:
        ranges |= {"free": [], "lower": [], "upper": []}
        for last, measures in measures_by_last(n, m).items():
            for found in thinned_ranges(counts, measures, n, last, CONFIDENCE):
                ranges["free"].append(found.allowed[:2])
                ranges["lower"].append(found.lower)
                ranges["upper"].append(found.upper)
    return ranges


def measures_by_last(n: int, m: float) -> dict[int, list[Measure]]:
    """Return the metrics, in order, by the rank at which the shape ends."""
    groups: dict[int, list[Measure]] = {}
    for measure in MEASURES:
        groups.setdefault(last_shaped_rank(n, m, measure.cutoff), []).append(measure)
    return groups


def correct_one(
    world: World, draw: Draw, name: str, m: int, *, has_errors: bool = True
) -> tuple[Corrected, TasteFit, StratumCounts]:
    """Correct a recommender among the negatives of a draw, as `correct` does with counts.

    The error is that of clusters, if users share negatives; nan without `has_errors`, or if there
    are too few clusters.
    """
    counts = count_draw(world, draw.is_drawn, name)
    fit = fit_tastes(counts)
    n_better = counts.better.sum(axis=1)
    as_uniform = correct_as_uniform(n_better, world.n, m)
    values, errors, *_ = estimate_by_tastes(counts, MEASURES, world.n, fit)
    if draw.cluster is None and are_uniform(counts):
        values, errors = as_uniform[0], np.maximum(as_uniform[1], errors)
    if draw.cluster is not None:
        errors = np.full(len(MEASURES), np.nan)
        if has_errors and draw.cluster.max() + 1 >= JACKKNIFE_GROUPS:
            errors = jackknife_log_errors(counts, draw.cluster, MEASURES, world.n, fit=fit)
    corrected = Corrected(
        values_at(1 + world.better[name].sum(axis=1), world.n),
        values_at(1 + n_better, world.n),
        as_uniform[0],
        values,
        errors,
    )
    return corrected, fit, counts


class Turn(NamedTuple):
    """A draw, and which of the ranges to find."""

    cell: Cell
    has_ranges: bool
    is_slow: bool  # also those without tastes


def run(world: World, turn: Turn) -> dict[str, Any]:
    """Draw negatives, and correct the recommenders whose turn it is."""
    cell = turn.cell
    rng = generator(cell.number, cell.data, cell.group, cell.design, cell.m)
    draw = DESIGNS[cell.design](world, cell.m, rng)
    names = world.groups[cell.group]
    first = AT_A_TIME * cell.number
    chosen = [names[(first + j) % len(names)] for j in range(AT_A_TIME)]
    rows = {}
    by_user = {}
    for name in dict.fromkeys(chosen):
        corrected, fit, counts = correct_one(world, draw, name, cell.m, has_errors=turn.has_ranges)
        row: dict[str, Any] = {key: x.tolist() for key, x in corrected._asdict().items()}
        if turn.has_ranges and np.isfinite(corrected.log_error).all():
            effects = np.ones(len(MEASURES))
            if draw.cluster is not None:
                effects = design_effects(counts, fit, world.n, corrected.log_error)
            is_slow = turn.is_slow and draw.cluster is None
            row |= {"is_safe": tastes_are_safe(fit, counts, world.n)}
            row |= find_ranges(fit, counts, world.n, effects, is_slow=is_slow)
            if is_slow:
                by_user[name] = row.pop("lower"), row.pop("upper")
        rows[name] = row
    pairs = {}
    for a, b in combinations(by_user, 2):
        pairs[f"{a}|{b}"] = order_without_tastes(*by_user[a], *by_user[b])
    return {"cell": list(cell), "rows": rows, "pairs": pairs}


def order_without_tastes(
    lower_a: list[Float], upper_a: list[Float], lower_b: list[Float], upper_b: list[Float]
) -> list[float]:
    """Order two recommenders by each metric: 1 if the first is better, 0 if it is open."""
    signs = []
    for i in range(len(METRICS)):
        least, most = lower_a[i] - upper_b[i], upper_a[i] - lower_b[i]
        low = least.mean() - Z * least.std() / np.sqrt(least.size)
        high = most.mean() + Z * most.std() / np.sqrt(most.size)
        signs.append(float(low > 0.0) - float(high < 0.0))
    return signs


_world: World | None = None  # of the worker processes, which inherit it


def run_job(turn: Turn) -> dict[str, Any]:
    assert _world is not None
    with threadpool_limits(1):
        return run(_world, turn)


def cells_of(data: str, draws: int) -> list[Cell]:
    """Return the draws of a world, the first ones of all designs first."""
    if data == WHOLE:
        numbers = range(min(draws, WHOLE_DRAWS))
        return [
            Cell(data, "recommenders", design, TYPICAL, i) for i, design in product(numbers, SAFE)
        ]
    ordinary = [
        Cell(data, "recommenders", design, m, number)
        for number, design, m in product(range(draws), DESIGNS, SIZES)
    ]
    attacks = [
        Cell(data, "attacks", design, TYPICAL, number)
        for number, design in product(range(min(draws, ATTACKING_DRAWS)), SAFE)
    ]
    return sorted(ordinary + attacks, key=lambda cell: cell.number)


def measure(data: str, draws: int, n_ranges: int, n_slow: int, workers: int) -> list[Any]:
    """Run the draws of a world that are not in its file, and return all."""
    global _world  # inherited by the workers, without a copy
    path = FOLDER / f"{data}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    results = [json.loads(line) for line in lines]
    done = {tuple(result["cell"]) for result in results}
    todo = [cell for cell in cells_of(data, draws) if tuple(cell) not in done]
    if not todo:
        return results
    _world = WORLDS[data]()
    turns = [Turn(cell, cell.number < n_ranges, cell.number < n_slow) for cell in todo]
    with ProcessPoolExecutor(workers) as pool, path.open("a", encoding="utf-8") as file:
        for job in as_completed([pool.submit(run_job, turn) for turn in turns]):
            file.write(json.dumps(job.result()) + "\n")
            file.flush()
            results.append(job.result())
    return results


# Tables


def estimates_of(results: list[dict[str, Any]]) -> pd.DataFrame:
    """Return a row for each metric of a recommender in a draw."""
    rows = []
    for result in results:
        for (name, row), (i, metric) in product(result["rows"].items(), enumerate(METRICS)):
            line = dict(zip(Cell._fields, result["cell"], strict=True)) | {"metric": metric}
            line |= {"name": name} | {key: row[key][i] for key in Corrected._fields}
            line["is_safe"] = float(row.get("is_safe", np.nan))
            for kind in (*RANGES, "half"):
                low, high = row[kind][i] if kind in row else (np.nan, np.nan)
                line |= {f"{kind}_low": low, f"{kind}_high": high}
            rows.append(line)
    table = pd.DataFrame(rows)
    reach = np.exp(Z * table["log_error"])
    exact = table["exact"]
    inside = (table["value"] / reach <= exact) & (exact <= table["value"] * reach)
    table["held"] = inside.where(table["log_error"].notna()).astype(float)
    for kind in RANGES:
        low, high = table[f"{kind}_low"], table[f"{kind}_high"]
        is_inside = (low <= exact) & (exact <= high)
        table[f"{kind}_held"] = is_inside.where(low.notna()).astype(float)
        table[f"{kind}_width"] = high / np.maximum(low, TINY)
    return table


def summarise(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each data, group, design, m and metric.

    Columns `_5`, `_50` and `_95` are quantiles, over draws and recommenders, of the ratio to the
    exact metric, and `_error` is the root mean square of its distance from 1.
    """
    rows = []
    for key, cell in table.groupby(KEYS, sort=False):
        row = dict(zip(KEYS, key, strict=True)) | {"estimates": len(cell)}
        for column in ("printed", "as_if_uniform", "value"):
            ratio = cell[column] / cell["exact"]
            row |= {f"{column}_{q}": ratio.quantile(q / 100) for q in (5, 50, 95)}
            row[f"{column}_error"] = float(np.sqrt(np.mean((ratio - 1.0) ** 2)))
        row |= {"intervals": cell["held"].count(), "held": cell["held"].mean()}
        for kind in RANGES:
            held = cell[f"{kind}_held"]
            row |= {f"{kind}s": held.count(), f"{kind}_held": held.mean()}
            row[f"{kind}_width"] = cell[f"{kind}_width"].median()
        rows.append(row)
    return pd.DataFrame(rows)


def decide(a: dict[str, float], b: dict[str, float]) -> float:
    """Order two recommenders by their ranges: 1 if the first is better; nan without ranges."""
    if np.isnan(a["half_low"] + b["half_low"]):
        return np.nan
    return float(a["half_low"] > b["half_high"]) - float(b["half_low"] > a["half_high"])


def order_pairs(table: pd.DataFrame, free: Mapping[tuple[Any, ...], float]) -> pd.DataFrame:
    """Return the orders of each two recommenders of a draw: 1 right, -1 wrong, 0 undecided."""
    rows = []
    ordinary = table[table["group"] == "recommenders"]
    keys = ["data", "design", "m", "number", "metric"]
    for key, draw in ordinary.groupby(keys, sort=False):
        for a, b in combinations(draw.to_dict("records"), 2):
            sign = np.sign(a["exact"] - b["exact"])
            row = dict(zip(keys, key, strict=True))
            for column in ("printed", "as_if_uniform", "value"):
                row[column] = sign * np.sign(a[column] - b[column])
            row["range"] = sign * decide(a, b)
            row["free"] = sign * free.get((*key, a["name"], b["name"]), np.nan)
            rows.append(row)
    return pd.DataFrame(rows)


def orders_without_tastes(results: list[dict[str, Any]]) -> dict[tuple[Any, ...], float]:
    """Return 1 where the first recommender is better, by draw, metric and pair."""
    found = {}
    for result in results:
        data, _, design, m, number = result["cell"]
        for pair, signs in result["pairs"].items():
            for metric, sign in zip(METRICS, signs, strict=True):
                found[data, design, m, number, metric, *pair.split("|")] = sign
    return found


def count_orders(orders: "pd.Series[float]") -> str:
    """Format right, wrong and undecided orders."""
    decided = orders.dropna()
    if decided.empty:
        return ""
    return " ".join(str(int((decided == sign).sum())) for sign in (1, -1, 0))


def by_design(table: pd.DataFrame, text_of: Callable[[pd.DataFrame], str]) -> list[dict[str, str]]:
    """Tabulate a text for each design, by data and m."""
    rows = []
    for data, m in product(TITLES, SIZES):
        cell = table[(table["data"] == data) & (table["m"] == m)]
        if cell.empty:
            continue
        row = {"data": TITLES[data], "m": str(m)}
        for design in DESIGNS:
            selected = cell[cell["design"] == design]
            row[design] = text_of(selected) if len(selected) else ""
        if any(row[design] for design in DESIGNS):
            rows.append(row)
    return rows


def shown(number: float, form: str = "{:.2f}") -> str:
    """Format a number, without a 0 before the point."""
    return re.sub(r"^0\.", ".", form.format(number))


def each_metric(column: str, form: str) -> Callable[[pd.DataFrame], str]:
    """Return a function that formats a column of a summary, a number for each metric."""

    def text_of(rows: pd.DataFrame) -> str:
        numbers = rows.set_index("metric")[column].reindex(METRICS).dropna()
        return " ".join(shown(number, form) for number in numbers)

    return text_of


def range_text(kind: str) -> Callable[[pd.DataFrame], str]:
    """Return a function that formats the coverage and the widths of ranges."""

    def text_of(rows: pd.DataFrame) -> str:
        if not rows[f"{kind}s"].sum():
            return ""
        widths = rows.set_index("metric")[f"{kind}_width"].reindex(METRICS)
        held = f"{100 * rows[f'{kind}_held'].mean():.0f}"
        shown_widths = (f"{width:.1f}" if width <= WIDEST else f"> {WIDEST}" for width in widths)
        return f"{held}; " + " ".join(shown_widths)

    return text_of


def last_of_three(table: pd.DataFrame) -> str:
    """Say how often the worst recommender of the large catalogue is printed first."""
    rows = table[(table["data"] == "synthetic") & (table["group"] == "recommenders")]
    rows = rows[rows["design"].isin(BY_POPULARITY)]
    first = dict.fromkeys(("printed", "value"), 0)
    last = dict(first)
    cells = 0
    for _, cell in rows.groupby(["design", "m", "metric"], sort=False):
        means = cell.groupby("name")[["exact", "printed", "value"]].mean()
        worst = means["exact"].idxmin()
        cells += 1
        for column in first:
            first[column] += means[column].idxmax() == worst
            last[column] += means[column].idxmin() == worst
    return (
        f"The worst of the three recommenders of the {SYNTHETIC} is printed first in "
        f"{first['printed']} of {cells} cells (designs {', '.join(BY_POPULARITY)}, m and metric; "
        f"means of the draws), and last in {last['printed']}. The estimates put it first in "
        f"{first['value']} and last in {last['value']}."
    )


def shortfalls(summary: pd.DataFrame) -> Iterator[str]:
    """Yield a line for each cell that misses what is promised."""
    ordinary = summary[summary["group"] == "recommenders"]
    groups = ordinary.groupby(["data", "design", "m"], sort=False)
    for (data, design, m), cell in groups:
        place = f"{TITLES[data]}, {design}, m = {m}"
        for row in cell.itertuples():
            if row.held < LEAST_INTERVALS:
                yield f"- {place}: intervals of {row.metric} hold {100 * row.held:.0f} %"
        for kind in RANGES:
            held = cell[f"{kind}_held"].mean()  # of the three metrics
            if held < LEAST_RANGES:
                yield f"- {place}: {RANGES[kind]} hold {100 * held:.0f} %"
        error = float(cell[cell["metric"] == "HR@10"]["value_error"].iloc[0])
        if m == TYPICAL and error > MOST_ERROR:
            yield f"- {place}: HR@10 is off by {error:.2f}"


def page(results: list[Any], table: pd.DataFrame, summary: pd.DataFrame) -> Iterator[str]:
    """Yield the page in Markdown."""
    of_recommenders = table[table["group"] == "recommenders"]
    numbers = of_recommenders.groupby("data", sort=False)["number"].nunique()
    n_draws = ", ".join(f"{number} of {TITLES[data]}" for data, number in numbers.items())
    ordinary = summary[summary["group"] == "recommenders"]
    drawn = table.drop_duplicates(["data", "design", "m", "number"])
    counted = drawn[drawn["group"] == "recommenders"].groupby(["data", "design", "m"])
    n_ranges, n_slow = (int(counted[f"{kind}_low"].count().max()) for kind in RANGES)
    yield ABOUT.format(
        draws=n_draws, ranges=n_ranges, slow=n_slow, users=MOST_USERS, synthetic=SYNTHETIC
    )
    yield "\n## Errors\n"
    yield "Root mean square of the relative error of the estimate: HR@10, NDCG@10 and AP.\n"
    yield markdown(by_design(ordinary, each_metric("value_error", "{:.2f}")))
    yield "\nThe same, if the negatives are corrected as if they were uniform, without ids:\n"
    yield markdown(by_design(ordinary, each_metric("as_if_uniform_error", "{:.2f}")))
    yield "\nWhat is printed, as a multiple of the exact metric (median):\n"
    yield markdown(by_design(ordinary, each_metric("printed_50", "{:.1f}")))
    yield "\n## Intervals\n"
    yield "Percent of the 95 % intervals of the estimate that hold the exact HR@10, NDCG@10, AP.\n"
    percent = ordinary.assign(held=100 * ordinary["held"])
    yield markdown(by_design(percent, each_metric("held", "{:.0f}")))
    yield "\n## Ranges\n"
    yield "Percent of the ranges that hold, and the median ratio of their ends for each metric.\n"
    for kind, title in RANGES.items():
        if not ordinary[f"{kind}s"].any():
            continue
        yield f"\n{title.capitalize()}:\n"
        yield markdown(by_design(ordinary, range_text(kind)))
    yield "\n## Orders\n"
    yield "Pairs of recommenders of a draw, by metric: right, wrong and undecided orders.\n"
    pairs = order_pairs(table, orders_without_tastes(results))
    for column, title in ORDERS.items():
        if pairs[column].isna().all():
            continue
        yield f"\n{title}, in all {count_orders(pairs[column])}:\n"
        by_column = by_design(pairs, lambda rows, column=column: count_orders(rows[column]))
        yield markdown(by_column)
    if "synthetic" in set(table["data"]):
        yield "\n" + last_of_three(table)
    yield "\n## Attacks\n"
    yield ATTACKS_ABOUT.format(metrics=", ".join(METRICS))
    yield markdown(list(attack_rows(table)))
    yield "\n## Where it falls short\n"
    yield from list(shortfalls(summary)) or ["Nowhere."]


def attack_rows(table: pd.DataFrame) -> Iterator[dict[str, str]]:
    """Yield a row for each attack, data and design."""
    attacks = table[table["group"] == "attacks"]
    for (data, name, design), cell in attacks.groupby(["data", "name", "design"]):
        row = {"data": TITLES[data], "recommender": name, "design": design}
        for column, title in (("as_if_uniform", "as if uniform"), ("value", "error")):
            errors = (cell[column] / cell["exact"] - 1.0) ** 2
            means = np.sqrt(errors.groupby(cell["metric"]).mean()).reindex(METRICS)
            row[title] = " ".join(map(shown, means))
        row["intervals"] = f"{100 * cell['held'].mean():.0f}"
        for kind, title in RANGES.items():
            held = cell[f"{kind}_held"]
            row[title] = f"{int(held.sum())} of {held.count()}"
        yield row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--draws", type=int, default=34, help="of each data, design and m")
    parser.add_argument("--ranges", type=int, default=4, help="of these, with ranges with tastes")
    parser.add_argument("--slow", type=int, default=1, help="of these, also without tastes")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep", action="store_true", help="keep the folder of finished draws")
    options = parser.parse_args()
    results = []
    for data in options.data:
        results += measure(data, options.draws, options.ranges, options.slow, options.workers)
    results.sort(key=lambda result: (list(WORLDS).index(result["cell"][0]), result["cell"][1:]))
    table = estimates_of(results)
    summary = summarise(table)
    summary.to_csv(TABLE, index=False, float_format="%.4g")
    PAGE.write_text("\n".join(page(results, table, summary)) + "\n", encoding="utf-8")
    if not options.keep:
        shutil.rmtree(FOLDER)


if __name__ == "__main__":
    main()

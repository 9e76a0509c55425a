"""Errors of the number to quote, and where it fails; `make measure PAGE=estimators`.

Writes the other tables of docs/measured/estimators.md: populations that `likely` considers
unlikely, its standard error, coverage of its interval for the exact metric, exact metrics by the
width of this interval, what sampled ranks cannot distinguish, numbers from printed means, and the
cut-off for which a sampled hit rate is nearly exact. Tables of other catalogues need ranks in
results/catalogues, results/design and results/shown, with a folder for each catalogue.
"""

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

import sampled_metrics as sm
from benchmarks.estimators import (
    CHOSEN_ON,
    KIND,
    MEASURES,
    METRICS,
    NAMES,
    PAGE,
    PUBLISHED,
    REFERENCE,
    ROOT,
    SHOWN_ON,
    Recommender,
    estimate_by_all,
    exact_metrics,
    format_number,
    likely_vectors,
    read_recommenders,
)
from benchmarks.markdown import write_table
from sampled_metrics._base.defaults import MAX_WIDTH_RATIO
from sampled_metrics.estimators import likely_log_errors, smooth
from sampled_metrics.evaluation.correct import Corrected
from sampled_metrics.metrics import parse_measure
from sampled_metrics.printed.reported import Reported
from sampled_metrics.sampling.probability import pmf

SIZES = (20, 100, 500)
ALL_SIZES = (10, 20, 50, 100, 200, 500)
ALL_USERS = (100, 300, 1000, 3000, 6040)
REPEATS = 40  # draws for a standard error
USERS = 1000
POPULATION_USERS = 6040
DRAWS = 4  # draws of a population
COLUMNS = METRICS[:3]
WIDTHS = (1.0, 2.0, 4.0, 8.0, MAX_WIDTH_RATIO, 2.0 * MAX_WIDTH_RATIO, np.inf)
PRIORS = [(slope / 10, weight) for slope in range(-6, 1) for weight in (0.5, 2.0)]
FOLDERS = {
    "ranks": "the paper's study",
    "ml-1m/ranks": "MovieLens 1M",
    "ml-100k/ranks": "MovieLens 100K",
    "global-time/ranks": "MovieLens 1M by time",
    "ncf": "NCF",
}
FEWEST_CASES = 20  # rows with fewer cases are left out
MOST_WORSE = 2.0  # priors within this log likelihood of the best fit as well
PRINTED = ("HR@5 HR@10", "HR@10 NDCG@10", "HR@1 HR@5 HR@10")
HITS = (1, 2, 5, 10, 20, 50)
Groups = dict[str, list[Recommender]]
Share = Callable[[np.ndarray, int], np.ndarray]  # share of users with a rank up to k of n


def power_law(exponent: float) -> Share:
    """Return the power law: a share (k/n)^a of users has a rank up to k."""
    return lambda k, n: (k / n) ** exponent


def flat_part(share: float, first: int, last: int, exponent: float = 0.6) -> Share:
    """Mix a uniform distribution over the ranks first to last with a power law."""
    return lambda k, n: (
        share * np.clip((k - first + 1) / (last - first + 1), 0.0, 1.0)
        + (1.0 - share) * (k / n) ** exponent
    )


def zipf_law(offset: float) -> Share:
    """Return the distribution with probabilities proportional to 1/(r + offset)."""
    return lambda k, n: (
        np.log((k + offset + 0.5) / (offset + 0.5)) / np.log((n + offset + 0.5) / (offset + 0.5))
    )


def shifted_power_law(first: int, exponent: float) -> Share:
    """Return a power law that starts at rank `first`, because rules fill the places before it."""
    return lambda k, n: np.clip((k - first + 1) / (n - first + 1), 0.0, 1.0) ** exponent


POPULATIONS: dict[str, tuple[int, Share]] = {
    "power law, .5": (3541, power_law(0.5)),
    "power law, .3": (3541, power_law(0.3)),
    "power law, .2": (3541, power_law(0.2)),
    "1/(r + 20)": (3541, zipf_law(20)),
    "half of the users flat to rank 100": (3541, flat_part(0.5, 1, 100)),
    "40 % of the users at ranks 36 to 45": (3541, flat_part(0.4, 36, 45)),
    "ranks 1 to 3 never": (3541, shifted_power_law(4, 0.4)),
    "random order": (3541, power_law(1.0)),
    "random order, n = 20,000": (20_000, power_law(1.0)),
    "power law, .3, n = 20,000": (20_000, power_law(0.3)),
    "1/(r + 20), n = 20,000": (20_000, zipf_law(20)),
    "power law, .3, n = 1,000,000": (1_000_000, power_law(0.3)),
    "1/(r + 20), n = 1,000,000": (1_000_000, zipf_law(20)),
}


def population(name: str, n: int, share: Share) -> Recommender:
    """Return a recommender whose ranks are the quantiles of a distribution."""
    grid = np.unique(np.geomspace(1, n, 100_000).round().astype(np.int64))
    shares = share(grid, n)
    places = (np.arange(POPULATION_USERS) + 0.5) / POPULATION_USERS
    better = grid[np.minimum(np.searchsorted(shares, places), grid.size - 1)] - 1
    return Recommender("made up", name, sm.Ranks(np.full_like(better, n), better, 0 * better))


def all_recommenders() -> list[Recommender]:
    """Return all recommenders of the reference run and of available catalogues."""
    return read_recommenders(REFERENCE, (*CHOSEN_ON, *SHOWN_ON)) + read_catalogues("catalogues")


def read_catalogues(name: str) -> list[Recommender]:
    """Return the recommenders of the catalogues in a folder of results; none if it is missing."""
    root = ROOT / "results" / name
    return read_recommenders(root, sorted(path.name for path in root.glob("*") if path.is_dir()))


def movielens_groups() -> Groups:
    """Return the recommenders of the reference run, by whether constants were chosen on them."""
    return {
        "MovieLens 1M (chosen on)": read_recommenders(REFERENCE, CHOSEN_ON),
        "MovieLens 100K, 1M by time, NCF": read_recommenders(REFERENCE, SHOWN_ON),
    }


def catalogue_groups() -> Groups:
    """Return the recommenders of other catalogues that are available."""
    groups = {
        "six other data sets (chosen on)": read_catalogues("design"),
        "five catalogues": read_catalogues("catalogues"),
        "eight catalogues, no pair repeated": read_catalogues("shown"),
    }
    return {name: recommenders for name, recommenders in groups.items() if recommenders}


def failure_rows(m: int = 100) -> Iterator[dict[str, str]]:
    """Yield mean ratios of estimates, and of ends of ranges, to exact metrics by population."""
    for name, (n, share) in POPULATIONS.items():
        recommender = population(name, n, share)
        truth = exact_metrics(recommender.ranks)[: len(COLUMNS)]
        rng = recommender.generator(m)
        ratios_of_draws = []
        n_quoted = 0
        ranges = []
        for _ in range(DRAWS):
            _, histogram = recommender.drawn(rng, POPULATION_USERS, m)
            ratios_of_draws.append(estimate_by_all(histogram, n, m)[:, : len(COLUMNS)] / truth)
            results = correct_histogram(histogram, n, m)
            n_quoted += sum(not np.isnan(result.value) for result in results)
            if results:
                ends = [(result.range_low, result.range_high) for result in results]
                ranges.append(ends / truth[:, None])
        ratios = np.mean(ratios_of_draws, axis=0)
        best = np.abs(np.log(np.maximum(ratios[PUBLISHED], 1e-9))).sum(axis=1).argmin()
        row = {"true ranks": name}
        for place, metric in enumerate(COLUMNS):
            row[metric] = f"{ratios[0, place]:.2f} (refused)"
            if ranges:
                low, high = np.mean(ranges, axis=0)[place]
                row[metric] = f"{ratios[0, place]:.2f} ({low:.2f} to {high:.2f})"
        closest = ", ".join(f"{value:.2f}" for value in ratios[PUBLISHED][best])
        row["closest of em, bv, cls"] = f"{NAMES[PUBLISHED][best]}: {closest}"
        row["quoted"] = f"{n_quoted} of {DRAWS * len(COLUMNS)}"
        yield row


def correct_histogram(histogram: np.ndarray, n: int, m: int) -> list[Corrected]:
    """Correct the sampled ranks of a histogram; return nothing if they are refused."""
    ranks = np.repeat(np.arange(1, m + 2), histogram)
    sample = sm.SampledRanks(ranks, n, m, KIND)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return list(sm.correct(sample, list(COLUMNS), "likely"))
        except sm.InputError:
            return []


def interval_rows(recommenders: list[Recommender]) -> Iterator[dict[str, str]]:
    """Yield ratios of printed standard errors to those of repeated draws, and coverage."""
    for m in SIZES:
        ratios = []
        held = []
        for recommender in recommenders:
            truth = exact_metrics(recommender.ranks)
            rng = recommender.generator(m, 1)
            values = np.empty((REPEATS, truth.size))
            printed = np.empty_like(values)
            for repeat in range(REPEATS):
                _, histogram = recommender.drawn(rng, USERS, m)
                vectors = likely_vectors(histogram, recommender.n, m)
                values[repeat] = vectors @ histogram / USERS
                second = vectors**2 @ histogram / USERS
                printed[repeat] = np.sqrt((second - values[repeat] ** 2) / (USERS - 1))
            ratios.append(printed.mean(axis=0) / values.std(axis=0, ddof=1))
            reach = 1.96 * printed
            for center in (values.mean(axis=0), truth):
                held.append((np.abs(values - center) <= reach).mean(axis=0)[: len(COLUMNS)])
        ratios_by_recommender = np.array(ratios)[:, : len(COLUMNS)]
        expectation, metric = (np.array(held[first::2]) for first in (0, 1))
        yield {
            "m": str(m),
            "standard error / deviation": format_number(ratios_by_recommender.mean()),
            "least": format_number(ratios_by_recommender.mean(axis=1).min()),
            "most": format_number(ratios_by_recommender.mean(axis=1).max()),
            "intervals that hold the expectation": f"{expectation.mean():.1%}",
            "the exact metric": f"{metric.mean():.1%}",
            "the exact metric, worst recommender": f"{metric.mean(axis=1).min():.1%}",
        }


class Case(NamedTuple):
    """An estimate of a metric by `likely`."""

    m: int
    folder: str
    reach: float  # 1.96 standard errors of the logarithm
    ratio: float  # logarithm of exact metric / estimate

    @property
    def is_held(self) -> bool:
        """Whether the interval contains the exact metric."""
        return abs(self.ratio) <= self.reach


def estimate_cases(recommenders: list[Recommender], sizes: tuple[int, ...]) -> list[Case]:
    """Estimate from one draw for each recommender, number of negatives and number of users."""
    cases = []
    for recommender in recommenders:
        truth = exact_metrics(recommender.ranks)
        for m in sizes:
            for users in ALL_USERS:
                _, histogram = recommender.drawn(recommender.generator(m, users, 2), users, m)
                values = likely_vectors(histogram, recommender.n, m) @ histogram / users
                reach = 1.96 * likely_log_errors(histogram, MEASURES, recommender.n, m, KIND)
                ratio = np.log(truth / values)
                for place in range(len(COLUMNS)):
                    numbers = (float(reach[place]), float(ratio[place]))
                    cases.append(Case(m, recommender.folder, *numbers))
    return cases


def coverage_rows(groups: Groups) -> Iterator[dict[str, str]]:
    """Yield the coverage of intervals for the exact metric, and their median width, by group."""
    for name, recommenders in groups.items():
        cases = estimate_cases(recommenders, SIZES)
        row = {"recommenders": f"{len(recommenders)} of {name}"}
        for m in SIZES:
            cases_of_size = [case for case in cases if case.m == m]
            row[f"m = {m}"] = f"{np.mean([case.is_held for case in cases_of_size]):.1%}"
            width = np.exp(2.0 * np.median([case.reach for case in cases_of_size]))
            row[f"high / low, m = {m}"] = f"{width:.1f}"
        held_by_folder: dict[str, list[bool]] = {}
        for case in cases:
            held_by_folder.setdefault(case.folder, []).append(case.is_held)
        shares = {folder: float(np.mean(held)) for folder, held in held_by_folder.items()}
        least = min(shares, key=shares.__getitem__)
        row["least of a data set"] = f"{shares[least]:.1%}, {FOLDERS.get(least, least)}"
        yield row


def width_rows(groups: Groups) -> Iterator[dict[str, str]]:
    """Yield ratios of exact metrics to the number to quote, by width of its interval."""
    for name, recommenders in groups.items():
        cases = estimate_cases(recommenders, ALL_SIZES)
        for least, most in pairwise(WIDTHS):
            cases_of_width = [case for case in cases if least < np.exp(2.0 * case.reach) <= most]
            if len(cases_of_width) < FEWEST_CASES:
                continue
            ratios = np.array([case.ratio for case in cases_of_width])
            tenth, half, ninth = np.exp(np.quantile(ratios, [0.1, 0.5, 0.9]))
            yield {
                "recommenders": name,
                "high / low": f"{least:g} to {most:g}".replace(" to inf", " or more"),
                "cases": str(len(cases_of_width)),
                "exact / likely, a tenth below": f"{tenth:.2f}",
                "half": f"{half:.2f}",
                "a tenth above": f"{ninth:.2f}",
                "within a factor of 2": f"{np.mean(np.abs(ratios) < np.log(2.0)):.0%}",
                "held": f"{np.mean([case.is_held for case in cases_of_width]):.0%}",
            }


def indistinct_rows(groups: Groups, users: int = 6040) -> Iterator[dict[str, str]]:
    """Yield exact metrics under priors that fit sampled ranks as well as the best prior.

    Rows also have the error of the prior that is best for a data set and m, which is unknown in
    practice.
    """
    for name, recommenders in groups.items():
        for m in SIZES:
            spreads = []
            errors: dict[str, list[np.ndarray]] = {}
            full = []
            for recommender in recommenders:
                truth = np.log(exact_metrics(recommender.ranks)[: len(COLUMNS)])
                for size in (1000, users):
                    ranks, histogram = recommender.drawn(recommender.generator(m, size, 3), size, m)
                    logs, values = metrics_under_priors(histogram, recommender.n, m)
                    errors.setdefault(recommender.folder, []).append(
                        np.square(np.log(values) - truth)
                    )
                    full.append(np.square(np.log(exact_metrics(ranks)[: len(COLUMNS)]) - truth))
                near = values[logs > logs.max() - MOST_WORSE, 0]
                spreads.append(near.max() / near.min())
            by_prior = [np.nanmean(squares, axis=(0, 2)) for squares in errors.values()]
            yield {
                "recommenders": name,
                "m": str(m),
                "Recall@10, highest / lowest": f"{np.median(spreads):.2f}",
                "log error of likely": format_root_mean_square(
                    [squares[-1] for squares in by_prior]
                ),
                "of the best prior": format_root_mean_square(
                    [squares.min() for squares in by_prior]
                ),
                "of full rankings": format_root_mean_square(full),
            }


def format_root_mean_square(squares: Sequence[np.ndarray | float]) -> str:
    """Format the root of a mean of squares."""
    return format_number(float(np.sqrt(np.nanmean(squares))))


def metrics_under_priors(histogram: np.ndarray, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return log likelihoods and metrics under each prior; the prior of `likely` is last."""
    cells = smooth.rank_cells(tuple(MEASURES[: len(COLUMNS)]), n, m, KIND)
    users = float(histogram.sum())
    likelihood = smooth.SampledRankLikelihood(cells.probabilities, histogram / users, users)
    level = np.zeros_like(cells.stiffness)
    level[0, 0] = 1.0
    logs = []
    values = []
    for slope, weight in [*PRIORS, (smooth.SLOPE, 1.0)]:
        other = cells._replace(
            usual_log_density=cells.usual_log_density * (slope / smooth.SLOPE),
            stiffness=level + weight * (cells.stiffness - level),
        )
        share = smooth.maximise(other, likelihood).share
        logs.append(likelihood.log(share))
        values.append(share @ cells.values)
    return np.array(logs), np.array(values)


def printed_rows(groups: Groups, m: int = 100) -> Iterator[dict[str, str]]:
    """Errors of the number to quote from printed means of m negatives and 1,000 or 6,040 users."""
    for name, members in groups.items():
        for names in PRINTED:
            ratios = []
            inside = []
            for member in members:
                truth = exact_metrics(member.ranks)[: len(COLUMNS)]
                for users in (1000, 6040):
                    _, histogram = member.drawn(member.generator(m, users, 4), users, m)
                    for true, result in zip(
                        truth, quote_printed(histogram, names, member.n), strict=False
                    ):
                        if result.likely is not None:
                            ratios.append(np.log(result.likely / true))
                            inside.append(result.likely_low <= true <= result.likely_high)
            yield {
                "recommenders": name,
                "printed": names,
                "quoted": f"{len(ratios)} of {2 * len(COLUMNS) * len(members)}",
                "median of likely / exact": f"{np.exp(np.median(ratios)):.2f}",
                "root mean square of the log": f"{np.sqrt(np.mean(np.square(ratios))):.3f}",
                "intervals that hold the exact metric": f"{np.mean(inside):.1%}",
            }


def quote_printed(histogram: np.ndarray, names: str, n: int) -> list[Reported]:
    """Return the numbers to quote from means printed to four digits; none if they are refused."""
    m = histogram.size - 1
    users = int(histogram.sum())
    printed = {
        name: f"{parse_measure(name).sampled_values(m) @ histogram / users:.4f}"
        for name in names.split()
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return list(
                sm.reported(printed, list(COLUMNS), n_items=n, n_negatives=m, n_users=users)
            )
        except sm.InputError:
            return []


def hit_rate_rows(recommenders: list[Recommender], m: int = 100) -> list[dict[str, str]]:
    """Compare expected HR@k of m negatives with exact HR at ((k - 1/2)(n - 1)/m + 1/2)."""
    rows = []
    for k in HITS:
        ratios = []
        for recommender in recommenders:
            n = recommender.n
            place = (k - 0.5) * (n - 1) / m + 0.5
            ranks = recommender.ranks
            cumulative = np.concatenate([[0.0], np.cumsum(hit_probabilities(n, m)[:, k - 1])])
            ends = ranks.n_better, ranks.n_better + ranks.n_tied + 1
            ends = [np.minimum(end, n) for end in ends]
            sampled = (
                (cumulative[ends[1]] - cumulative[ends[0]]) / np.maximum(ends[1] - ends[0], 1)
            ).mean()
            part = np.clip((place - ranks.n_better) / (ranks.n_tied + 1.0), 0.0, 1.0).mean()
            ratios.append(sampled / part - 1.0)
        errors = np.abs(ratios)
        rows.append(
            {
                "k": str(k),
                "cut-off at n = 3,541": f"{(k - 0.5) * 3540 / m + 0.5:.1f}",
                "root mean square": f"{np.sqrt(np.square(errors).mean()):.1%}",
                "nine of ten within": f"{np.quantile(errors, 0.9):.1%}",
                "most": f"{errors.max():.1%}",
                "recommenders": str(errors.size),
            }
        )
    return rows


@lru_cache(maxsize=64)
def hit_probabilities(n: int, m: int) -> np.ndarray:
    """Return the probability of a sampled rank up to k, by true rank and k."""
    return pmf(np.arange(1, n + 1), n, m, KIND)[:, : HITS[-1]].cumsum(axis=1)


def main(names: list[str]) -> None:
    """Write the named tables, or all for which there is data."""
    recommenders = all_recommenders()
    groups = movielens_groups()
    others = catalogue_groups()
    tables: dict[str, Callable[[], Iterable[dict[str, str]]]] = {
        "hits": lambda: hit_rate_rows(recommenders),
        "failures": failure_rows,
        "errors": lambda: interval_rows(recommenders[::5]),
        "held": lambda: coverage_rows(groups),
        "widths": lambda: width_rows(groups),
        "indistinct": lambda: indistinct_rows(groups),
        "print": lambda: printed_rows(groups),
    }
    if others:
        tables["held, catalogues"] = lambda: coverage_rows(others)
        tables["widths, catalogues"] = lambda: width_rows(others)
        tables["indistinct, catalogues"] = lambda: indistinct_rows(others)
        tables["print, catalogues"] = lambda: printed_rows(others)
    for name in names or tables:
        write_table(PAGE, list(tables[name]()), name)


if __name__ == "__main__":
    main(sys.argv[1:])

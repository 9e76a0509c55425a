"""Where the number to quote fails, and how far off it is; `make measure PAGE=estimators`.

Writes the other tables of docs/measured/estimators.md: populations outside of what `likely` takes
for likely, its standard error, what its interval about the exact metric holds, exact metrics by the
width of that interval, what sampled ranks cannot tell, numbers from printed means, and the cut-off
that a sampled hit rate is nearly exact for. Tables of other catalogues are made of those at hand:
results/catalogues, results/design and results/shown hold a folder of ranks for each.
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
    estimates,
    exact,
    likely,
    number,
    recommenders,
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
USERS_OF_ALL = (100, 300, 1000, 3000, 6040)
REPEATS = 40  # of a cell, for errors
USERS = 1000
POPULATION_USERS = 6040
DRAWS = 4  # of a population
COLUMNS = METRICS[:3]
WIDTHS = (1.0, 2.0, 4.0, 8.0, MAX_WIDTH_RATIO, 2.0 * MAX_WIDTH_RATIO, np.inf)
PRIORS = [(slope / 10, weight) for slope in range(-6, 1) for weight in (0.5, 2.0)]  # of the usual
FOLDERS = {
    "ranks": "the paper's study",
    "ml-1m/ranks": "MovieLens 1M",
    "ml-100k/ranks": "MovieLens 100K",
    "global-time/ranks": "MovieLens 1M by time",
    "ncf": "NCF",
}
FEWEST_CASES = 20  # in a row
MOST_WORSE = 2.0  # log likelihood of a prior that sampled ranks do not tell from the best
PRINTED = ("HR@5 HR@10", "HR@10 NDCG@10", "HR@1 HR@5 HR@10")
HITS = (1, 2, 5, 10, 20, 50)
Groups = dict[str, list[Recommender]]
Share = Callable[[np.ndarray, int], np.ndarray]  # of users with a rank up to k of n


def power(exponent: float) -> Share:
    """Share (k/n)^a of users with a rank up to k."""
    return lambda k, n: (k / n) ** exponent


def bump(share: float, first: int, last: int, exponent: float = 0.6) -> Share:
    """Part of the users with equally likely ranks first to last, the others of a power law."""
    return lambda k, n: (
        share * np.clip((k - first + 1) / (last - first + 1), 0.0, 1.0)
        + (1.0 - share) * (k / n) ** exponent
    )


def zipf(offset: float) -> Share:
    """Probability proportional to 1/(r + offset)."""
    return lambda k, n: (
        np.log((k + offset + 0.5) / (offset + 0.5)) / np.log((n + offset + 0.5) / (offset + 0.5))
    )


def after(first: int, exponent: float) -> Share:
    """Places before the first filled by rules, and a power law after them."""
    return lambda k, n: np.clip((k - first + 1) / (n - first + 1), 0.0, 1.0) ** exponent


POPULATIONS: dict[str, tuple[int, Share]] = {
    "power law, .5": (3541, power(0.5)),
    "power law, .3": (3541, power(0.3)),
    "power law, .2": (3541, power(0.2)),
    "1/(r + 20)": (3541, zipf(20)),
    "half of the users flat to rank 100": (3541, bump(0.5, 1, 100)),
    "40 % of the users at ranks 36 to 45": (3541, bump(0.4, 36, 45)),
    "ranks 1 to 3 never": (3541, after(4, 0.4)),
    "random order": (3541, power(1.0)),
    "random order, n = 20,000": (20_000, power(1.0)),
    "power law, .3, n = 20,000": (20_000, power(0.3)),
    "1/(r + 20), n = 20,000": (20_000, zipf(20)),
    "power law, .3, n = 1,000,000": (1_000_000, power(0.3)),
    "1/(r + 20), n = 1,000,000": (1_000_000, zipf(20)),
}


def population(name: str, n: int, share: Share) -> Recommender:
    """Make as many users as the shares of ranks say, at their quantiles."""
    grid = np.unique(np.geomspace(1, n, 100_000).round().astype(np.int64))
    shares = share(grid, n)
    places = (np.arange(POPULATION_USERS) + 0.5) / POPULATION_USERS
    better = grid[np.minimum(np.searchsorted(shares, places), grid.size - 1)] - 1
    return Recommender("made up", name, sm.Ranks(np.full_like(better, n), better, 0 * better))


def everyone() -> list[Recommender]:
    """All recommenders of the reference run, and those of catalogues that are at hand."""
    return recommenders(REFERENCE, (*CHOSEN_ON, *SHOWN_ON)) + catalogues("catalogues")


def catalogues(name: str) -> list[Recommender]:
    """Recommenders of the catalogues in a folder of results; none if it is not at hand."""
    root = ROOT / "results" / name
    return recommenders(root, sorted(path.name for path in root.glob("*") if path.is_dir()))


def of_movielens() -> Groups:
    """Recommenders of the reference run, by whether the constants were chosen on them."""
    return {
        "MovieLens 1M (chosen on)": recommenders(REFERENCE, CHOSEN_ON),
        "MovieLens 100K, 1M by time, NCF": recommenders(REFERENCE, SHOWN_ON),
    }


def of_catalogues() -> Groups:
    """Recommenders of other catalogues that are at hand."""
    found = {
        "six other data sets (chosen on)": catalogues("design"),
        "five catalogues": catalogues("catalogues"),
        "eight catalogues, no pair repeated": catalogues("shown"),
    }
    return {name: of_name for name, of_name in found.items() if of_name}


def failures(m: int = 100) -> Iterator[dict[str, str]]:
    """Mean ratio of estimates to exact metrics, and of the ends of the range, by population."""
    for name, (n, share) in POPULATIONS.items():
        one = population(name, n, share)
        truth = exact(one.ranks)[: len(COLUMNS)]
        rng = one.generator(m)
        found = []
        quoted = 0
        ranges = []
        for _ in range(DRAWS):
            _, histogram = one.drawn(rng, POPULATION_USERS, m)
            found.append(estimates(histogram, n, m)[:, : len(COLUMNS)] / truth)
            results = corrected(histogram, n, m)
            quoted += sum(not np.isnan(result.value) for result in results)
            if results:
                ends = [(result.range_low, result.range_high) for result in results]
                ranges.append(ends / truth[:, None])
        ratios = np.mean(found, axis=0)
        best = np.abs(np.log(np.maximum(ratios[PUBLISHED], 1e-9))).sum(axis=1).argmin()
        row = {"true ranks": name}
        for place, metric in enumerate(COLUMNS):
            row[metric] = f"{ratios[0, place]:.2f} (refused)"
            if ranges:
                low, high = np.mean(ranges, axis=0)[place]
                row[metric] = f"{ratios[0, place]:.2f} ({low:.2f} to {high:.2f})"
        closest = ", ".join(f"{value:.2f}" for value in ratios[PUBLISHED][best])
        row["closest of em, bv, cls"] = f"{NAMES[PUBLISHED][best]}: {closest}"
        row["quoted"] = f"{quoted} of {DRAWS * len(COLUMNS)}"
        yield row


def corrected(histogram: np.ndarray, n: int, m: int) -> list[Corrected]:
    """Correct the sampled ranks of a histogram; nothing if they are refused."""
    ranks = np.repeat(np.arange(1, m + 2), histogram)
    sample = sm.SampledRanks(ranks, n, m, KIND)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return list(sm.correct(sample, list(COLUMNS), "likely"))
        except sm.InputError:
            return []


def interval(found: list[Recommender]) -> Iterator[dict[str, str]]:
    """Printed standard errors by those of repeated draws, and what intervals hold."""
    for m in SIZES:
        ratios = []
        held = []
        for one in found:
            truth = exact(one.ranks)
            rng = one.generator(m, 1)
            values = np.empty((REPEATS, truth.size))
            printed = np.empty_like(values)
            for repeat in range(REPEATS):
                _, histogram = one.drawn(rng, USERS, m)
                vectors = likely(histogram, one.n, m)
                values[repeat] = vectors @ histogram / USERS
                second = vectors**2 @ histogram / USERS
                printed[repeat] = np.sqrt((second - values[repeat] ** 2) / (USERS - 1))
            ratios.append(printed.mean(axis=0) / values.std(axis=0, ddof=1))
            reach = 1.96 * printed
            for center in (values.mean(axis=0), truth):
                held.append((np.abs(values - center) <= reach).mean(axis=0)[: len(COLUMNS)])
        of_recommenders = np.array(ratios)[:, : len(COLUMNS)]
        expectation, metric = (np.array(held[first::2]) for first in (0, 1))
        yield {
            "m": str(m),
            "standard error / deviation": number(of_recommenders.mean()),
            "least": number(of_recommenders.mean(axis=1).min()),
            "most": number(of_recommenders.mean(axis=1).max()),
            "intervals that hold the expectation": f"{expectation.mean():.1%}",
            "the exact metric": f"{metric.mean():.1%}",
            "the exact metric, worst recommender": f"{metric.mean(axis=1).min():.1%}",
        }


class Case(NamedTuple):
    """One estimate of a metric by `likely`."""

    m: int
    folder: str
    reach: float  # 1.96 errors of the log
    ratio: float  # log of the exact metric by the estimate

    @property
    def is_held(self) -> bool:
        """Whether the interval holds the exact metric."""
        return abs(self.ratio) <= self.reach


def cases(found: list[Recommender], sizes: tuple[int, ...]) -> list[Case]:
    """Estimates from one draw of each recommender, number of negatives and of users."""
    estimated = []
    for one in found:
        truth = exact(one.ranks)
        for m in sizes:
            for users in USERS_OF_ALL:
                _, histogram = one.drawn(one.generator(m, users, 2), users, m)
                values = likely(histogram, one.n, m) @ histogram / users
                reach = 1.96 * likely_log_errors(histogram, MEASURES, one.n, m, KIND)
                ratio = np.log(truth / values)
                for place in range(len(COLUMNS)):
                    of_metric = (float(reach[place]), float(ratio[place]))
                    estimated.append(Case(m, one.folder, *of_metric))
    return estimated


def held(groups: Groups) -> Iterator[dict[str, str]]:
    """Share of intervals about the exact metric that hold it, and their median width, by group."""
    for name, found in groups.items():
        of_group = cases(found, SIZES)
        row = {"recommenders": f"{len(found)} of {name}"}
        for m in SIZES:
            of_size = [case for case in of_group if case.m == m]
            row[f"m = {m}"] = f"{np.mean([case.is_held for case in of_size]):.1%}"
            width = np.exp(2.0 * np.median([case.reach for case in of_size]))
            row[f"high / low, m = {m}"] = f"{width:.1f}"
        of_folders: dict[str, list[bool]] = {}
        for case in of_group:
            of_folders.setdefault(case.folder, []).append(case.is_held)
        shares = {folder: float(np.mean(of_one)) for folder, of_one in of_folders.items()}
        least = min(shares, key=shares.__getitem__)
        row["least of a data set"] = f"{shares[least]:.1%}, {FOLDERS.get(least, least)}"
        yield row


def widths(groups: Groups) -> Iterator[dict[str, str]]:
    """Exact metrics by the number to quote, and by the width of its interval."""
    for name, found in groups.items():
        of_group = cases(found, ALL_SIZES)
        for least, most in pairwise(WIDTHS):
            of_width = [case for case in of_group if least < np.exp(2.0 * case.reach) <= most]
            if len(of_width) < FEWEST_CASES:
                continue
            ratios = np.array([case.ratio for case in of_width])
            tenth, half, ninth = np.exp(np.quantile(ratios, [0.1, 0.5, 0.9]))
            yield {
                "recommenders": name,
                "high / low": f"{least:g} to {most:g}".replace(" to inf", " or more"),
                "cases": str(len(of_width)),
                "exact / likely, a tenth below": f"{tenth:.2f}",
                "half": f"{half:.2f}",
                "a tenth above": f"{ninth:.2f}",
                "within a factor of 2": f"{np.mean(np.abs(ratios) < np.log(2.0)):.0%}",
                "held": f"{np.mean([case.is_held for case in of_width]):.0%}",
            }


def indistinct(groups: Groups, users: int = 6040) -> Iterator[dict[str, str]]:
    """What sampled ranks cannot tell: the exact metric under priors that fit as well as the best.

    Also the error of the best of these priors for each data set and m, which nobody knows before.
    """
    for name, found in groups.items():
        for m in SIZES:
            spreads = []
            errors: dict[str, list[np.ndarray]] = {}
            full = []
            for one in found:
                truth = np.log(exact(one.ranks)[: len(COLUMNS)])
                for size in (1000, users):
                    ranks, histogram = one.drawn(one.generator(m, size, 3), size, m)
                    logs, values = under_priors(histogram, one.n, m)
                    errors.setdefault(one.folder, []).append(np.square(np.log(values) - truth))
                    full.append(np.square(np.log(exact(ranks)[: len(COLUMNS)]) - truth))
                near = values[logs > logs.max() - MOST_WORSE, 0]
                spreads.append(near.max() / near.min())
            by_prior = [np.nanmean(of_one, axis=(0, 2)) for of_one in errors.values()]
            yield {
                "recommenders": name,
                "m": str(m),
                "Recall@10, highest / lowest": f"{np.median(spreads):.2f}",
                "log error of likely": number_of([of_one[-1] for of_one in by_prior]),
                "of the best prior": number_of([of_one.min() for of_one in by_prior]),
                "of full rankings": number_of(full),
            }


def number_of(squares: Sequence[np.ndarray | float]) -> str:
    """Write the root of a mean of squares."""
    return number(float(np.sqrt(np.nanmean(squares))))


def under_priors(histogram: np.ndarray, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Log likelihoods and metrics under each prior, the one of `likely` last."""
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


def from_print(groups: Groups, m: int = 100) -> Iterator[dict[str, str]]:
    """Errors of the number to quote from printed means of m negatives and 1,000 or 6,040 users."""
    for name, found in groups.items():
        for names in PRINTED:
            ratios = []
            inside = []
            for one in found:
                truth = exact(one.ranks)[: len(COLUMNS)]
                for users in (1000, 6040):
                    _, histogram = one.drawn(one.generator(m, users, 4), users, m)
                    for true, result in zip(truth, quoted(histogram, names, one.n), strict=False):
                        if result.likely is not None:
                            ratios.append(np.log(result.likely / true))
                            inside.append(result.likely_low <= true <= result.likely_high)
            yield {
                "recommenders": name,
                "printed": names,
                "quoted": f"{len(ratios)} of {2 * len(COLUMNS) * len(found)}",
                "median of likely / exact": f"{np.exp(np.median(ratios)):.2f}",
                "root mean square of the log": f"{np.sqrt(np.mean(np.square(ratios))):.3f}",
                "intervals that hold the exact metric": f"{np.mean(inside):.1%}",
            }


def quoted(histogram: np.ndarray, names: str, n: int) -> list[Reported]:
    """Numbers to quote from printed means, to four digits; none if they are refused."""
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


def nearly_exact(found: list[Recommender], m: int = 100) -> list[dict[str, str]]:
    """Expected HR@k of m negatives by the exact HR at ((k - 1/2)(n - 1)/m + 1/2)."""
    rows = []
    for k in HITS:
        ratios = []
        for one in found:
            n = one.n
            place = (k - 0.5) * (n - 1) / m + 0.5
            ranks = one.ranks
            given = np.concatenate([[0.0], np.cumsum(hits(n, m)[:, k - 1])])
            ends = ranks.n_better, ranks.n_better + ranks.n_tied + 1
            ends = [np.minimum(end, n) for end in ends]
            sampled = ((given[ends[1]] - given[ends[0]]) / np.maximum(ends[1] - ends[0], 1)).mean()
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
def hits(n: int, m: int) -> np.ndarray:
    """Probability of a sampled rank up to k, by true rank and k."""
    return pmf(np.arange(1, n + 1), n, m, KIND)[:, : HITS[-1]].cumsum(axis=1)


def main(names: list[str]) -> None:
    """Write the tables of these names, by default all of data at hand."""
    found = everyone()
    groups = of_movielens()
    others = of_catalogues()
    tables: dict[str, Callable[[], Iterable[dict[str, str]]]] = {
        "hits": lambda: nearly_exact(found),
        "failures": failures,
        "errors": lambda: interval(found[::5]),
        "held": lambda: held(groups),
        "widths": lambda: widths(groups),
        "indistinct": lambda: indistinct(groups),
        "print": lambda: from_print(groups),
    }
    if others:
        tables["held, catalogues"] = lambda: held(others)
        tables["widths, catalogues"] = lambda: widths(others)
        tables["indistinct, catalogues"] = lambda: indistinct(others)
        tables["print, catalogues"] = lambda: from_print(others)
    for name in names or tables:
        write_table(PAGE, list(tables[name]()), name)


if __name__ == "__main__":
    main(sys.argv[1:])

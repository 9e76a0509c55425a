"""Where the number to quote fails, and how far off it is; `make measure PAGE=estimators`.

Writes the other tables of docs/measured/estimators.md: populations outside of what `likely` takes
for likely, its standard error and interval, exact metrics by the width of the range, and the
cut-off that a sampled hit rate is nearly exact for.
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise

import numpy as np

import sampled_metrics as sm
from benchmarks.estimators import (
    CATALOGUES,
    CHOSEN_ON,
    KIND,
    METRICS,
    NAMES,
    PAGE,
    PUBLISHED,
    REFERENCE,
    SHOWN_ON,
    Recommender,
    estimates,
    exact,
    likely,
    number,
    recommenders,
)
from benchmarks.markdown import write_table
from sampled_metrics.evaluation.correct import Corrected
from sampled_metrics.sampling.probability import pmf

SIZES = (20, 100, 500)
REPEATS = 40  # of a cell, for errors
USERS = 1000
POPULATION_USERS = 6040
DRAWS = 4  # of a population
COLUMNS = METRICS[:3]
WIDTHS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0, np.inf)
HITS = (1, 2, 5, 10, 20, 50)
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
    """All recommenders that are at hand."""
    found = recommenders(REFERENCE, (*CHOSEN_ON, *SHOWN_ON))
    folders = sorted(path.name for path in CATALOGUES.glob("*") if path.is_dir())
    return found + recommenders(CATALOGUES, folders)


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


def widths(found: list[Recommender]) -> list[dict[str, str]]:
    """Exact metrics by the number to quote, and by the width of the range."""
    places = []
    for one in found:
        truth = exact(one.ranks)
        for m in SIZES[:2]:
            for users in (600, 3000):
                _, histogram = one.drawn(one.generator(m, users, 2), users, m)
                values = likely(histogram, one.n, m) @ histogram / users
                for place, result in enumerate(corrected(histogram, one.n, m)):
                    low, high = result.range_low, result.range_high
                    inside = min(max(values[place], low), high)
                    by = (high / low if low else np.inf, truth[place] / inside)
                    kept = low <= values[place] <= high
                    places.append((*by, kept, low <= truth[place] <= high))
    table = np.array(places, float)
    rows = []
    for least, most in pairwise(WIDTHS):
        of_width = table[(table[:, 0] > least) & (table[:, 0] <= most)]
        if not len(of_width):
            continue
        tenth, half, ninth = np.quantile(of_width[:, 1], [0.1, 0.5, 0.9])
        rows.append(
            {
                "high / low": f"{least:g} to {most:g}".replace("30 to inf", "more than 30"),
                "cases": str(len(of_width)),
                "exact / likely, a tenth below": f"{tenth:.2f}",
                "half": f"{half:.2f}",
                "a tenth above": f"{ninth:.2f}",
                "fit in the range": f"{of_width[:, 2].mean():.1%}",
                "exact in the range": f"{of_width[:, 3].mean():.1%}",
            }
        )
    return rows


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
    """Write the tables of these names, by default all."""
    found = everyone()
    tables: dict[str, Callable[[], list[dict[str, str]]]] = {
        "hits": lambda: nearly_exact(found),
        "failures": lambda: list(failures()),
        "errors": lambda: list(interval(found[::5])),
        "widths": lambda: widths(found[::3]),
    }
    for name in names or tables:
        write_table(PAGE, tables[name](), name)


if __name__ == "__main__":
    main(sys.argv[1:])

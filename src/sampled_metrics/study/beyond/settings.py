"""Settings of the comparison of methods."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, Field

from sampled_metrics._base.errors import InputError
from sampled_metrics.study.settings import EstimateSettings, Estimators, Metrics, Seed

ADAPTIVE, USERS, BUDGET, SCAN = "adaptive", "users", "budget", "scan"  # methods
NO_PROXY, POPULARITY, ALS = "none", "popularity", "als"  # where methods look first
UNIFORM, SHARED, ALL_ITEMS = "uniform", "uniform, shared", "all items"  # or what they ask for
SAMPLED, SAMPLED_SHARED = "sampled", "sampled-shared"  # parts that are no methods


def _of_known_proxies(budgets: Mapping[str, tuple[int, ...]]) -> Mapping[str, tuple[int, ...]]:
    for name in budgets:
        if name not in (NO_PROXY, POPULARITY, ALS):
            raise InputError(f"unknown proxy {name!r}; known: {NO_PROXY}, {POPULARITY}, {ALS}")
    return budgets


def _increasing(values: tuple[int, ...]) -> tuple[int, ...]:
    if list(values) != sorted(set(values)):
        raise InputError(f"{', '.join(map(str, values))} must increase")
    return values


_Size = Annotated[int, Field(ge=1)]
_Budgets = Annotated[
    tuple[_Size, ...], Field(strict=False, min_length=1), AfterValidator(_increasing)
]
_Proxies = Annotated[
    Mapping[str, Annotated[tuple[_Size, ...], Field(strict=False), AfterValidator(_increasing)]],
    AfterValidator(_of_known_proxies),
]
_Pair = Annotated[tuple[str, str], Field(strict=False)]


class BeyondSettings(EstimateSettings):
    """Methods compared by price, error and order: Tables 5 and 6, Figures 7 and 8."""

    metrics: Metrics = ("recall@10", "ndcg@10", "ap")
    """Metrics: recall@k, ndcg@k and ap."""
    estimators: Estimators = (
        "sampled", "rank-estimate", "cls", "bv:1", "bv:0.1", "bv:0.01", "bv:0.001",
        "em:50", "em:500", "mes:0.01", "bv-em:0.01", "mn:100",
    )  # fmt: skip
    """Estimators from uniform negatives."""
    largest_fit: _Size = 200
    """Most negatives that estimators are fitted to, which takes long with many."""
    reported: _Size = 100
    """Scores per user in Tables 5 and 6; methods with a price of their own have it beside them."""
    budgets: _Budgets = (10, 20, 50, 100, 200, 500, 1000)
    """Scores per user of the figures."""
    adaptive_start: _Size = 10
    """Negatives that adaptive sampling starts with; they are doubled until one is above."""
    adaptive_limits: _Budgets = (40, 80, 160, 320, 640, 1280, 2560)
    """Most negatives of a user in adaptive sampling."""
    adaptive_reported: _Size = 640
    """The limit in Tables 5 and 6."""
    adaptive_iterations: _Size = 50
    """Steps of the expectation maximisation for adaptive sampling."""
    proxies: _Proxies = Field(default={NO_PROXY: (), POPULARITY: (100, 200), ALS: (75, 100)})
    """Proxies of the evaluation on a budget, with the budgets that get all runs; Tables 5 and 6
    have them beside `reported`."""
    scan_proxies: _Proxies = Field(default={ALS: (100,)})
    """The same of scan-and-stop."""
    runs: Annotated[int, Field(ge=2)] = 100
    """Runs of what the tables report, but for proxies without budgets."""
    curve_runs: Annotated[int, Field(ge=2)] = 10
    """Runs of the other points of the figures."""
    pairs: Annotated[tuple[_Pair, ...], Field(strict=False, min_length=1)] | None = None
    """Pairs of recommenders in Table 6, of which Figure 8 shows the first three; null is all."""
    seed: Seed = 0
    """Seed of all draws."""

    @property
    def parts(self) -> list[str]:
        """Names of the jobs that the comparison is divided into."""
        return [
            *(SAMPLED, SAMPLED_SHARED, USERS),
            *(f"{BUDGET}-{proxy}" for proxy in self.proxies),
            *(f"{SCAN}-{proxy}" for proxy in self.scan_proxies),
        ]

    def full_budgets(self, method: str, proxy: str) -> tuple[int, ...]:
        """Budgets that get all runs of an evaluation on a budget."""
        return (self.scan_proxies if method == SCAN else self.proxies)[proxy]

    def runs_of(self, budget: int, full: tuple[int, ...]) -> int:
        """Number of runs of a point."""
        return self.runs if budget in full else self.curve_runs

"""Cost, error and ranking of each evaluation method: Tables 5 and 6, Figures 7 and 8.

Methods only compare items with a user's held-out item, so an outcome, a byte per user and item,
stands for a score. A method is repeated; `results_of` counts how often it is right.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from sampled_metrics._base.arrays import Float, Int, blocks, generator
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_array, replacing, write_table, write_text
from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.metrics import values
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling import histograms
from sampled_metrics.study.config import BeyondSettings
from sampled_metrics.study.datasets.split import Split
from sampled_metrics.study.printed import latex, markdown

WORSE, EQUAL, BETTER, SEEN = range(4)
Codes = NDArray[np.int8]
PROXIES = {"none": "no proxy", "popularity": "popularity", "als": "ALS-8"}
_ABOUT = ["label", "budget", "scores", "runs"]  # leading columns of the tables
METHODS = {"users": "All items of some users", "budget": "Budget"}
_log = logging.getLogger(__name__)


def outcomes(score: Callable[[Int], NDArray[Any]], split: Split) -> Codes:
    """Compare all items with each user's held-out item; int8, shape (users, items)."""
    codes = np.empty(split.seen.shape, np.int8)
    users = np.arange(split.held_out.size)
    for rows in blocks(users.size, split.item_ids.size):
        scores, seen = score(users[rows]), split.train[rows]
        own = scores[np.arange(len(scores)), split.held_out[rows], np.newaxis]
        codes[rows] = (scores >= own).astype(np.int8) + (scores > own)
        codes[rows][np.repeat(np.arange(len(scores)), np.diff(seen.indptr)), seen.indices] = SEEN
    return codes


def save_outcomes(path: Path, codes: Codes) -> None:
    """Write outcomes as `.npy`."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.save(file, codes, allow_pickle=False)


class Compared:
    """Outcomes and full rankings of several recommenders on the same users."""

    def __init__(self, paths: Sequence[Path], split: Split, settings: BeyondSettings) -> None:
        self.split, self.settings, self.measures = split, settings, settings.measures
        self.codes = {path.stem: read_array(path, "outcomes") for path in paths}
        self.names = list(self.codes)
        self.pairs = list(combinations(range(len(self.names)), 2))
        for path in paths:
            if self.codes[path.stem].shape != split.seen.shape:
                raise InputError("outcomes of other users or items than the split has", path=path)
        self.ranks = {}
        for name, codes in self.codes.items():
            better, equal, seen = (np.sum(codes == code, axis=1) for code in (BETTER, EQUAL, SEEN))
            self.ranks[name] = Ranks(codes.shape[1] - seen, better, equal - 1)
        self.n_candidates = self.ranks[self.names[0]].n_candidates
        self.n_items = self.ranks[self.names[0]].mean_candidates
        by_user = [[values(one, ranks) for one in self.measures] for ranks in self.ranks.values()]
        self.exact = np.array(by_user)  # (recommenders, measures, users), ties in expectation

    def leads(self, of_recommenders: Float) -> Float:
        """Second less first of all pairs, of values of shape (..., recommenders, x)."""
        a, b = np.array(self.pairs, dtype=int).reshape(-1, 2).T
        return of_recommenders[..., b, :] - of_recommenders[..., a, :]


class Runs(NamedTuple):
    """Repeated evaluations by one method.

    The first axis of `values` and `leads` is the estimate, with or without the low and high end of
    its interval. `leads` are those of the values unless the method ranks by others.
    """

    method: str
    proxy: str
    budget: int
    scores: Float  # asked per user and recommender, (runs,)
    values: Float  # (1 or 3, runs, recommenders, measures)
    leads: Float  # (1 or 3, runs, pairs, measures)


def results_of(runs: Iterable[Runs], compared: Compared) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Errors of all recommenders, and how often all pairs are ordered as by the exact metrics."""
    exact = compared.exact.mean(axis=2)
    exact_leads = compared.leads(exact)
    metrics = list(map(str, compared.measures))
    by_name = pd.MultiIndex.from_product([compared.names, metrics], names=["recommender", "metric"])
    pairs = [f"{compared.names[a]} vs {compared.names[b]}" for a, b in compared.pairs]
    by_pair = pd.MultiIndex.from_product([pairs, metrics], names=["pair", "metric"])
    errors, orders = [], []
    for one in runs:
        (values, *limits), (leads, *limits_of_leads) = one.values, one.leads
        mean, covered, wrong = values.mean(axis=0), None, None
        if limits:
            covered = ((limits[0] <= exact) & (exact <= limits[1])).mean(axis=0)
        if limits_of_leads:
            low, high = limits_of_leads
            wrong = np.where(exact_leads > 0, high < 0, low > 0).sum(axis=0)
        numbers = {"exact": exact, "mean": mean, "bias": mean - exact}
        numbers |= {"sd": values.std(axis=0, ddof=1), "coverage": covered}
        right = (np.sign(leads) == np.sign(exact_leads)).sum(axis=0)
        errors.append(_long(one, by_name, numbers))
        orders.append(_long(one, by_pair, {"right": right, "significantly_wrong": wrong}))
    return pd.concat(errors), pd.concat(orders).astype({"significantly_wrong": "Int64"})


def _long(one: Runs, keys: pd.MultiIndex, numbers: Mapping[str, Any]) -> pd.DataFrame:
    about = {"method": one.method, "proxy": one.proxy, "budget": one.budget}
    about["scores_per_user"] = one.scores.mean()
    columns = {name: None if part is None else part.ravel() for name, part in numbers.items()}
    table = pd.DataFrame(about | columns, keys).reset_index()
    return table[[*about, *keys.names, *columns]].assign(runs=len(one.scores))


def repeated(part: str, compared: Compared) -> Iterator[Runs]:
    """Yield the runs of a part, one of `BeyondSettings.parts`."""
    if part.startswith("budget-"):
        return on_budgets(compared, part.removeprefix("budget-"))
    return {"sampled": independent, "shared": shared, "users": some_users}[part](compared)


def independent(compared: Compared) -> Iterator[Runs]:
    """All estimators when each recommender ranks uniform negatives of its own."""
    settings, most = compared.settings, int(compared.n_candidates.min()) - 1
    for m in (m for m in settings.budgets if m <= most):
        drawn = []
        for name, ranks in compared.ranks.items():
            runs = range(settings.runs_of("beyond", "", m))
            streams = [generator(settings.seed, "beyond", name, m, i) for i in runs]
            drawn.append(histograms(ranks, m, streams))
        yield from estimated(compared, np.stack(drawn, axis=1), "uniform")


def shared(compared: Compared) -> Iterator[Runs]:
    """What the tables report when all recommenders rank the same negatives."""
    settings, all_codes = compared.settings, list(compared.codes.values())
    m, shape = settings.reported, all_codes[0].shape
    counts = np.zeros((settings.runs, len(all_codes), m + 1))
    is_candidate = all_codes[0] != SEEN
    is_candidate[np.arange(shape[0]), compared.split.held_out] = False
    for i in range(settings.runs):
        rng = generator(settings.seed, "shared", i)
        for rows in blocks(shape[0], shape[1], 1 << 22):
            items = np.broadcast_to(
                np.arange(shape[1], dtype=np.int32), (rows.stop - rows.start, shape[1])
            )
            order = rng.permuted(items, axis=1)
            place = rng.random(len(order))  # of the held-out item among ties
            candidate = np.take_along_axis(is_candidate[rows], order, 1)
            drawn = candidate & (np.cumsum(candidate, axis=1, dtype=np.int32) <= m)
            for r, codes in enumerate(all_codes):
                among = np.where(drawn, np.take_along_axis(codes[rows], order, 1), WORSE)
                better, tied = (np.sum(among == code, axis=1) for code in (BETTER, EQUAL))
                above = better + (place * (tied + 1)).astype(np.int64)
                counts[i, r] += np.bincount(above, minlength=m + 1)
    yield from estimated(compared, counts, "uniform, shared")


def estimated(compared: Compared, counts: Any, proxy: str) -> Iterator[Runs]:
    """Estimate from histograms of shape (runs, recommenders, m + 1)."""
    m, flat = counts.shape[-1] - 1, counts.reshape(-1, counts.shape[-1])
    users = counts.sum(axis=-1, keepdims=True)
    for estimator in compared.settings.corrections:
        vectors = partial(
            estimator_matrix, [estimator], compared.measures, compared.n_items, m,
            sampling=Sampling.WITHOUT_REPLACEMENT,
        )  # fmt: skip
        if not estimator.fitted:
            found = counts @ vectors()[:, 0].T / users
        elif m <= compared.settings.largest_fit:
            fitted = np.stack([one @ vectors(histogram=one)[:, 0].T for one in flat])
            found = fitted.reshape(*counts.shape[:-1], -1) / users
        else:
            continue
        prices = np.full(len(counts), float(m))
        yield Runs(str(estimator), proxy, m, prices, found[None], compared.leads(found)[None])


def some_users(compared: Compared) -> Iterator[Runs]:
    """Full rankings of as many users as the scores suffice for, the same for all recommenders.

    Intervals are those of a mean over users drawn without replacement.
    """

    def interval(drawn: Float) -> Float:
        count = drawn.shape[-1]
        error = drawn.std(axis=-1, ddof=1) * np.sqrt((1.0 - count / n_users) / count)
        mean, half = drawn.mean(axis=-1), stdtrit(count - 1, 0.975) * error
        return np.stack([mean, mean - half, mean + half])

    settings, n_users, price = compared.settings, compared.exact.shape[2], compared.n_candidates - 1
    leads = np.moveaxis(compared.leads(np.moveaxis(compared.exact, 2, 0)), 0, 2)
    for budget in settings.budgets:
        count = min(n_users, round(budget * n_users / price.mean()))
        if count >= 2:
            drawn = [
                generator(settings.seed, "users", budget, i).choice(n_users, count, replace=False)
                for i in range(settings.runs_of("users", "", budget))
            ]
            scores = np.array([price[users].sum() / n_users for users in drawn])
            single, pairs = (
                np.stack([interval(by_user[:, :, users]) for users in drawn], axis=1)
                for by_user in (compared.exact, leads)
            )
            yield Runs("users", "all items", budget, scores, single, pairs)


def on_budgets(compared: Compared, proxy: str) -> Iterator[Runs]:
    """Evaluation on a budget by one proxy at all budgets.

    With proxy `none`, every order of a user's candidates is equally probable in each run. Budgets
    that do not suffice for the first round are left out.
    """
    from sampled_metrics.budget import Candidates, Session, Settings  # the page needs only labels
    from sampled_metrics.budget.candidates import Order, Proxy, make_proxy
    from sampled_metrics.budget.model import Frame

    settings, split = compared.settings, compared.split
    candidates, order = Candidates(split.seen, split.held_out), None
    shape = (candidates.n_users, candidates.n_items)
    names, codes = tuple(compared.names), np.stack(list(compared.codes.values()))

    def evaluated(run: int, budget: int) -> Any:
        """Evaluate once; outcomes serve as scores, because only comparisons count."""
        by_chance = Proxy("none", partial(_random_scores, shape[1], settings.seed, run))
        frame = Frame(order or Order(candidates, by_chance), run)
        session = Session(frame, Settings(names=names, metrics=settings.metrics, budget=budget))
        while (batch := session.ask()) is not None:
            session.tell(codes[batch.recommender, batch.users, batch.items].astype(float))
        return session.finished()

    if proxy != "none":
        order = Order(candidates, make_proxy(proxy, split.train, shape, settings.seed))
    for budget in sorted({*settings.budgets, *settings.proxies[proxy]}):
        try:
            runs = range(settings.runs_of("budget", proxy, budget))
            results = [evaluated(run, budget) for run in runs]
        except InputError as error:
            _log.info("budget with proxy %s: %s", proxy, error)
            continue
        single = _numbers([one.estimates for one in results])
        pairs = _numbers([list(one.differences.values()) for one in results])
        scores = np.array([np.mean(one.n_asked) / one.n_users for one in results])
        yield Runs("budget", proxy, budget, scores, single, pairs)


def _random_scores(n_items: int, seed: int, run: int, users: Int) -> Float:
    rng = np.random.default_rng(np.random.SeedSequence([seed, run, int(users[0])]))
    return rng.random((users.size, n_items))


def _numbers(estimates_of_runs: list[Any]) -> Float:
    """Values and the limits of their intervals, shape (3, runs, ...)."""
    rows = [[[(x.value, x.low, x.high) for x in row] for row in run] for run in estimates_of_runs]
    return np.moveaxis(np.array(rows), -1, 0)


# Tables 5 and 6, and the data of Figures 7 and 8.


def label(method: str, proxy: str) -> str:
    """Name of a method in tables and figures.

    Examples
    --------
    >>> label("bv:0.1", "uniform"), label("budget", "als"), label("em:50", "uniform, shared")
    ('BV 0.1', 'Budget, ALS-8', 'EM 50, shared')
    """
    name = METHODS[method] if method in METHODS else parse_estimator(method).label
    suffix = PROXIES.get(proxy, "shared" if "shared" in proxy else "")
    return f"{name}, {suffix}" if suffix else name


def pair_names(names: Sequence[str], settings: BeyondSettings) -> list[str]:
    """Pairs of Table 6, as `orders.csv` names them."""
    pairs = settings.pairs or tuple(combinations(names, 2))
    return [" vs ".join(sorted(pair, key=names.index)) for pair in pairs]


def curves(
    values: pd.DataFrame, orders: pd.DataFrame, settings: BeyondSettings
) -> dict[int, pd.DataFrame]:
    """Compute Figure 7, root mean square errors, and Figure 8, right orders by the worst metric."""

    def group_of(method: str, proxy: str) -> str:
        if method in METHODS or method == "sampled":
            return label(method, proxy) if method in METHODS else "Uncorrected"
        return "Later corrections" if parse_estimator(method).fitted else "The paper's corrections"

    names = list(values["recommender"].unique())
    orders = orders[orders["pair"].isin(pair_names(names, settings)[:3])]
    error = 100.0 * (values["bias"] ** 2 + values["sd"] ** 2) ** 0.5 / values["exact"]
    right = 100.0 * orders["right"] / orders["runs"]
    tables = {}
    for number, rows, panel, how in (
        (7, values.assign(value=error), "metric", "mean"),
        (8, orders.assign(value=right), "pair", "min"),
    ):
        rows = rows[rows["proxy"] != "uniform, shared"]
        keys = list(zip(rows["method"], rows["proxy"], strict=True))
        named = {"group": [group_of(*key) for key in keys], "method": [label(*key) for key in keys]}
        grouped = rows.assign(**named).groupby(
            ["group", "method", panel, "budget"], sort=False, as_index=False
        )
        means = grouped.agg({"scores_per_user": "mean", "value": how, "runs": "min"})
        tables[number] = means.drop(columns="budget")
    return tables


def write_tables(
    values: pd.DataFrame, orders: pd.DataFrame, settings: BeyondSettings, folder: Path
) -> None:
    """Write Tables 5 and 6 as `.csv`, `.md` and `.tex`."""
    pairs = pair_names(list(values["recommender"].unique()), settings)
    orders = orders[orders["pair"].isin(pairs)]
    values, orders = (_reported(rows, settings) for rows in (values, orders))
    labels = ", ".join(parse_measure(name).label for name in settings.metrics)
    errors = "Metrics in percent by each method: mean ± standard deviation over runs (bias)."
    rights = (
        f"Runs in percent that order a pair of recommenders as the exact metrics do, by {labels}."
    )
    counts = pd.DataFrame(
        {"row": orders["pair"], "metric": orders["label_of_metric"], "column": orders["row"]}
    ).assign(value=orders["right"], std="")
    shares = orders.assign(text=[f"{x:.0f}" for x in 100 * orders["right"] / orders["runs"]])
    shares = shares.groupby([*_ABOUT, "pair"], sort=False)["text"].agg(" ".join).unstack(sort=False)
    for number, printed, wide, caption in (
        (5, _cells(values), _wide_values(values), errors),
        (6, counts, shares[pairs], rights),
    ):
        stem, renamed = folder / f"table{number}", {"label": "method", "scores": "scores per user"}
        wide = wide.reset_index().drop(columns="budget").rename(columns=renamed)
        printed.insert(0, "table", number)
        write_table(printed, stem.with_suffix(".csv"))
        write_text(stem.with_suffix(".md"), f"Table {number}. {caption}\n\n{markdown(wide)}\n")
        write_text(stem.with_suffix(".tex"), latex(wide, caption, stem.name))


def _reported(rows: pd.DataFrame, settings: BeyondSettings) -> pd.DataFrame:
    """Rows of the methods at the budgets that the tables have, with what the tables call them."""
    keys = list(zip(rows["method"], rows["proxy"], rows["budget"], strict=True))
    chosen = [b in (settings.reported, *settings.reported_of(*key)) for *key, b in keys]
    named = [label(method, proxy) for method, proxy, _ in keys]
    rows = rows.assign(
        label=named,
        row=[
            f"{name} at {b}" if m == "budget" else name
            for name, (m, _, b) in zip(named, keys, strict=True)
        ],
        scores=[f"{price:.0f}" for price in rows["scores_per_user"]],
        label_of_metric=[parse_measure(name).label for name in rows["metric"]],
    )
    return rows[chosen]


def _cells(rows: pd.DataFrame) -> pd.DataFrame:
    """Cells of Table 5: prices, then mean and bias in percent."""
    cells = [
        (x["row"], "scores per user", "", x["scores"], "")
        for x in rows.drop_duplicates(["label", "budget"]).to_dict("records")
    ]
    for x in rows.to_dict("records"):
        mean, bias, sd = (f"{100 * x[name]:.2f}" for name in ("mean", "bias", "sd"))
        metric, recommender = x["label_of_metric"], x["recommender"]
        cells.append((x["row"], metric, recommender, mean, sd))
        cells.append((x["row"], f"bias of {metric}", recommender, bias, ""))
    return pd.DataFrame(cells, columns=["row", "metric", "column", "value", "std"])


def _wide_values(rows: pd.DataFrame) -> pd.DataFrame:
    """A column for each recommender, below the exact values."""
    numbers = zip(*(100 * rows[name] for name in ("mean", "sd", "bias")), strict=True)
    rows = rows.assign(text=[f"{mean:.2f}±{sd:.2f} ({bias:+.2f})" for mean, sd, bias in numbers])
    exact = rows.drop_duplicates(["recommender", "metric"])
    exact = exact.assign(text=[f"{100 * value:.2f}" for value in exact["exact"]])
    both = pd.concat([exact.assign(label="Exact", budget=0, scores="", runs=0), rows])
    both["metric"] = pd.Categorical(both["label_of_metric"], both["label_of_metric"].unique())
    both = both.sort_values("metric", kind="stable").astype({"metric": str})
    return both.set_index(["metric", *_ABOUT, "recommender"])["text"].unstack(sort=False)


def joined(paths: Sequence[str]) -> pd.DataFrame:
    """Concatenate the values or the orders of all parts."""
    tables = [pd.read_csv(path, dtype={"significantly_wrong": "Int64"}) for path in paths]
    return pd.concat([one.dropna(axis=1, how="all") for one in tables])[list(tables[0])]

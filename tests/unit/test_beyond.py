"""Methods beyond the paper: outcomes, repeated runs, tables and curves."""

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats
from scipy.sparse import csr_array

from sampled_metrics._base.arrays import generator
from sampled_metrics._base.errors import InputError
from sampled_metrics.study.beyond import (
    Compared,
    Runs,
    curves,
    joined,
    outcomes,
    repeated,
    results_of,
    save_outcomes,
    write_tables,
)
from sampled_metrics.study.config import BeyondSettings
from sampled_metrics.study.datasets.split import Split
from tests.conftest import ROOT

USERS, ITEMS = 120, 60
BETTER, EQUAL, WORSE, SEEN = 2, 1, 0, 3
SETTINGS = BeyondSettings(
    estimators=("sampled", "bv:0.1", "em:20"),
    reported=10,
    budgets=(10, 20),
    largest_fit=10,
    proxies={"none": (), "popularity": (20,)},
    runs=3,
    curve_runs=2,
)


@pytest.fixture(scope="module")
def split():
    rng = np.random.default_rng(0)
    events = (rng.random((USERS, ITEMS)) < 0.1).astype(float)
    held_out = rng.integers(0, ITEMS, USERS)
    events[np.arange(USERS), held_out] = 0
    return Split(csr_array(events), held_out, np.arange(USERS), np.arange(ITEMS), 0)


@pytest.fixture(scope="module")
def scores(split):
    """Three recommenders, the later the better."""
    rng = np.random.default_rng(1)
    taste = rng.random((USERS, ITEMS))
    taste[np.arange(USERS), split.held_out] += 0.3
    noises = {"A": 2.0, "B": 0.5, "C": 0.1}
    return {
        k: np.round(taste + noise * rng.normal(size=taste.shape), 2) for k, noise in noises.items()
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory, split, scores):
    folder = tmp_path_factory.mktemp("outcomes")
    for name, own in scores.items():
        save_outcomes(folder / f"{name}.npy", outcomes(lambda users, own=own: own[users], split))
    return folder


def comparison(folder, split, **changes):
    paths = [folder / f"{name}.npy" for name in "ABC"]
    return Compared(paths, split, SETTINGS.replaced(**changes))


@pytest.fixture(scope="module")
def compared(folder, split):
    return comparison(folder, split)


@pytest.fixture(scope="module")
def runs(compared):
    return {part: list(repeated(part, compared)) for part in SETTINGS.parts}


def test_outcomes_by_loops(split, scores, compared):
    for name, codes in compared.codes.items():
        for user in range(USERS):
            own = scores[name][user, split.held_out[user]]
            for item, value in enumerate(scores[name][user]):
                code = BETTER if value > own else EQUAL if value == own else WORSE
                assert codes[user, item] == (SEEN if split.train[user, item] else code)


def test_outcomes_of_other_users_or_damaged_ones_are_refused(tmp_path, split, compared):
    path = tmp_path / "B.npy"
    save_outcomes(path, compared.codes["B"][:-1])
    for _ in range(2):
        with pytest.raises(InputError) as caught:
            Compared([path], split, SETTINGS)
        assert caught.value.path == path
        path.write_bytes(b"damaged")


def test_every_part_is_near_the_exact_metrics_at_its_price(runs, compared):
    exact = compared.exact.mean(axis=2)
    found = [(one.method, one.budget) for one in runs["sampled"]]
    assert found == [(e, m) for m in (10, 20) for e in ("sampled", "bv:0.1", "em:20")][:-1]
    for part, runs_of_part in runs.items():
        assert runs_of_part, part
        for one in runs_of_part:
            assert one.values.shape[1:] == (len(one.scores), 3, 3)
            assert (one.scores <= one.budget + 1).all(), (part, one.method)
            if one.method not in ("sampled", "users"):
                assert np.abs(one.values[0].mean(axis=0) - exact).max() < 0.35, (part, one.method)
    assert {one.method for one in runs["shared"]} == set(SETTINGS.estimators)
    assert len(runs["sampled"][0].scores) == SETTINGS.runs


def test_shared_negatives_give_copies_the_same_and_are_hypergeometric(folder, split):
    (folder / "D.npy").write_bytes((folder / "B.npy").read_bytes())
    one = SETTINGS.replaced(estimators=("sampled",), metrics=("auc",), runs=100)
    twice = Compared([folder / f"{name}.npy" for name in "BD"], split, one)
    (run,) = repeated("shared", twice)
    assert np.array_equal(run.values[0][:, 0], run.values[0][:, 1])
    # sampled AUC is unbiased, with the negatives that beat the held-out item hypergeometric
    ranks = twice.ranks["B"]
    n, better = ranks.n_candidates - 1, ranks.n_better + ranks.n_tied / 2
    exact = np.mean(1 - better / n)
    share = better / n
    deviation = np.sqrt(np.sum(share * (1 - share) * (n - 10) / (n - 1) / 10)) / USERS
    assert abs(run.values[0][:, 0, 0].mean() - exact) < 4 * deviation / 10
    assert run.values[0][:, 0, 0].std() == pytest.approx(deviation, rel=0.3)


def test_subset_of_users_by_hand(folder, split):
    """All users at the price of all items; intervals of half of them are those of scipy."""
    compared = comparison(folder, split, budgets=(ITEMS, 27))
    whole, half = repeated("users", compared)
    np.testing.assert_allclose(whole.values[0][0], compared.exact.mean(axis=2))
    # At half the price, half the width is t s sqrt((1 - k/U)/k) with k of U users.
    k = round(27 * USERS / (compared.n_candidates - 1).mean())
    drawn = compared.exact[:, :, generator(0, "users", 27, 0).choice(USERS, k, replace=False)]
    np.testing.assert_allclose(half.values[0][0], drawn.mean(axis=2))
    width = stats.t.ppf(0.975, k - 1) * drawn.std(axis=2, ddof=1) * np.sqrt((1 - k / USERS) / k)
    np.testing.assert_allclose(half.values[2][0] - half.values[0][0], width)


def test_results_by_hand():
    """Two recommenders, one metric, two runs."""
    values = np.array([[[0.2], [0.5]], [[0.6], [0.4]]])
    lead = np.array([[[0.3]], [[-0.2]]])
    one = Runs("users", "all items", 7, np.array([6, 8]),
               np.stack([values, values - 0.15, values + 0.15]),
               np.stack([lead, lead - 0.1, lead + 0.1]))  # fmt: skip
    two = Compared.__new__(Compared)
    two.names, two.pairs, two.measures = ["A", "B"], [(0, 1)], ["ap"]
    two.exact = np.array([[[0.2, 0.4]], [[0.5, 0.5]]])
    errors, orders = results_of([one], two)
    # exact (.2 + .4)/2 = .3; runs .2 and .6: mean .4, sd sqrt(2 * .2^2 / 1), covered once
    assert errors.columns.tolist() == [
        *("method", "proxy", "budget", "scores_per_user", "recommender", "metric"),
        *("exact", "mean", "bias", "sd", "coverage", "runs"),
    ]
    assert errors.iloc[0, 3:].tolist() == [7, "A", "ap", *map(pytest.approx, (
        0.3, 0.4, 0.1, 0.08**0.5, 0.5, 2))]  # fmt: skip
    # B is above A by .2: right in the first run, significantly wrong in the second
    assert orders.iloc[0].tolist() == ["users", "all items", 7, 7, "A vs B", "ap", 1, 1, 2]


@pytest.fixture(scope="module")
def results(tmp_path_factory, runs, compared):
    """Values and orders of all parts, through their files."""
    folder = tmp_path_factory.mktemp("parts")
    for part, runs_of_part in runs.items():
        for name, table in zip("vo", results_of(runs_of_part, compared), strict=True):
            table.to_csv(folder / f"{part}.{name}", index=False)
    return [joined([folder / f"{part}.{name}" for part in runs]) for name in "vo"]


def test_tables_and_curves(tmp_path, results, runs):
    values, orders = results
    assert len(values) == 9 * sum(map(len, runs.values()))
    assert orders["right"].dtype.kind == "i"
    write_tables(values, orders, SETTINGS, tmp_path)
    lines = (tmp_path / "table5.md").read_text().splitlines()
    methods = {line.split("|")[2].strip() for line in lines[4:]}
    assert {"Exact", "BV 0.1", "EM 20, shared", "Budget, popularity"} < methods
    table6 = pd.read_csv(tmp_path / "table6.csv")
    assert set(table6["row"]) == {"A vs B", "A vs C", "B vs C"}
    assert table6["value"].between(0, SETTINGS.runs).all()
    assert len(list(tmp_path.glob("table[56].*"))) == 6
    drawn = curves(values, orders, SETTINGS)
    assert {"Uncorrected", "The paper's corrections", "Later corrections"} < set(drawn[7]["group"])
    # Figure 7 has the root mean square error, Figure 8 the metric that is hardest to order by.
    at = {"method": "bv:0.1", "proxy": "uniform", "budget": 10}
    same = [rows[(rows[list(at)] == at).all(axis=1)] for rows in (values, orders)]
    error = (same[0]["bias"] ** 2 + same[0]["sd"] ** 2) ** 0.5 / same[0]["exact"]
    right = same[1]["right"] / same[1]["runs"]
    for number, by, shares, how in ((7, "metric", error, "mean"), (8, "pair", right, "min")):
        rows = drawn[number]
        rows = rows[(rows["method"] == "BV 0.1") & (rows["scores_per_user"] == 10)]
        expected = 100 * shares.groupby(same[number - 7][by], sort=False).agg(how)
        assert rows["value"].tolist() == pytest.approx(expected.tolist())


@pytest.mark.parametrize("study", ["config", "ml-100k", "ncf"])
def test_reference_tables_follow_from_their_values(tmp_path, study):
    folder = ROOT / "results/reference" / study.removeprefix("config") / "beyond"
    values, orders = (joined([folder / f"{name}.csv"]) for name in ("values", "orders"))
    config = yaml.safe_load((ROOT / f"config/{study}.yaml").read_text())
    settings = BeyondSettings.of(config["beyond"], "config")
    write_tables(values, orders, settings, tmp_path)
    for name in ("table5.csv", "table6.csv", "table5.md", "table6.md"):
        assert (tmp_path / name).read_text() == (folder / name).read_text()
    for number, table in curves(values, orders, settings).items():
        kept = pd.read_csv(folder / f"figure{number}.csv")
        pd.testing.assert_frame_equal(table.reset_index(drop=True), kept, check_dtype=False)

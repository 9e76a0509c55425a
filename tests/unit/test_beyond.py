"""Methods beyond the paper: outcomes, shared orders, repeated runs, tables and curves."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from scipy import stats
from scipy.sparse import csr_array

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.seeds import generator
from sampled_metrics.datasets.split import Split
from sampled_metrics.report.beyond import write_tables
from sampled_metrics.report.figures import render
from sampled_metrics.study.beyond.curves import error_curves, order_curves
from sampled_metrics.study.beyond.orders import SharedOrder, pack
from sampled_metrics.study.beyond.outcomes import (
    BETTER,
    EQUAL,
    SEEN,
    WORSE,
    Compared,
    load_outcomes,
    outcomes,
    save_outcomes,
)
from sampled_metrics.study.beyond.parts import joined, repeated
from sampled_metrics.study.beyond.runs import ORDERS, VALUES, Runs, order_rows, value_rows
from sampled_metrics.study.beyond.settings import BeyondSettings
from sampled_metrics.study.beyond.tables import wide_orders, wide_values
from sampled_metrics.study.config import Study

USERS, ITEMS = 120, 60
SETTINGS = BeyondSettings(
    estimators=("sampled", "bv:0.1", "em:20", "mes:0.1", "bv-em:0.1", "mn:10"),
    reported=10,
    budgets=(10, 20),
    adaptive_start=5,
    adaptive_limits=(20, 40),
    adaptive_reported=20,
    proxies={"none": (), "popularity": (20,)},
    scan_proxies={"popularity": (20,)},
    runs=3,
    curve_runs=2,
)


@pytest.fixture(scope="module")
def split():
    rng = np.random.default_rng(0)
    events = (rng.random((USERS, ITEMS)) < 0.1).astype(float)
    held_out = rng.integers(0, ITEMS, USERS)
    events[np.arange(USERS), held_out] = 0
    ids = np.arange(USERS), np.arange(ITEMS)
    return Split(csr_array(events), held_out, *ids, 0)


@pytest.fixture(scope="module")
def scores(split):
    """Three recommenders, the later the better."""
    rng = np.random.default_rng(1)
    taste = rng.random((USERS, ITEMS))
    taste[np.arange(USERS), split.held_out] += 0.3
    return {
        name: np.round(taste + noise * rng.normal(size=taste.shape), 2)
        for name, noise in (("A", 2.0), ("B", 0.5), ("C", 0.1))
    }


@pytest.fixture(scope="module")
def compared(split, scores):
    codes = {
        name: outcomes(lambda users, one=one: one[users], split) for name, one in scores.items()
    }
    return Compared.of(codes, SETTINGS.measures)


@pytest.fixture(scope="module")
def runs(split, compared):
    return {part: list(repeated(part, compared, SETTINGS, split)) for part in SETTINGS.parts}


def test_outcomes_by_loops(split, scores, compared):
    for name, codes in zip(compared.names, compared.codes, strict=True):
        for user in range(USERS):
            own = scores[name][user, split.held_out[user]]
            for item in range(ITEMS):
                value = scores[name][user, item]
                code = BETTER if value > own else EQUAL if value == own else WORSE
                assert codes[user, item] == (SEEN if split.train[user, item] else code)


def test_outcomes_are_kept_for_the_users_of_a_split(tmp_path, split, compared):
    save_outcomes(tmp_path / "A.npy", compared.codes[0])
    assert np.array_equal(load_outcomes([tmp_path / "A.npy"], split)["A"], compared.codes[0])
    save_outcomes(tmp_path / "B.npy", compared.codes[0][:-1])
    with pytest.raises(InputError, match="other users or items"):
        load_outcomes([tmp_path / "B.npy"], split)
    (tmp_path / "B.npy").write_bytes(b"damaged")
    with pytest.raises(InputError, match=r"B\.npy: not outcomes: no whole .npy file"):
        load_outcomes([tmp_path / "B.npy"], split)


def test_shared_orders_are_orders_of_the_same_candidates(split, compared):
    packed = pack(compared.codes, split.held_out)
    order = SharedOrder(packed, np.random.default_rng(0))
    users = np.arange(USERS)
    assert np.array_equal(order.drawn[:, -1], compared.ranks[0].n_candidates - 1)
    # Among all candidates, the sampled rank is the full one, ties at random.
    for number, ranks in enumerate(compared.ranks):
        above = order.sampled(number, order.drawn[:, -1], users)
        assert (ranks.n_better <= above).all()
        assert (above <= ranks.n_better + ranks.n_tied).all()
    # A recommender ranks the same as its copy, and its mean is the hypergeometric one.
    twice = SharedOrder(pack([compared.codes[1]] * 2, split.held_out), np.random.default_rng(0))
    m = np.full(USERS, 10)
    assert np.array_equal(twice.sampled(0, m, users), twice.sampled(1, m, users))
    ranks = compared.ranks[1]
    draws = [
        SharedOrder(packed, np.random.default_rng(seed)).sampled(1, m, users) for seed in range(200)
    ]
    expected = 10 * (ranks.n_better + ranks.n_tied / 2) / (ranks.n_candidates - 1)
    assert np.abs(np.mean(draws, axis=0) - expected).max() < 0.5
    assert np.mean(draws) == pytest.approx(expected.mean(), abs=0.02)


def test_shared_orders_double_until_one_is_above(split, compared):
    order = SharedOrder(pack(compared.codes, split.held_out), np.random.default_rng(0))
    users = np.arange(USERS)
    drawn, above = order.adaptive(2, 5, 40)
    for m in (5, 10, 20):
        more = drawn > m
        assert not order.sampled(2, np.full(USERS, m), users)[more].any()
    assert np.array_equal(above, order.sampled(2, drawn, users))
    assert set(drawn) <= {5, 10, 20, 40}
    assert (above[drawn < 40] > 0).all()


def test_every_part_is_near_the_exact_metrics_at_its_price(runs, compared):
    exact = compared.exact.mean(axis=2)
    for part, of_part in runs.items():
        assert of_part, part
        for one in of_part:
            assert one.values.shape == (len(one.scores), 3, 3)
            limit = 40 if one.method == "adaptive" else one.budget + 1
            assert (one.scores <= limit).all(), (part, one.method)
            if one.method not in ("sampled", "users"):
                assert np.abs(one.values.mean(axis=0) - exact).max() < 0.35, (part, one.method)
    full = next(one for one in runs["sampled"] if (one.method, one.budget) == ("bv:0.1", 10))
    assert len(full.values) == SETTINGS.runs
    assert {one.method for one in runs["sampled-shared"]} == {*SETTINGS.estimators, "adaptive"}


def test_runs_repeat(runs, split, compared):
    for part in ("sampled-shared", "users", "budget-none"):
        fewer = repeated(part, compared, SETTINGS.replaced(runs=2), split)
        for one, again in zip(runs[part], fewer, strict=True):
            assert np.array_equal(one.values[:2], again.values), part


def test_subset_of_users_by_hand(compared):
    """All users at the price of all items; intervals of half of them are those of scipy."""
    everything = SETTINGS.replaced(budgets=(ITEMS,))
    (whole,) = repeated("users", compared, everything, None)
    np.testing.assert_allclose(whole.values[0], compared.exact.mean(axis=2))
    # At half the price, half the width is t s sqrt((1 - k/U)/k) with k of U users.
    (half,) = repeated("users", compared, SETTINGS.replaced(budgets=(27,)), None)
    price = (compared.ranks[0].n_candidates - 1).mean()
    k = round(27 * USERS / price)
    users = generator(0, "users", 27, 0).choice(USERS, k, replace=False)
    drawn = compared.exact[:, :, users]
    np.testing.assert_allclose(half.values[0], drawn.mean(axis=2))
    wide = stats.t.ppf(0.975, k - 1) * drawn.std(axis=2, ddof=1) * np.sqrt((1 - k / USERS) / k)
    np.testing.assert_allclose(half.intervals[1][0] - half.values[0], wide)


def made_up():
    """Two recommenders, one metric, two runs."""
    measure = BeyondSettings(metrics=("ap",)).measures
    compared = Compared(("A", "B"), (), (), tuple(measure), np.array([[[0.2, 0.4]], [[0.5, 0.5]]]))
    values = np.array([[[0.2], [0.5]], [[0.6], [0.4]]])
    intervals = np.stack([values - 0.15, values + 0.15])
    lead = np.array([[[0.3]], [[-0.2]]])
    of_lead = np.stack([lead - 0.1, lead + 0.1])
    return Runs("users", "all items", 7, np.array([6, 8]), values, lead, intervals, of_lead), (
        compared
    )


def test_rows_by_hand():
    one, compared = made_up()
    table = value_rows([one], compared)
    assert tuple(table.columns) == VALUES
    first = table.iloc[0]
    # exact (.2 + .4)/2 = .3; runs .2 and .6: mean .4, sd sqrt(2 * .2^2 / 1), covered once
    assert first[["exact", "mean", "bias", "coverage"]].tolist() == pytest.approx(
        [0.3, 0.4, 0.1, 0.5]
    )
    assert first["sd"] == pytest.approx(0.08**0.5)
    assert first["scores_per_user"] == 7
    (pair,) = order_rows([one], compared).to_dict("records")
    assert tuple(pair) == ORDERS
    # B is above A by .2: right in the first run, significantly wrong in the second
    assert (pair["pair"], pair["right"], pair["significantly_wrong"], pair["runs"]) == (
        *("A vs B", 1, 1, 2),
    )


def test_tables_and_figures(tmp_path, runs, compared):
    all_runs = [one for of_part in runs.values() for one in of_part]
    for name, rows in (("v", value_rows), ("o", order_rows)):
        for part, some in runs.items():
            rows(some, compared).to_csv(tmp_path / f"{part}.{name}.csv", index=False)
    values = joined([tmp_path / f"{part}.v.csv" for part in runs], VALUES)
    orders = joined([tmp_path / f"{part}.o.csv" for part in runs], ORDERS)
    assert len(values) == 9 * len(all_runs)
    assert orders["right"].dtype.kind == "i"
    write_tables(values, orders, SETTINGS, tmp_path)
    text = (tmp_path / "table5.md").read_text()
    for label in (
        "Exact",
        "BV 0.1",
        "EM 20, shared",
        "Adaptive negatives, EM",
        "Budget, popularity",
    ):
        assert f"| {label} " in text
    table6 = pd.read_csv(tmp_path / "table6.csv")
    assert set(table6["row"]) == {f"{a} vs {b}" for a, b in combinations("ABC", 2)}
    assert table6["value"].between(0, SETTINGS.runs).all()
    for form in ("csv", "md", "tex"):
        assert (tmp_path / f"table6.{form}").exists()
    errors = error_curves(values)
    assert {"Uncorrected", "The paper's corrections", "Later corrections"} < set(errors["group"])
    drawn = order_curves(orders, compared.names, SETTINGS)
    # The metric that is hardest to order by, in percent.
    row = drawn[(drawn["method"] == "BV 0.1") & (drawn["pair"] == "A vs C")].iloc[0]
    same = orders[(orders["method"] == "bv:0.1") & (orders["pair"] == "A vs C")]
    same = same[(same["budget"] == 10) & (same["proxy"] == "uniform")]
    assert row["value"] == pytest.approx(100 * (same["right"] / same["runs"]).min())
    for number, table in ((7, errors), (8, drawn)):
        figure = render(number, table)
        assert figure.get_figwidth() < 3.4
        assert len(figure.axes) == 3
        for axes in figure.axes:
            assert {text.get_text() for text in axes.texts} == set(table["group"])
            assert all(contrast(line.get_color()) >= 3 for line in axes.get_lines())


def contrast(colour):
    """Contrast of a colour to white, by the Web Content Accessibility Guidelines."""
    channels = np.array(to_rgb(colour))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return 1.05 / (linear @ [0.2126, 0.7152, 0.0722] + 0.05)


def test_budgets_of_one_price_have_rows_of_their_own(runs, compared):
    """Where the scores of all candidates are fewer than either budget."""
    values, orders = (
        pd.concat([rows(runs["budget-none"], compared).assign(budget=b) for b in (10, 20)])
        for rows in (value_rows, order_rows)
    )
    both = SETTINGS.replaced(proxies={"none": (10, 20)})
    one = values.drop_duplicates(["budget", "recommender", "metric"])
    assert len(wide_values(one, both)) == 3 * (1 + 2)
    pairs = orders.drop_duplicates(["budget", "pair", "metric"])
    assert len(wide_orders(pairs, compared.names, both)) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"proxies": {"als": [100], "bert": [100]}}, "unknown proxy 'bert'"),
        ({"budgets": [20, 10]}, "20, 10 must increase"),
        ({"pairs": [["X", "Q"]]}, "beyond.pairs: no recommender Q"),
    ],
)
def test_settings_are_checked(root, change, message):
    import yaml

    config = yaml.safe_load((root / "config/config.yaml").read_text())
    config["beyond"] |= change
    with pytest.raises(InputError, match=message):
        Study.of(config, "config")


def test_hash_of_the_papers_study_does_not_depend_on_it(root):
    import yaml

    config = yaml.safe_load((root / "config/config.yaml").read_text())
    changed = config | {"beyond": {"runs": 2}}
    assert Study.of(config, "config").sha256() == Study.of(changed, "config").sha256()
    assert Study.of(changed, "config").beyond.parts == [
        *("sampled", "sampled-shared", "users", "budget-none", "budget-popularity"),
        *("budget-als", "scan-als"),
    ]

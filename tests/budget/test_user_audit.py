"""Audits are unbiased whatever is known and whatever the model says."""

from itertools import combinations, permutations
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import t

from sampled_metrics.budget.candidates import read_evaluation_data
from sampled_metrics.budget.counts import StratumCounts
from sampled_metrics.budget.estimates import estimate_errors, estimate_recommenders
from sampled_metrics.budget.model import MetricPosterior, Model, parse_metrics
from sampled_metrics.budget.reciprocal_ranks import draw_from_strata, split_reciprocal_rank
from sampled_metrics.budget.strata import Strata, make_proxy
from sampled_metrics.budget.user_audit import Audit, Phase, _scan_length

METRICS = parse_metrics(["recall@3", "ndcg@3", "ap"])


@pytest.mark.parametrize("drawn", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("before", [0.3, 1.0])
def test_draw_variance_unbiased(drawn: float, before: float) -> None:
    """A user counts 1 / reached if drawn in this phase and all before, and 0 otherwise."""
    reached = before * drawn
    phase = Phase(np.zeros((1, 1)), np.array([drawn]), np.array([reached]))
    # Variance of a draw, p (1 - p), times the squared weight, for users drawn in all phases before.
    variance = before * drawn * (1 - drawn) / reached**2
    assert reached * phase.variance_factor[0] == pytest.approx(variance, rel=1e-12)


def mean_of_first(left: int, better: int, draws: Any) -> float:
    """Mean of T / n over all places of the known better candidates among the unscored ones."""
    n = left + better + 1
    first = []
    for places in combinations(range(n - 1), better):
        unscored = iter(draws)
        hits = [place in places or next(unscored) for place in range(n - 1)]
        first.append(hits.index(True) + 1 if any(hits) else n)
    return float(np.mean(first)) / n


@pytest.mark.parametrize(("left", "better"), [(4, 0), (4, 1), (3, 3), (5, 2)])
def test_draws_unbiased_for_reciprocal_rank(left: int, better: int) -> None:
    for hits in range(left + 1):
        orders = set(permutations([True] * hits + [False] * (left - hits)))
        whole = np.mean([mean_of_first(left, better, order) for order in orders])
        assert whole == pytest.approx(1 / (better + hits + 1), rel=1e-12)
        for draws in range(left + 1):
            mean = 0.0
            for order in orders:
                actual = sum(order[:draws])
                line = split_reciprocal_rank(
                    *(np.array([x]) for x in (left, better, draws, actual))
                )
                # Further draws, if no better one was drawn, are unbiased for 1 / rank.
                mean += line[0][0] + line[1][0] / (better + hits + 1)
                if actual:
                    same = [one for one in orders if sum(one[:draws]) == actual]
                    expected = np.mean([mean_of_first(left, better, one) for one in same])
                    assert line[0][0] == pytest.approx(expected, rel=1e-12)
                    assert line[1][0] == 0
            assert mean / len(orders) == pytest.approx(1 / (better + hits + 1), rel=1e-12)


def test_draws_from_strata_uniform() -> None:
    left = np.tile([2, 0, 5, 3], (4000, 1))
    draws = draw_from_strata(left, np.full(4000, 4), np.random.default_rng(9))
    assert np.all(draws.sum(1) == 4)
    assert np.all(draws <= left)
    assert draws.mean(0) == pytest.approx(0.4 * left[0], abs=0.05)


def counted(scores: Any, seed: int, n_known: int, proxy: Any) -> StratumCounts:
    """Counts after `known` random scores per user; the last item is held out."""
    users, items = scores.shape
    data = read_evaluation_data(np.full(users, items - 1), csr_array(scores.shape))
    strata = Strata(data, make_proxy(proxy, data), seed)
    counts, rng = (StratumCounts(strata, lambda u, i: scores[u, i]), np.random.default_rng(seed))
    more = np.zeros_like(counts.n_scored)
    for user in range(users):
        places = np.repeat(np.arange(more.shape[1]), strata.sizes[user])
        np.add.at(more[user], rng.permutation(places)[:n_known], 1)
    counts.score_next(more)
    return counts


def lying(posterior: MetricPosterior, run: Model, lie: str, exact: Any) -> MetricPosterior:
    """Replace the means of a posterior by wrong ones, except where scores settle them."""
    dead = run.counts.known_better >= run.depth
    mean = {
        "collapse": np.full_like(posterior.mean, 1e-6),
        "praise": np.full_like(posterior.mean, 0.9),
        "half": 0.5 * exact,
    }[lie]
    mean[:2, dead] = 0.0
    mean[2, dead] = np.minimum(mean[2, dead], 1 / (run.counts.known_better[dead] + 1.0))
    done = run.counts.n_left.sum(1) == 0
    mean[:, done] = posterior.mean[:, done]
    return posterior._replace(mean=mean, variance=0.1 * mean * (1 - mean), row_mean=mean)


class World:
    """Users with held-out items that are often near the top, and a misleading proxy."""

    def __init__(self, users: int, items: int, seed: int, tied: bool = False) -> None:
        rng = np.random.default_rng(seed)
        self.scores = rng.normal(size=(users, items))
        held_score = np.quantile(self.scores, rng.beta(3, 1, users), axis=1).diagonal().copy()
        self.scores[:, -1] = held_score
        if tied:
            self.scores = self.scores.round(1)
        held_score = self.scores[:, -1]
        self.proxy = self.scores + 3 * np.sin(self.scores * 7)
        better = (self.scores > held_score[:, np.newaxis]).sum(1)
        ties = (self.scores == held_score[:, np.newaxis]).sum(1)
        places = [b + 1 + np.arange(t) for b, t in zip(better, ties, strict=True)]
        self.exact = np.array(
            [[measure.value_at(place, items).mean() for place in places] for measure in METRICS]
        )

    def counted(self, seed: int, n_known: int) -> StratumCounts:
        return counted(self.scores, seed, n_known, self.proxy)


def audited(counts: StratumCounts, money: int, level: float = 0.95) -> Any:
    """Run one audit; return the estimates and the audit."""
    model = Model(counts, METRICS)
    actual = Audit(model, money).run()
    (row,), _ = estimate_recommenders([actual], confidence=level)
    return row, actual


@pytest.fixture(params=["collapse", "praise", "half"])
def lie(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that makes the model of a world wrong."""
    metric_posterior = Model.metric_posterior

    def start(world: World) -> None:
        lies = lambda model: lying(metric_posterior(model), model, request.param, world.exact)  # noqa: E731
        monkeypatch.setattr(Model, "metric_posterior", lies)

    return start


@pytest.mark.long
@pytest.mark.parametrize("tied", [False, True])
def test_audit_unbiased_for_wrong_models(lie: Any, tied: bool) -> None:
    world, runs = World(150, 60, 8, tied), 24
    lie(world)
    exact, centres, covered, near = world.exact.mean(1), [], [], []
    for seed in range(runs):
        counts = world.counted(seed, 6)
        row, actual = audited(counts, 1800)
        centres.append([x.centre for x in row])
        thirds = [(x.high - x.low) / 6 for x in row]
        near.append(any(x.disagrees for x in row) or np.abs(exact - centres[-1]) <= thirds)
        if any(x.disagrees for x in row):
            assert [x.value for x in row] == [np.clip(x.centre, x.low, x.high) for x in row]
        covered.append([x.low <= value <= x.high for x, value in zip(row, exact, strict=True)])
        assert counts.n_scored.sum() - 6 * 150 <= 1800
        assert actual.users.size > 0
    spread = np.std(centres, axis=0) / np.sqrt(runs)
    assert np.all(np.abs(np.mean(centres, axis=0) - exact) <= 4 * spread)
    assert np.all(np.mean(covered, axis=0) >= 0.9)
    assert np.mean([np.all(x) for x in near]) >= 0.95


def test_full_audit_exact_and_empty_audit_bounded(lie: Any) -> None:
    world = World(40, 30, 1)
    lie(world)
    row, _ = audited(world.counted(0, 6), 10**6)
    assert [x.centre for x in row[:2]] == pytest.approx(world.exact.mean(1)[:2], abs=1e-12)
    counts = world.counted(0, 6)
    row, actual = audited(counts, 0)
    assert counts.n_scored.sum() == 40 * 6
    assert actual.slack[:, 0].sum() > 0
    possible = np.mean(counts.better.sum(1) < 3)
    assert (row[0].low, row[0].high) == (0.0, pytest.approx(possible, abs=0.02))


def test_audits_draw_same_users() -> None:
    world = World(80, 50, 2)
    models = [Model(world.counted(4, 6), METRICS) for _ in range(2)]
    results = [Audit(model, 1500).run() for model in models]
    assert len(results[0].phases) > 2
    single, pairs = estimate_recommenders(results, confidence=0.95)
    assert [x.centre for x in pairs[0, 1]] == [0.0, 0.0, 0.0]
    errors = zip(pairs[0, 1], single[0], strict=True)
    assert all(pair.std_error <= x.std_error for pair, x in errors)


@pytest.mark.parametrize("helps", [True, False])
def test_phases_leave_scores(helps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = World(80, 50, 2).counted(4, 6)
    model = Model(counts, METRICS)
    model.proxy_helps = helps
    ask, left, parts = counts.score_next, 1500, []

    def n_scored(more: Any) -> Any:
        nonlocal left
        parts.append(more.sum() / left)
        left -= more.sum()
        return ask(more)

    monkeypatch.setattr(counts, "score_next", n_scored)
    Audit(model, left).run()
    assert all(0.2 < part < 0.65 for part in parts[:3])
    assert len(parts) > 2


def test_scan_until_enough_better_expected() -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(30, 200))
    held_score = np.sort(scores, axis=1)[:, -rng.integers(20, 50, 30)].diagonal().copy()
    scores[:, -1] = held_score
    counts = counted(scores, 0, 60, scores)
    model = Model(counts, parse_metrics(["recall@20"]))
    model.share = np.full_like(model.share, 0.5)  # half of all candidates are expected to be better
    audit = Audit(model, 10**6)
    n_known = counts.better.sum(1)
    n_scored = audit._plan_scores(np.arange(30), np.zeros(30, bool)).sum(axis=1)
    assert n_known.min() < 6
    assert 15 < n_known.max() < 20
    # One more than is missing to depth 20 must be expected, and at least 16 are scored.
    assert n_scored.tolist() == np.maximum(2 * (20 - n_known + 1), 16).tolist()


def test_scan_length_by_hand() -> None:
    # All of the first 4 candidates and half of the next 4 are expected to be better: 6 of 8.
    left, rate = np.array([[4, 4]]), np.array([[1.0, 0.5]])
    n_scored = [_scan_length(left, rate, np.array([[missing]])).item() for missing in range(1, 8)]
    assert n_scored == [1, 2, 3, 4, 6, 8, 0]


def test_open_users_by_draws() -> None:
    """User 0 has a better draw, user 1 none yet, and user 2 no candidates left."""
    strata = SimpleNamespace(reduce_by_user=lambda rows: rows)
    run = SimpleNamespace(
        model=SimpleNamespace(uncut=np.array([0]), strata=strata, is_open=None),
        _reciprocal_ranks=SimpleNamespace(factor=np.array([0.0, 0.3, 0.3])),
        _counts=SimpleNamespace(n_left=np.array([[5, 5], [5, 5], [0, 0]])),
    )
    assert Audit.open_users(cast(Audit, run), np.arange(3)).tolist() == [1]


def begun(mean: Any, n_users: int) -> Any:
    """An audit before its first phase; the scores allow values between -9 and 9."""
    wide = {"least": np.full((1, n_users), -9.0), "greatest": np.full((1, n_users), 9.0)}
    return SimpleNamespace(
        model=SimpleNamespace(uncut=np.array([0])),
        before=SimpleNamespace(mean=mean, greatest=np.ones((1, n_users))),
        now=SimpleNamespace(**wide),
        phases=[],
        reach_probability=np.ones(n_users),
        noise=np.zeros((1, n_users)),
        assumed=np.zeros((2, 1)),
        slack=np.zeros((2, 1)),
        _values=mean,
    )


MODEL = np.array([[0.3, 0.5, 0.6]])  # what the model says of three users


def audit_of_two_users() -> Any:
    """One phase: user 0 is drawn for certain, user 2 with probability 1/2; both have 0.4.

    The variances that were expected of them are 0.2 and 0.4. User 2 was drawn at random.
    """
    audit = begun(MODEL, 3)
    Audit.record_phase(
        audit,
        users=np.array([0, 2]),
        probability=np.array([1.0, 0.5]),
        values=np.array([[0.4, 0.9, 0.4]]),
        expected_variance=np.array([[0.2, 0.9, 0.4]]),
        at_random=np.array([2]),
    )
    return audit


def test_changes_of_drawn_users_count_by_their_probabilities() -> None:
    """0.4 - 0.3 for user 0 and (0.4 - 0.6) / 0.5 for user 2; noise is of random ones."""
    audit = audit_of_two_users()
    assert estimate_errors(audit).shift == pytest.approx(np.array([[0.1, 0, -0.2 / 0.5]]))
    assert audit.noise == pytest.approx(np.array([[0, 0, -0.2 / np.sqrt(0.5)]]))


def test_certain_users_add_no_assumed_error() -> None:
    """A draw with probability 1/2 multiplies a variance by (1 - 1/2) / (1/2)^2."""
    audit, factor = audit_of_two_users(), (1 - 0.5) / 0.5**2
    of_model, of_greatest = audit.assumed
    assert of_model == pytest.approx([0.4 * factor])
    assert of_greatest == pytest.approx([0.6**2 * factor / 2])


def test_interval_of_an_audit_by_hand() -> None:
    """The assumed variance, 0.4 * 2, exceeds those of the change of user 2 and of the noise."""
    ((result,),), _ = estimate_recommenders([audit_of_two_users()], 0.9)
    centre = (MODEL.sum() + 0.1 - 0.2 / 0.5) / 3
    variance, square = 0.8 + 0.3**2, 0.04 * 2 + 0.04 / 0.5  # 0.3: no audit sees parts of a user
    freedom = (variance / square) ** 2
    half = t.ppf(0.95, freedom) * np.sqrt(variance) / 3
    assert (result.low, result.high) == pytest.approx((centre - half, centre + half))
    assert result.centre == pytest.approx(centre)
    assert result.value == pytest.approx(MODEL.mean())  # which is within a standard deviation


def test_audit_variance_unbiased() -> None:
    """For one user and two phases, the mean over all outcomes is the variance of the sum."""
    p, q, change = 0.4, 0.7, (0.3, -0.5)
    sums, variances = [], []
    for count in range(3):
        audit = begun(np.zeros((1, 1)), 1)
        for drawn, value in ((p, change[0]), (q, sum(change)))[:count]:
            Audit.record_phase(
                audit,
                users=np.arange(1),
                probability=np.array([drawn]),
                values=np.array([[value]]),
                expected_variance=np.zeros((1, 1)),
                at_random=np.arange(0),
            )
        actual = estimate_errors(audit)
        sums.append(actual.shift[0, 0])
        variances.append(actual.variance[0, 0])
    weights = np.array([1 - p, p * (1 - q), p * q])
    assert weights @ sums == pytest.approx(sum(change))
    assert weights @ variances == pytest.approx(weights @ np.square(sums) - sum(change) ** 2)

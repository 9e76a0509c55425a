"""The model of a budget against loops over rows, classes and strata, and sums over Poisson laws."""

from math import ceil, exp, floor, log, sqrt
from typing import Any

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from scipy.sparse import csr_array
from scipy.stats import poisson

from sampled_metrics._base.errors import InputError
from sampled_metrics.budget.candidates import read_evaluation_data
from sampled_metrics.budget.counts import StratumCounts
from sampled_metrics.budget.evaluation import score_in_rounds
from sampled_metrics.budget.model import (
    Model,
    average_over_ties,
    initial_shares,
    parse_metrics,
    scan_depth,
)
from sampled_metrics.budget.poisson_means import PoissonMeans
from sampled_metrics.budget.reciprocal_ranks import ReciprocalRankDraws
from sampled_metrics.budget.strata import Strata, make_proxy, stratum_edges
from sampled_metrics.budget.user_audit import Audit

METRICS = parse_metrics(["recall@3", "ndcg@3", "ap"])
USERS, ITEMS = 30, 120


def recorded(counts: StratumCounts) -> list[Any]:
    """Record how many candidates of each user and stratum are scored in every call from now on."""
    scored: list[Any] = []
    ask = counts.score_next
    counts.score_next = lambda more: (scored.append(more.copy()), ask(more))  # type: ignore[method-assign]
    return scored


def counted(tied: bool, lists: Any = None) -> tuple[StratumCounts, Any]:
    """Counts of some scores of each user and stratum, and all scores."""
    rng = np.random.default_rng(3)
    scores = rng.normal(size=(USERS, ITEMS))
    held = rng.integers(0, ITEMS, USERS) if lists is None else lists
    data = read_evaluation_data(held, csr_array(scores.shape))
    user_of_row = np.repeat(np.arange(USERS), [np.size(items) for items in held])
    scores[user_of_row, data.held_out_items] += rng.uniform(
        1, 3, user_of_row.size
    )  # few candidates are better
    if tied:
        scores = scores.round(1)
    proxy = scores + rng.normal(size=scores.shape)
    strata = Strata(data, make_proxy(proxy, data), 1)
    counts = StratumCounts(strata, lambda users, items: scores[users, items])
    counts.score_next(np.minimum(rng.integers(0, 5, strata.sizes.shape), strata.sizes))
    return counts, scores


class Loops:
    """The model in plain loops, one number at a time."""

    def __init__(self, counts: StratumCounts, model: Model) -> None:
        self.counts = counts
        self.rows = range(counts.better.shape[0])
        self.strata = range(counts.n_scored.shape[1])
        self.share = initial_shares(counts.strata.edges, 20).tolist()
        self.initial = self.share
        self.classes = range(20)
        self.bin = model._in_bin.argmax(axis=1).tolist()
        self.n_bins = max(self.bin) + 1
        self.prior = [[1 / 20] * 20 for _ in range(self.n_bins)]
        self.least = min(0.07 / counts.strata.edges[-1], 2e-5)

    def of_cell(self, row: int, s: int) -> tuple[float, float, float]:
        """Numbers scored and better, reduced for overdispersion, and better; ties count half."""
        scored = self.counts.n_scored[self.counts.strata.user_of_row[row], s]
        factor = 31 / (30 + max(scored, 1))
        better = self.counts.better[row, s] + self.counts.tied[row, s] / 2
        return scored * factor, better * factor, better

    def posterior(self) -> Any:
        actual = []
        for row in self.rows:
            weights = []
            for g in self.classes:
                weight = log(self.prior[self.bin[row]][g])
                for s in self.strata:
                    scored, better, _ = self.of_cell(row, s)
                    weight += better * log(self.share[g][s])
                    weight += (scored - better) * log(1 - self.share[g][s])
                weights.append(weight)
            likely = [exp(weight - max(weights)) for weight in weights]
            actual.append([x / sum(likely) for x in likely])
        return actual

    def step(self) -> None:
        posterior = self.posterior()
        cells = {(row, s): self.of_cell(row, s) for row in self.rows for s in self.strata}
        self.share = [
            [
                min(max(
                    (sum(posterior[r][g] * cells[r, s][1] for r in self.rows)
                     + 0.5 * self.initial[g][s])
                    / (sum(posterior[r][g] * cells[r, s][0] for r in self.rows) + 0.5),
                    self.least), 0.995)
                for s in self.strata
            ]
            for g in self.classes
        ]  # fmt: skip
        sizes = [sum(posterior[r][g] for r in self.rows) for g in self.classes]
        for b in range(self.n_bins):
            inside = [
                sum(posterior[r][g] for r in self.rows if self.bin[r] == b)
                + sizes[g] / sum(sizes) + 1e-6
                for g in self.classes
            ]  # fmt: skip
            self.prior[b] = [x / sum(inside) for x in inside]

    def unscored(self, row: int, g: int, share: Any = None) -> float:
        """Better candidates expected among those without a score."""
        share = self.share if share is None else share
        user = self.counts.strata.user_of_row[row]
        total = 0.0
        for s in self.strata:
            m = self.counts.n_scored[user, s]
            left = self.counts.strata.sizes[user, s] - m
            total += left * (30 * share[g][s] + self.of_cell(row, s)[2]) / (30 + m)
        return total

    def moments(self, row: int, n_known: int, means: Any, posterior: Any) -> Any:
        """Mean and variance of each metric if a Poisson number of further candidates is better."""
        support = np.arange(400)
        first, second = np.zeros((2, len(METRICS)))
        for g in self.classes:
            law = poisson.pmf(support, means[g])
            for i, metric in enumerate(METRICS):
                values = metric.value_at(n_known + support + 1, ITEMS)
                first[i] += posterior[row][g] * (law @ values)
                second[i] += posterior[row][g] * (law @ values**2)
        return first, second - first**2

    def of_row(self, row: int, posterior: Any) -> Any:
        """Mean and variance of the metrics, averaged over the place among ties."""
        n_known = int(self.counts.better[row].sum() + self.counts.above[row])
        tied = int(self.counts.tied[row].sum())
        means = [self.unscored(row, g) for g in self.classes]
        if not tied:
            return self.moments(row, n_known, means, posterior)
        better = int(self.counts.better[row].sum())
        part = tied / (2 * better + tied)
        first, second = np.zeros((2, len(METRICS)))
        for node, weight in zip(*leggauss(6), strict=True):
            place = ((node + 1) / 2) ** 3
            width = 1.5 * weight * ((node + 1) / 2) ** 2
            factor = 1 - part + 2 * part * place
            mean, variance = self.moments(
                row, n_known + floor(place * tied + 0.5), [factor * x for x in means], posterior
            )
            first += width * mean
            second += width * (variance + mean**2)
        return first, second - first**2


LISTS = [[user, (user + 7) % ITEMS] if user % 3 else [user] for user in range(USERS)]


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("lists", [None, LISTS])
def test_model_matches_loops(tied: bool, lists: Any) -> None:
    counts, _ = counted(tied, lists)
    assert not tied or counts.tied.any()
    model = Model(counts, METRICS)
    loops = Loops(counts, model)
    model.fit(2)
    for _ in range(2):
        loops.step()
    posterior = loops.posterior()
    np.testing.assert_allclose(model.share, loops.share, rtol=1e-9)
    np.testing.assert_allclose(model.posterior, posterior, rtol=1e-8, atol=1e-14)
    actual = model.metric_posterior()
    mean, variance = np.zeros((2, len(METRICS), USERS))
    size = np.bincount(counts.strata.user_of_row)
    for row in range(0, counts.better.shape[0], 3):
        first, second = loops.of_row(row, posterior)
        np.testing.assert_allclose(actual.row_mean[:, row], first, rtol=3e-3, atol=5e-4)
        user = counts.strata.user_of_row[row]
        if size[user] > 1:
            continue
        mean[:, user], variance[:, user] = first, second
        np.testing.assert_allclose(actual.mean[:, user], first, rtol=3e-3, atol=5e-4)
        np.testing.assert_allclose(actual.variance[:, user], second, rtol=3e-2, atol=1e-3)


@pytest.mark.parametrize(("lists", "tied"), [(None, False), (None, True), (LISTS, False)])
def test_gain_matches_loops(lists: Any, tied: bool) -> None:
    """A row's variance is shared out over strata by the variance of an unscored candidate."""
    counts, _ = counted(tied, lists)
    model = Model(counts, METRICS)
    loops = Loops(counts, model)
    posterior = model.posterior
    cells = {(row, s): loops.of_cell(row, s) for row in loops.rows for s in loops.strata}
    share = [
        [
            min(max((sum(posterior[r, g] * cells[r, s][1] for r in loops.rows) + 0.3)
                    / (sum(posterior[r, g] * cells[r, s][0] for r in loops.rows) + 0.3),
                    loops.least), 0.995)
            for s in loops.strata
        ]
        for g in loops.classes
    ]  # fmt: skip
    means = np.array([[loops.unscored(r, g, share) for g in loops.classes] for r in loops.rows])
    n_known = counts.better.sum(axis=1) + counts.above
    n_known += counts.tied.sum(axis=1) // 2
    _, variance = model._poisson.moments(posterior, n_known, means)  # tested separately
    expected = np.zeros_like(counts.n_scored, dtype=float)
    for row in loops.rows:
        user = counts.strata.user_of_row[row]
        chance = [sum(posterior[row, g] * share[g][s] for g in loops.classes) for s in loops.strata]
        spread = [p * (1 - p) for p in chance]
        left = counts.strata.sizes[user] - counts.n_scored[user]
        total = sum(a * b for a, b in zip(left, spread, strict=True))
        by_score = (variance[0, row] / 4 + variance[1, row] + variance[2, row]) / total
        for s in loops.strata:
            expected[user, s] += by_score * spread[s]
    np.testing.assert_allclose(model.gain(), expected, rtol=1e-9)


@pytest.mark.parametrize("lists", [None, LISTS])
def test_posterior_bounds_by_hand(lists: Any) -> None:
    counts, _ = counted(False, lists)
    _, _, low, high, _ = Model(counts, METRICS).metric_posterior()
    for user in range(USERS):
        rows = np.flatnonzero(counts.strata.user_of_row == user)
        left = int((counts.strata.sizes[user] - counts.n_scored[user]).sum())
        n_known = counts.better[rows].sum(axis=1) + counts.above[rows]
        for more, actual in ((left, low), (0, high)):
            ranks = np.sort(n_known + more) + 1
            discounts = 1 / np.log2(np.arange(2, 2 + rows.size))
            gains = (ranks <= 3) / np.log2(ranks + 1)
            expected = [
                (ranks <= 3).mean(),
                gains.sum() / discounts[:3].sum(),
                np.mean(np.sort(counts.above[rows] + 1) / ranks),
            ]
            assert actual[:, user] == pytest.approx(expected)


def test_strata_and_initial_shares_by_hand() -> None:
    assert stratum_edges(1).tolist() == [0, 1]
    assert stratum_edges(6).tolist() == [0, 5, 6]
    assert stratum_edges(5).tolist() == [0, 5]
    # 0.9 * 1556 = 1400.4 exceeds the last fixed edge, and 0.9 * 3734 exceeds 2.4 * 1400 = 3360.
    assert stratum_edges(1555).tolist() == [0, 5, 15, 40, 100, 250, 600, 1555]
    assert stratum_edges(1556).tolist() == [0, 5, 15, 40, 100, 250, 600, 1400, 1556]
    assert stratum_edges(3733).tolist()[-2:] == [1400, 3733]
    assert stratum_edges(3734).tolist()[-2:] == [3360, 3734]
    actual = initial_shares(np.array([0, 5, 100]), 3)
    levels = [0.3, sqrt(0.3 * 85), 85]
    middles = [sqrt(1 * 5), sqrt(6 * 100)]
    expected = [
        [min(max(0.95 / (1 + (middle / level) ** 1.2), 0.07 / 100), 0.98) for middle in middles]
        for level in levels
    ]
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


class Stub:
    """A model with a fixed gain, which records the steps of its fits."""

    def __init__(self, counts: StratumCounts, gain: Any) -> None:
        self.counts = counts
        self.given = gain
        self.steps: list[int] = []

    def gain(self) -> Any:
        return self.given

    def fit(self, steps: int) -> None:
        self.steps.append(steps)


@pytest.mark.parametrize("total", [250, 400, 1500])
def test_rounds_score_largest_gain(total: int) -> None:
    counts, _ = counted(False)
    counts.n_scored[:] = counts.better[:] = counts.tied[:] = 0
    n = counts.strata.sizes
    gain = np.random.default_rng(0).random(n.shape)
    model = Stub(counts, gain)
    counts.score_next(np.minimum(1, n))
    scored = recorded(counts)
    score_in_rounds(model, total)  # type: ignore[arg-type]
    # The first round ends 3 scores per user later; 3 rounds per factor e follow, at least 4.
    first, last = (n > 0).sum() / USERS + 3, total / USERS
    limits = [last]
    if last > first:
        limits = np.geomspace(first, last, max(4, int(3 * log(last / first)))).tolist()
    m = (n > 0).astype(int)
    fewest = [5, 10, 10, 12, 15, 20, *[25] * n.shape[1]]
    turns = 0
    for limit in limits:
        room = min(int(limit * USERS), total) - m.sum()
        cells = sorted(np.ndindex(n.shape), key=lambda cell: -gain[cell])
        more = np.zeros_like(n)
        for cell in cells:
            size = min(max(fewest[cell[1]], m[cell]), n[cell] - m[cell])
            if size and more.sum() + size > room:
                break
            more[cell] = size
        if more.any():
            assert (scored[turns] == more).all()
            turns += 1
        m += more
    assert turns == len(scored)
    assert (counts.n_scored == m).all()
    assert m.sum() <= total
    assert model.steps == [*[6] * turns, 40]
    assert ceil(total / USERS) >= m.sum() / USERS


def first_of(users: int, items: int) -> tuple[StratumCounts, Any]:
    """Counts without scores; each user's held-out item, the last one, is the best."""
    scores = np.random.default_rng(7).random((users, items))
    scores[:, -1] = 2.0
    data = read_evaluation_data(np.full(users, items - 1), csr_array(scores.shape))
    proxy = make_proxy(np.random.default_rng(8).random(scores.shape), data)
    return StratumCounts(Strata(data, proxy, 1), lambda users, items: scores[users, items]), scores


@pytest.mark.parametrize(
    ("rows", "classes", "bins"),
    [(30, 20, 2), (299, 20, 2), (300, 20, 3), (419, 20, 4), (420, 21, 4), (439, 21, 4),
     (800, 40, 8), (1300, 40, 12)],
)  # fmt: skip
def test_number_of_classes_and_bins(rows: int, classes: int, bins: int) -> None:
    """20 to 40 classes, one per 20 rows; one bin per 100 rows, half of them for the best 30 %."""
    counts, _ = first_of(rows, 50)
    counts.strata.share_before = np.random.default_rng(0).permutation(rows).astype(float)
    model = Model(counts, METRICS)
    assert model.posterior.shape == (rows, classes)
    inside = model._in_bin[np.argsort(counts.strata.share_before)]
    assert inside.shape[1] == bins
    assert (np.diff(inside.argmax(axis=1)) >= 0).all()
    half = bins // 2
    shares = [0.3 / half] * half + [0.7 / (bins - half)] * (bins - half)
    assert inside.mean(axis=0) == pytest.approx(shares, abs=1.5 / rows)


class AuditOfTwoHundred:
    """An audit of 200 users with 199 candidates each, of whom no better ones are expected."""

    def __init__(self, money: int) -> None:
        counts, _ = first_of(200, 200)
        model = Model(counts, parse_metrics(["recall@3", "ndcg@3"]))
        model.share = np.full_like(model.share, 1e-9)
        self.before = model.metric_posterior()
        self.audit = Audit(model, money)
        self.assumed: list[Any] = []  # variances after each phase
        record = self.audit.record_phase
        self.audit.record_phase = lambda **outcome: (  # type: ignore[method-assign]
            record(**outcome),
            self.assumed.append(self.audit.assumed[0].copy()),
        )
        self.scored = recorded(counts)
        self.audit.run()

    def users_of_phase(self, phase: int) -> Any:
        return np.flatnonzero(self.scored[phase].sum(axis=1))


def test_audit_scores_longer_lists_of_fewer_users() -> None:
    """16, 16 (199/16)^(1/3) and 16 (199/16)^(2/3) candidates, then the rest of 199.

    Phases spend 0.3, 0.4 and 0.5 of what is left, and the last one all of it.
    """
    money = 9000
    run = AuditOfTwoHundred(money)
    sizes = [16, ceil(16 * (199 / 16) ** (1 / 3)), ceil(16 * (199 / 16) ** (2 / 3))]
    sizes.append(199 - sum(sizes))
    n_users = 200
    for phase, (size, share) in enumerate(zip(sizes, (0.3, 0.4, 0.5, 1.0), strict=True)):
        users = run.users_of_phase(phase)
        assert set(run.scored[phase][users].sum(axis=1)) == {size}
        n_users = min(n_users, int(share * money) // size)
        assert users.size == n_users
        money -= n_users * size
    assert run.audit.users.tolist() == run.users_of_phase(0).tolist()


def test_audit_draws_users_by_the_root_of_their_variance() -> None:
    """Recall counts a quarter; users that are not drawn have a probability of 1."""
    run = AuditOfTwoHundred(money=9000)
    first, second, *_ = run.audit.phases
    users, both = run.users_of_phase(0), run.users_of_phase(1)
    highest = run.before.greatest[:, users]
    assert highest == pytest.approx(np.ones_like(highest))
    of_recall, of_ndcg = variance = run.before.variance[:, users] + 0.001 * highest**2
    quotient = first.draw_probability[users] / np.sqrt(of_recall / 4 + of_ndcg)
    assert quotient == pytest.approx(np.full(users.size, quotient[0]))
    assert first.draw_probability[users].max() < first.draw_probability.max() == 1
    assert run.assumed[0] == pytest.approx(variance @ first.variance_factor[users], rel=1e-12)
    of_both = first.draw_probability[both] * second.draw_probability[both]
    assert second.reach_probability[both] == pytest.approx(of_both)


def test_draws_by_turn() -> None:
    """Turns draw until 3 better ones are expected, then 8 times as many, then all that is left."""
    counts, _ = first_of(12, 3000)
    draws = ReciprocalRankDraws(counts, np.random.default_rng(5))
    users, mean = np.arange(12), np.geomspace(1e-5, 0.9, 12)
    for turn in range(4):
        draws._turns[:] = turn
        n_draws = draws.plan_draws(users, mean)
        expected = np.clip(np.ceil(3 * 8**turn * mean * 2999), 1, 2999)
        if turn >= 2:
            expected[:] = 2999
        assert n_draws.sum(axis=1).tolist() == expected.tolist()
        assert (n_draws <= counts.n_left).all()


def test_cutoff_above_limit_refused() -> None:
    assert scan_depth(parse_metrics("recall@2000"), 10**6) == 2000
    assert scan_depth(parse_metrics("recall@10, ndcg@9999"), 1999) == 2000
    for names, n_largest in (("recall@2001", 10**6), ("recall@10, ndcg@9999", 2000)):
        with pytest.raises(InputError, match="cutoff"):
            scan_depth(parse_metrics(names), n_largest)


def test_average_over_ties_by_hand() -> None:
    better, tied = np.array([0, 8, 3]), np.array([2, 4, 0])
    recall = average_over_ties(parse_metrics(["recall@10"]), better, tied)[0]
    assert recall == pytest.approx([1, 2 / 5, 1])
    average = average_over_ties(parse_metrics(["ap"]), better, tied)[0]
    assert average == pytest.approx([(1 + 1 / 2 + 1 / 3) / 3, np.mean(1 / np.arange(9, 14)), 1 / 4])


@pytest.mark.parametrize("names", [["recall@10", "ndcg@5", "ap"], ["ap"], ["recall@100"]])
def test_poisson_tables_match_sums(names: list[str]) -> None:
    metrics = parse_metrics(names)
    depth = max((one.cutoff for one in metrics if one.cutoff), default=10)
    tables = PoissonMeans(metrics, depth, 5000)
    better = np.array([0, 2, 7, 60, 4])
    mean = np.array([[0.002, 3.0], [12.0, 0.7], [150.0, 1.0], [5.0, 900.0], [0.0, 2500.0]])
    share = np.array([[0.3, 0.7], [0.5, 0.5], [1.0, 0.0], [0.2, 0.8], [0.6, 0.4]])
    moments = tables.moments(share, better, mean)
    support = np.arange(6000)
    law = poisson.pmf(support, mean[:, :, np.newaxis])
    for index, metric in enumerate(metrics):
        values = metric.value_at(better[:, np.newaxis] + support + 1, 10_000)[:, np.newaxis]
        first = (share * (law * values).sum(2)).sum(1)
        second = (share * (law * values**2).sum(2)).sum(1)
        assert moments[0][index] == pytest.approx(first, rel=2e-3, abs=2e-4)
        assert moments[1][index] == pytest.approx(second - first**2, rel=2e-2, abs=5e-4)


def test_ap_beyond_depth_matches_sum() -> None:
    tables = PoissonMeans(parse_metrics(["ap"]), 10, 5000)
    better, mean = np.array([12, 20, 15, 40]), np.array([10.0, 30.0, 100.0, 400.0])
    (actual,), _ = tables.moments(np.ones((4, 1)), better, mean[:, np.newaxis])
    support = np.arange(6000)
    law = poisson.pmf(support, mean[:, np.newaxis])
    expected = (law / (better[:, np.newaxis] + support + 1)).sum(1)
    assert actual == pytest.approx(expected, rel=5e-4)


@pytest.mark.parametrize("name", ["recall", "recall@0", "auc", "ndcg", "ndcg@-1"])
def test_unknown_metrics(name: str) -> None:
    for names in ([name], name):
        with pytest.raises(InputError, match=r"unknown me(tric|asure)|expected a list"):
            parse_metrics(names)

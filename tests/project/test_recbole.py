"""The metric for RecBole, without RecBole; `make test-recbole` runs it inside RecBole."""

import importlib
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import sampled_metrics as sm


@pytest.fixture
def plugin(monkeypatch):
    """The module, with stand-ins for what it needs of RecBole."""
    needed = {
        "recbole": {},
        "recbole.evaluator": {},
        "recbole.evaluator.register": {"metrics_dict": {}, "metric_information": {}},
        "recbole.utils": {"EvaluatorType": SimpleNamespace(RANKING=1)},
    }
    needed["recbole.evaluator.register"]["metric_types"] = {}
    for name, contents in needed.items():
        module = ModuleType(name)
        module.__dict__.update(contents)
        monkeypatch.setitem(sys.modules, name, module)
    sys.modules["recbole.evaluator"].register = sys.modules["recbole.evaluator.register"]
    monkeypatch.delitem(sys.modules, "sampled_metrics.recbole", raising=False)
    yield importlib.import_module("sampled_metrics.recbole")
    sys.modules.pop("sampled_metrics.recbole")


def settings(mode="full", **others):
    modes = mode if isinstance(mode, dict) else {"valid": mode, "test": mode}
    config = dict.fromkeys(("exact_metrics", "n_items", "item_counts"))
    config.update(eval_args={"mode": modes}, topk=[5, 10], single_spec=True)
    config.update(metric_decimal_place=4, **others)
    return config


def collected(rank, n_candidates, n_held_out=1):
    """Return what RecBole passes to a metric: a tensor of three columns, by name."""
    columns = np.broadcast_arrays(rank, n_candidates, n_held_out)
    rows = np.column_stack(columns).astype(np.float32)
    return {"rec.meanrank": SimpleNamespace(numpy=lambda: rows)}


def test_exact_is_registered(plugin):
    registry = sys.modules["recbole.evaluator.register"]
    assert registry.metrics_dict == {"exact": plugin.Exact}
    assert list(registry.metric_information["exact"]) == ["rec.meanrank"]
    assert registry.metric_types == {"exact": 1}
    assert not plugin.Exact.smaller


@pytest.mark.filterwarnings("ignore:.*the largest rank")  # none is below 59 of 90
def test_exact_full_rankings_equal_evaluate(plugin):
    rng = np.random.default_rng(3)
    ranks = rng.integers(1, 60, size=200)
    metrics = plugin.Exact(settings()).calculate_metric(collected(ranks, 90))
    names = [f"exact_{name}@{k}{end}" for name in ("recall", "ndcg") for k in (5, 10)
             for end in ("_low", "", "_high")]  # fmt: skip
    assert list(metrics) == names
    for one in sm.evaluate(ranks, "recall@5, recall@10, ndcg@5, ndcg@10", n_items=90):
        values = [metrics[f"exact_{one.metric}{end}"] for end in ("_low", "", "_high")]
        assert values == [round(x, 4) for x in (one.ci_low, one.value, one.ci_high)]


def test_exact_tied_ranks_count_half(plugin):
    metric = plugin.Exact(settings(exact_metrics=["hit"]))
    metrics = metric.calculate_metric(collected([5.5, 1, 40, 80], 90))
    assert metrics["exact_hit@5"] == pytest.approx(1.5 / 4)
    assert metrics["exact_hit@10"] == pytest.approx(2 / 4)
    assert metric.ranks.n_tied.tolist() == [1, 0, 0, 0]


def test_exact_sampled_ranks_equal_correct(plugin):
    rng = np.random.default_rng(3)
    ranks = np.minimum(rng.geometric(0.2, size=400), 101)
    metric = plugin.Exact(settings("uni100", n_items=3541))
    metrics = metric.calculate_metric(collected(ranks, rng.integers(97, 102, size=400)))
    expected = sm.correct(
        ranks, "recall@10", "likely", n_items=3541, n_negatives=100, sampling="distinct"
    )[0]
    assert metrics["exact_recall@10_low"] == round(expected.range_low, 4)
    assert metrics["exact_recall@10"] == round(expected.value, 4)
    assert metrics["exact_recall@10_high"] == round(expected.range_high, 4)


def test_exact_half_sampled_ranks_are_rounded_at_random(plugin):
    """Of 400 users with a rank of 1.5, about 200 get 1, and the others 2."""
    metric = plugin.Exact(settings("uni9", n_items=500))
    users_of_rank = {1: 500, 1.5: 400, 3: 90, 4: 60, 5: 45, 6: 35, 7: 30, 8: 25, 9: 22, 10: 20}
    ranks = np.repeat(list(users_of_rank), list(users_of_rank.values()))
    metric.calculate_metric(collected(ranks, n_candidates=10))
    _, first, second, *rest = np.bincount(metric.ranks.sampled_ranks)
    assert first + second == 500 + 400
    assert 150 < second < 250
    assert rest == [90, 60, 45, 35, 30, 25, 22, 20]


@pytest.mark.parametrize(
    ("n_candidates", "kind"), [(10, sm.SampledRanks), (490, sm.Ranks)], ids=["valid", "test"]
)
def test_exact_detects_phase_by_candidates(plugin, n_candidates, kind):
    """The held-out item and nine negatives in validation, or all items in the test."""
    metric = plugin.Exact(settings({"valid": "uni9", "test": "full"}, n_items=500))
    metric.calculate_metric(collected([1, 2, 9], n_candidates))
    assert isinstance(metric.ranks, kind)


class TestPopularity:
    """RecBole draws with replacement and ranks the distinct items; half of better items popular."""

    N, M = 300, 20

    @pytest.fixture
    def n_better(self):
        rng = np.random.default_rng(3)
        return np.minimum(rng.geometric(0.06, size=500) - 1, self.N - 1)

    @pytest.fixture
    def metric(self, plugin, n_better):
        """The metric after a phase in which 500 users have these numbers of better items."""
        rng = np.random.default_rng(4)
        n_others = self.N - 1
        counts = np.round(1 + 2000 / np.arange(1, self.N) ** 0.8).astype(int)
        order = np.argsort(-0.5 * np.log(counts) - rng.gumbel(size=(500, n_others)), axis=1)
        place = order.argsort(axis=1)  # of each item in the ranking of the user
        drawn = rng.choice(n_others, (500, self.M), p=counts / counts.sum())
        better = [
            len({item for item in items if place[user, item] < n_better[user]})
            for user, items in enumerate(drawn.tolist())
        ]
        of_items = {"n_items": self.N, "item_counts": dict(enumerate(counts.tolist()))}
        metric = plugin.Exact(settings(f"pop{self.M}") | of_items)
        metric.printed = metric.calculate_metric(collected(1 + np.array(better), self.M + 1))
        return metric

    @pytest.mark.parametrize("k", [5, 10])
    def test_exact_negatives_by_popularity_have_a_range_alone(self, metric, n_better, k):
        low, value, high = (
            metric.printed[f"exact_recall@{k}{end}"] for end in ("_low", "", "_high")
        )
        assert low < (n_better < k).mean() < high
        assert np.isnan(value)

    def test_negatives_by_popularity_have_no_ranks(self, plugin, metric):
        trainer = SimpleNamespace(evaluator=SimpleNamespace(metric_class={"exact": metric}))
        with pytest.raises(sm.InputError, match="order"):
            plugin.ranks_of(trainer)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"mode": "uni100"}, "n_items"),
        ({"mode": "pop100", "n_items": 500}, "item_counts"),
        ({"mode": {"valid": "uni9", "test": "uni99"}, "n_items": 500}, "different numbers"),
        ({"single_spec": False}, "processes"),
    ],
)
def test_exact_settings_without_a_range_are_refused(plugin, changes, problem):
    with pytest.raises(sm.InputError, match=problem):
        plugin.Exact({**settings(changes.pop("mode", "full")), **changes})


def test_exact_several_held_out_items_are_refused(plugin):
    with pytest.raises(sm.InputError, match="1 users"):
        plugin.Exact(settings()).calculate_metric(collected([3, 9], 90, [1, 2]))


@pytest.mark.parametrize(("repeatable", "n_items"), [(False, 100 - (2 + 0) / 2), (True, 100)])
def test_n_items_counts_unseen_items(plugin, repeatable, n_items):
    """100 items; users 1 and 3 have seen 2 and 0 of them, besides their held-out items."""
    feature = SimpleNamespace(unique=lambda: np.array([1, 3]))
    dataset = SimpleNamespace(item_num=101, uid_field="user", inter_feat={"user": feature})
    sampler = SimpleNamespace(used_ids=[set(), {1, 2, 3}, set(range(50)), {4}])
    config = {"repeatable": repeatable}
    data = SimpleNamespace(_dataset=dataset, _sampler=sampler, config=config)
    assert plugin.n_items(data) == n_items


@pytest.fixture
def metric_and_trainer(plugin):
    metric = plugin.Exact(settings())
    return metric, SimpleNamespace(evaluator=SimpleNamespace(metric_class={"exact": metric}))


def test_ranks_before_the_evaluation_are_refused(plugin, metric_and_trainer):
    _, trainer = metric_and_trainer
    with pytest.raises(sm.InputError, match="evaluate"):
        plugin.ranks_of(trainer)


def test_ranks_of_trainer(plugin, metric_and_trainer):
    metric, trainer = metric_and_trainer
    metric.calculate_metric(collected([1, 2], n_candidates=90))
    assert plugin.ranks_of(trainer).n_better.tolist() == [0, 1]

"""Numbers that no recommender has, or that are of something else, are asked about."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics.ranks.data import as_ranks
from tests.conftest import ROOT
from tests.helpers.caught_warnings import full_messages

USERS, N, M = 400, 1577, 100
RNG = np.random.default_rng(8)
TRUE = np.ceil(N * RNG.beta(0.35, 4, USERS)).astype(int)
SAMPLED = 1 + RNG.hypergeometric(TRUE - 1, N - TRUE, M)
AMONG = RNG.normal([2] + M * [0], size=(USERS, 1 + M))
FULL = {"n_items": N}


def asked(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    assert result.notes == full_messages(caught)
    return " ".join(result.notes)


def forms(name, ranks, folder):
    frame = pd.DataFrame({name: ranks})
    frame.to_csv(folder / "r.csv", index=False)
    frame.to_parquet(folder / "r.parquet")
    return (
        ranks,
        frame,
        folder / "r.csv",
        folder / "r.parquet",
        {name: ranks.tolist()},
    )


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        (TRUE, None),
        (np.ones(USERS, int), "above all of their other candidates"),
        (np.minimum(TRUE, 101), "the largest rank is 101 of 1,577"),
        (np.where(TRUE > 300, N, TRUE), None),  # not found is last
        (SAMPLED, "the largest rank is"),
        (N + 1 - TRUE, "are higher scores better"),
        (np.sort(TRUE), None),
    ],
)
def test_exact_ranks(ranks, words, tmp_path):
    for data in forms("rank", ranks, tmp_path):
        found = asked(lambda: sm.evaluate(data, "recall@10", **FULL))  # noqa: B023
        assert words in found if words else not found


@pytest.mark.parametrize(("ranks", "is_asked"), [(TRUE, False), (N + 1 - TRUE, True)])
def test_every_result_of_the_same_ranks_keeps_what_was_asked(ranks, is_asked):
    held = sm.Ranks(np.full(USERS, N), ranks - 1, np.zeros(USERS, int))
    found = [
        asked(lambda: sm.evaluate(held, metric))  # noqa: B023
        for metric in ("recall@10", "auc", "auc")
    ]
    assert found == [found[0]] * 3
    assert ("are higher scores better" in found[0]) == is_asked


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        (SAMPLED, None),
        (np.ones(USERS, int), "above all of their negatives"),
        (np.where(SAMPLED > 30, M + 1, SAMPLED), None),  # not found is last
        (M + 2 - SAMPLED, "are higher scores better"),
    ],
)
def test_sampled_ranks(ranks, words, tmp_path):
    for data in forms("sampled_rank", ranks, tmp_path):
        options = {"n_items": N, "n_negatives": M, "shape": "none"}
        call = lambda: sm.correct(data, "auc", "sampled", **options)  # noqa: B023, E731
        found = asked(call)
        assert words in found if words else not found


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        (AMONG, None),
        (np.maximum(AMONG, 0.0), None),  # after a rectifier
        (1 / (1 + np.exp(-AMONG)), None),
        ((1 / (1 + np.exp(-9 * AMONG - 9))).astype(np.float16), "of too few bits"),
        (AMONG.astype(np.float16), None),
    ],
)
def test_scores_of_held_out_items_and_negatives(scores, words):
    for data in (scores, scores.astype(float).tolist(), pd.DataFrame(scores)):
        options = {"n_items": N, "positive": 0, "shape": "none"}
        call = lambda: sm.correct(data, "auc", "sampled", **options)  # noqa: B023, E731
        found = asked(call)
        assert words in found if words else not found


def test_candidates_in_order_are_not_filled_up():
    """Many recommenders have a score for few items; the others come last."""
    negatives = -np.sort(-np.maximum(AMONG[:, 1:], 0), axis=1)
    rows = np.column_stack([AMONG[:, 0], negatives])
    assert not asked(lambda: sm.correct(rows, "auc", "sampled", positive=0, **FULL))


def test_ties_that_decide_a_metric_are_asked_about_with_both_ends():
    """1,000 of 1,577 items are tied with each held-out item, 5 are above it."""
    ranks = sm.Ranks(np.full(60, N), np.full(60, 5), np.full(60, 1000))
    found = asked(lambda: sm.evaluate(ranks, "recall@10, auc"))
    assert "60 of 60 relevant items have the score of others" in found
    assert "recall@10 0.00 to 1.00" in found
    assert f"auc {1 - 1005 / 1576:.3f} to {1 - 5 / 1576:.3f}" in found
    few = sm.Ranks(np.full(60, N), np.arange(60), np.repeat([0, 1000], 30))
    assert "ties" not in asked(lambda: sm.evaluate(few, "recall@10"))


def lists_of(scores, k=20):
    items = np.argsort(-scores, axis=1)[:, :k]
    users = np.repeat(np.arange(len(scores)), k)
    values = np.take_along_axis(scores, items, axis=1).ravel()
    return pd.DataFrame({"user_id": users, "item_id": items.ravel(), "score": values})


def test_ranks_and_scores_that_contradict_each_other():
    lists = lists_of(RNG.normal(size=(30, 50)))
    relevant = {user: [0] for user in range(30)}
    place = np.tile(np.arange(1, 21), 30)
    for score, asks in (
        (lists["score"], 0),
        (-lists["score"], 0),
        (lists["score"][::-1], 1),
    ):
        data = lists.assign(rank=place, score=np.asarray(score))
        data.loc[::3, "score"] *= 1 - 3 * asks
        call = lambda: sm.evaluate(data, "recall@10", relevant=relevant)  # noqa: B023, E731
        assert ("contradict" in asked(call)) == bool(asks)


def test_few_common_ids():
    lists = {user: list(range(20))[::-1] for user in range(30)}
    relevant = {user: [user % 20] for user in range(30)}
    seen = {user: [100 + user] for user in range(28, 400)}
    found = asked(lambda: sm.evaluate(lists, "recall@10", relevant=relevant))
    assert not found
    seen[29] = [19, *range(100, 200)]
    call = lambda: sm.evaluate(lists, "recall@10", relevant=relevant, seen=seen)  # noqa: E731
    assert "2 of 30" in asked(call)


@pytest.mark.parametrize("name", "XYZ")
def test_the_recommenders_of_the_paper_are_not_asked_about(name, recwarn):
    ranks = as_ranks(ROOT / f"results/reference/ranks/{name}.parquet")
    sm.evaluate(ranks, "recall@10, ap, auc")
    for m in (10, 100, 500):
        drawn = sm.draw_sampled_ranks(ranks, m, np.random.default_rng(m)).ravel()
        sm.correct(
            sm.SampledRanks(drawn, ranks.n_candidates, m),
            "auc",
            "sampled",
            shape="none",
        )
    assert not recwarn.list


class TestNotes:
    """Questions stay with results, in each form."""

    def test_of_each_recommender(self, recwarn):
        data = {"good": AMONG, "bad": -AMONG}
        options = {"n_items": N, "positive": 0, "shape": "none"}
        found = sm.compare(data, "auc", "sampled", **options)
        assert full_messages(recwarn) == found.notes
        (note,) = found.notes
        assert note.startswith("bad, positive: held-out items are above")
        assert f"warning: {note}" in str(found).replace("\n  ", " ")

    @pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
    def test_of_commands(self, run, tmp_path):
        for name, ranks in (("good", TRUE), ("bad", N + 1 - TRUE)):
            pd.DataFrame({"rank": ranks}).to_csv(
                tmp_path / f"{name}.csv", index=False
            )
        files = (tmp_path / "good.csv", tmp_path / "bad.csv")
        options = ("--n-items", N, "--metric", "auc")
        done = run("evaluate", *files, *options, "--format", "json")
        of_good, of_bad = json.loads(done.stdout)
        assert of_good["notes"] == []
        (note,) = of_bad["notes"]
        assert note.startswith(f"{files[1]}, relevant: ")
        assert done.stderr.strip() == note
        assert note in run("evaluate", *files, *options, "--format", "csv").stdout
        table = " ".join(run("evaluate", *files, *options).stdout.split())
        assert "warning: " in table
        (row,) = json.loads(
            run("compare", *files, *options, "--format", "json").stdout
        )
        assert [note.partition(":")[0] for note in row["notes"]] == ["bad, relevant"]

    @pytest.mark.long
    @pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
    def test_of_pages(self, tmp_path):
        options = {"n_items": N, "positive": 0}
        pages = {}
        for name, b in (("open", -AMONG), ("none", AMONG[::-1])):
            sm.report({"A": AMONG, "B": b}, tmp_path / "p.html", **options)
            pages[name] = (tmp_path / "p.html").read_text()
        assert "This sample" not in pages["open"]
        assert "B, positive: held-out items are above" in pages["open"]
        assert pages["open"].index("B, positive:") < pages["open"].index("<h1")
        assert "This sample" in pages["none"]
        assert "Questions about the data" not in pages["none"]
        full = {}
        for name, of_a in (("open", N + 1 - TRUE), ("none", TRUE)):
            for others in ({}, {"B": SAMPLED}):
                sm.report({"A": of_a, **others}, tmp_path / "p.html", n_items=N)
                page = (tmp_path / "p.html").read_text()
                full[name, len(others)] = page.split("<h1")[1].split("</h1>")[0]
        sm.report(
            {"A": TRUE, "B": np.sort(TRUE) + 1}, tmp_path / "p.html", n_items=N + 1
        )
        assert "questions above" not in (tmp_path / "p.html").read_text()
        assert "questions above" not in full["none", 0]
        assert all("questions above" in full["open", n] for n in (0, 1))
        sm.report({"A": N + 1 - TRUE}, tmp_path / "p.html", n_items=N)
        assert (
            "A, relevant: held-out items are above"
            in (tmp_path / "p.html").read_text()
        )

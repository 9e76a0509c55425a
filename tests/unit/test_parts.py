"""Large files of ranks, read in parts, give what `evaluate` gives of all rows at once."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics.evaluation import evaluate as evaluating
from sampled_metrics.ranks import parts

pytestmark = pytest.mark.filterwarnings("ignore:.*ranks.parquet")
METRICS = "hr@10, ndcg@10, ap, auc, precision@3, rr"
ROWS, ITEMS = 5000, 400
RNG = np.random.default_rng(2)
BETTER = (RNG.pareto(0.4, ROWS) * 10 % (ITEMS - 50)).astype(int)
TIED = RNG.integers(0, 9, ROWS) * (RNG.random(ROWS) < 0.3)
CANDIDATES = ITEMS - RNG.integers(0, 20, ROWS)
COUNTS = pd.DataFrame(
    {"n_candidates": CANDIDATES, "n_better": BETTER, "n_tied": TIED}
)
RANKS = pd.DataFrame({"rank": BETTER + 1})
SHUFFLED = RNG.permutation(ROWS) * 3


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(parts, "LARGE", 1000)
    monkeypatch.setattr(parts, "ROWS", 700)
    monkeypatch.setattr(parts, "IDS", 900)


def written(tmp_path, frame, group=1234):
    path = tmp_path / "ranks.parquet"
    frame.to_parquet(path, row_group_size=group, index=False)
    return path


def evaluated(path, monkeypatch, at_once, **options):
    with monkeypatch.context() as patch:
        if at_once:
            patch.setattr(parts, "LARGE", 10**9)
        return sm.evaluate(path, METRICS, **options)


FRAMES = {
    "counts": (COUNTS, {}),
    "ranks": (RANKS, {"n_items": ITEMS}),
    "ranks of candidates": (RANKS.assign(n_candidates=CANDIDATES), {}),
}
IDS = {
    "none": None,
    "ascending": np.arange(ROWS) * 2,
    "shuffled": SHUFFLED,
    "text": [f"u{user}" for user in SHUFFLED],
}


TIES = ("expected", "random", "optimistic", "pessimistic")
SETTINGS = [
    (group, ids, TIES[(i + j) % 4])
    for i, group in enumerate([100, 1234, ROWS])
    for j, ids in enumerate(IDS)
]


@pytest.mark.parametrize(("group", "ids", "ties"), SETTINGS)
@pytest.mark.parametrize("frame", FRAMES)
def test_parts_are_averaged_as_the_whole(
    tmp_path, monkeypatch, frame, ids, ties, group
):
    table, options = FRAMES[frame]
    if IDS[ids] is not None:
        table = table.assign(user_id=IDS[ids])
    path = written(tmp_path, table, group)
    assert parts.RankFile.of(path) is not None
    found = evaluated(path, monkeypatch, False, ties=ties, **options)
    expected = evaluated(path, monkeypatch, True, ties=ties, **options)
    assert len(found) == len(expected) == 6
    for mine, theirs in zip(found, expected, strict=True):
        assert (mine.metric, mine.ties) == (theirs.metric, theirs.ties)
        numbers = [dataclasses.astuple(each)[2:] for each in (mine, theirs)]
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-12)


@pytest.mark.parametrize(
    "frame",
    [
        COUNTS.assign(
            user_id=np.append(SHUFFLED[:-1], SHUFFLED[0])
        ),  # far from each other
        COUNTS.assign(user_id=np.arange(ROWS) // 2),
        COUNTS.assign(user_id=[f"u{row // 2}" for row in range(ROWS)]),
        COUNTS.assign(relevance=1.0),
    ],
)
def test_other_files_are_read_at_once(tmp_path, monkeypatch, frame):
    frame = frame.assign(n_candidates=ITEMS)
    if "user_id" in frame:
        frame = frame.assign(n_better=frame.groupby("user_id").cumcount(), n_tied=0)
    path = written(tmp_path, frame)
    assert parts.RankFile.of(path) is None
    found = evaluated(path, monkeypatch, False)
    assert found[0].n_users == (
        frame.user_id.nunique() if "user_id" in frame else ROWS
    )


@pytest.mark.parametrize("row", [0, 699, 700, 4999])
def test_errors_name_the_row_of_the_file(tmp_path, row):
    frame = COUNTS.copy()
    frame.loc[row, "n_better"] = ITEMS
    with pytest.raises(
        sm.InputError, match=f"ranks.parquet, row {row + 1}, column n_better"
    ):
        sm.evaluate(written(tmp_path, frame), METRICS)
    with pytest.raises(sm.InputError, match="n_items"):
        sm.evaluate(written(tmp_path, RANKS), METRICS)
    with pytest.raises(sm.InputError, match="--relevant"):
        sm.evaluate(written(tmp_path, COUNTS), METRICS, relevant={1: [2]})


def test_missing_ids_are_refused(tmp_path):
    ids = pd.array(np.arange(ROWS), dtype="Int64")
    ids[4321] = pd.NA
    with pytest.raises(sm.InputError, match="row 4322, column user_id"):
        sm.evaluate(written(tmp_path, COUNTS.assign(user_id=ids)), METRICS)


@pytest.mark.parametrize("step", [1, 4])
def test_questions_are_about_rows_of_the_whole_file(tmp_path, monkeypatch, step):
    monkeypatch.setattr(evaluating, "ROWS_QUESTIONED", ROWS // step)
    in_random_order = pd.DataFrame(
        {"rank": np.sort(RNG.integers(1, ITEMS + 1, ROWS))}
    )
    place = "ranks.parquet, 1 of 4 rows" if step > 1 else "ranks.parquet, relevant"
    with pytest.warns(sm.InputWarning, match=f"{place}.*held-out items are above"):
        sm.evaluate(written(tmp_path, in_random_order), METRICS, n_items=ITEMS)
    sampled = pd.DataFrame({"rank": BETTER % 50 + 1, "n_candidates": 101})
    with pytest.warns(sm.InputWarning, match=f"all {ROWS // step:,} users have 101"):
        sm.evaluate(written(tmp_path, sampled), METRICS)

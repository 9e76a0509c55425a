"""Names of columns that the caller gives by role, in every function that reads tables."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics.inputs.roles import ROLES
from tests.helpers.results import value_of

LISTS = pd.DataFrame(
    {
        "who": [1, 1, 1, 2, 2, 2],
        "code": [7, 8, 9, 9, 8, 7],
        "strength": [3.0, 2.0, 1.0, 5.0, 4.0, 3.0],
    }
)
TEST = pd.DataFrame({"who": [1, 2], "code": [8, 9]})  # at ranks 2 and 1
NAMES = {"user": "who", "item": "code", "score": "strength"}
IDS = {"user": "who", "item": "code"}
PAIRS = LISTS.assign(truth=[0, 1, 0, 1, 0, 0])
SEEN = pd.DataFrame({"who": [1, 2], "code": [9, 7]})
RANKS = pd.DataFrame({"who": [1, 2], "place": [2, 1]})
OF_RANKS = {"user": "who", "rank": "place"}
OF_PAIRS = {**NAMES, "label": "truth"}
MINUTE = pd.DataFrame({"who": [1, 2], "place": [2, 1], "draws": 5, "all": 90})
OF_SAMPLES = {
    "user": "who",
    "sampled_rank": "place",
    "n_negatives": "draws",
    "n_candidates": "all",
}
RATED = pd.DataFrame({"who": [1, 2], "code": [7, 8], "stars": [5.0, 3.0]})
GUESSED = pd.DataFrame({"who": [2, 1], "code": [8, 7], "guess": [2.0, 3.0]})


def answer(call):
    """Call without warnings, which such small data has."""
    with warnings.catch_warnings(action="ignore"):
        return call()


CALLS = {
    "evaluate lists": lambda: value_of(
        sm.evaluate(LISTS, "rr", relevant=TEST, columns=NAMES)
    ),
    "evaluate pairs": lambda: value_of(
        sm.evaluate(PAIRS, "rr", complete=True, columns=OF_PAIRS)
    ),
    "evaluate ranks": lambda: value_of(
        sm.evaluate(RANKS, "rr", n_items=9, columns=OF_RANKS)
    ),
    "a dictionary of columns": lambda: value_of(
        sm.evaluate(
            {name: LISTS[name].tolist() for name in LISTS},
            "rr",
            relevant=TEST,
            columns=NAMES,
        )
    ),
    "beside scores": lambda: value_of(
        sm.evaluate(
            [[3.0, 9.0, 1.0], [1.0, 2.0, 3.0]],
            "rr",
            relevant=pd.DataFrame({"who": [0, 1], "code": [0, 2]}),
            columns=IDS,
        )
    ),
    "values_by_user": lambda: (
        sm.values_by_user(LISTS, "rr", relevant=TEST, columns=NAMES)["rr"].mean()
    ),
    "from_lists": lambda: value_of(
        sm.evaluate(sm.Ranks.from_lists(LISTS, TEST, columns=NAMES), "rr")
    ),
    "from_pairs": lambda: value_of(
        sm.evaluate(sm.Ranks.from_pairs(PAIRS, columns=OF_PAIRS), "rr")
    ),
    "from_table": lambda: value_of(
        sm.evaluate(sm.Ranks.from_table(RANKS, 9, columns=OF_RANKS), "rr")
    ),
    "from_ranks": lambda: value_of(
        sm.evaluate(sm.Ranks.from_ranks(RANKS, 9, columns=OF_RANKS), "rr")
    ),
    "from_top_k": lambda: value_of(
        sm.evaluate(
            sm.Ranks.from_top_k([[7, 8], [9, 8]], TEST, users=[1, 2], columns=IDS), "rr"
        )
    ),
    "rank": lambda: value_of(
        sm.evaluate(
            sm.rank(
                np.array([[3.0, 2.0, 1.0], [3.0, 4.0, 5.0]]),
                None,
                TEST,
                users=[1, 2],
                items=[7, 8, 9],
                columns=IDS,
            ),
            "rr",
        )
    ),
    "correct pairs": lambda: value_of(
        sm.correct(PAIRS, "recall@1", "sampled", n_items=50, columns=OF_PAIRS)
    )
    + 0.25,
    "correct samples": lambda: value_of(
        sm.correct(MINUTE, "hr@1", "sampled", columns=OF_SAMPLES)
    )
    + 0.25,
    "SampledRanks.from_pairs": lambda: (
        1
        / sm.SampledRanks.from_pairs(PAIRS, n_items=50, columns=OF_PAIRS).sampled_ranks
    ).mean(),
    "SampledRanks.from_table": lambda: (
        1 / sm.SampledRanks.from_table(MINUTE, columns=OF_SAMPLES).sampled_ranks
    ).mean(),
    "compare": lambda: (
        sm.compare(
            {"A": LISTS, "B": LISTS.assign(strength=-LISTS["strength"])},
            "rr",
            relevant=TEST,
            columns=NAMES,
        )[0].value_a
    ),
    "plan": lambda: (
        0.25
        + sm.plan(
            RANKS, RANKS, "hr@1", n_items=9, sizes=[5], columns=OF_RANKS
        )[0].exact_a
    ),
    "rmse": lambda: (
        sm.rmse(RATED, GUESSED, columns={**IDS, "rating": "stars", "prediction": "guess"})
        ** 2
        * 0.3
    ),
    "mae": lambda: (
        sm.mae(RATED, GUESSED, columns={**IDS, "rating": "stars", "prediction": "guess"})
        / 2
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_columns_have_the_roles_that_are_given(name):
    assert answer(CALLS[name]) == pytest.approx(0.75)


def test_negatives():
    seen = pd.DataFrame({"who": [1, 2], "code": [7, 8]})
    drawn = sm.negatives(TEST, seen, 1, columns=IDS)
    checks = sm.check_negatives(
        drawn.rename(columns={"user_id": "who", "item_id": "code"}),
        TEST,
        seen,
        columns=IDS,
    )
    assert checks[0].passed


def test_a_budget():
    scores = pd.DataFrame([[3.0, 2.0, 1.0], [3.0, 4.0, 5.0]], [1, 2], [7, 8, 9])
    found = sm.evaluate_on_budget(
        scores, "hr@1", relevant=TEST, seen=SEEN, columns=IDS, budget=2
    )
    assert found.estimates[0][0].value == 0.5


def test_a_page(tmp_path):
    sm.report({"mine": RANKS}, tmp_path / "page.html", n_items=9, columns=OF_RANKS)
    assert (tmp_path / "page.html").exists()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_commands(suffix, tmp_path):
    for name, table in (("lists", LISTS), ("test", TEST)):
        path = tmp_path / f"{name}.{suffix}"
        table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path)
    given = [f"--column={role}={name}" for role, name in NAMES.items()]
    run = subprocess.run(
        [
            *(sys.executable, "-m", "sampled_metrics", "evaluate", f"lists.{suffix}"),
            *("--relevant", f"test.{suffix}", "--metric", "rr", "--format", "csv"),
            *given,
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ",0.75," in run.stdout
    run = subprocess.run(
        [*run.args[:-1], "--column=score"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 2
    assert "item=docno" in run.stderr


def test_known_names_of_other_columns_are_left():
    """The name that is given counts, also beside one that is known."""
    lists = LISTS.assign(item_id=range(6), score=-1.0)
    assert value_of(sm.evaluate(lists, "rr", relevant=TEST, columns=NAMES)) == 0.75
    # and a role that some table has under a known name
    test = TEST.rename(columns={"who": "user_id", "code": "asin"})
    assert value_of(sm.evaluate(LISTS, "rr", relevant=test, columns=NAMES)) == 0.75


def test_unknown_roles_and_names_are_refused():
    def evaluate(columns):
        return sm.evaluate(LISTS, "rr", relevant=TEST, columns=columns)

    with pytest.raises(sm.InputError, match=r"'thing'.*user, item"):
        evaluate({"thing": "code"})
    with pytest.raises(sm.InputError, match=r"'docno'.*who, code, strength"):
        evaluate({**NAMES, "label": "docno"})
    with pytest.raises(sm.InputError, match="two roles"):
        evaluate({**NAMES, "rank": "code"})
    for columns in ("item=code", [("item", "code")], {"item": 3}, {3: "code"}):
        with pytest.raises(sm.InputError, match="columns"):
            evaluate(columns)
    # which leave no trace
    with pytest.raises(sm.InputError, match="who"):
        sm.evaluate(LISTS, "rr", relevant=TEST)


def test_missing_roles_are_named_together():
    for test in (TEST, TEST.assign(title="x")):
        with pytest.raises(
            sm.InputError, match=r"relevant.*user_id and item_id|relevant.*who, code"
        ):
            sm.evaluate({1: [7]}, "rr", relevant=test)
    with pytest.raises(sm.InputError, match=r"--column item=NAME"):
        sm.evaluate({1: [7]}, "rr", relevant=TEST.rename(columns={"who": "user_id"}))


def test_visits_have_names_too():
    lists = LISTS.assign(who=1, when=LISTS["who"])
    test = TEST.assign(who=1, when=TEST["who"])
    names = {**NAMES, "visit": "when"}
    (found,) = sm.evaluate(lists, "rr", relevant=test, columns=names)
    assert (found.value, found.n_users, found.n_visits) == (0.75, 1, 2)


def test_all_roles_can_be_named():
    for role in ROLES.keys() - {"rank"}:
        with pytest.raises(sm.InputError, match="'absent'"):
            sm.evaluate(RANKS, "rr", n_items=9, columns={**OF_RANKS, role: "absent"})

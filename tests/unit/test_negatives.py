"""Negatives that are drawn, and tests of negatives that somebody else drew."""

import json
from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.stats import chisquare

from sampled_metrics import InputError
from sampled_metrics.sampling.negatives import draw_negatives
from sampled_metrics.sampling.soundness import Drawn, check_negatives

USERS, ITEMS, M = 300, 200, 12


def interactions(seed: int = 3) -> tuple[csr_array, csr_array]:
    """Seen and held-out items: popular ones have low numbers."""
    rng = np.random.default_rng(seed)
    seen = rng.random((USERS, ITEMS)) < 0.3 / (1 + 0.05 * np.arange(ITEMS))
    held_out = np.zeros((USERS, ITEMS), dtype=bool)
    for user in range(USERS):
        held_out[user, rng.choice(np.flatnonzero(~seen[user]))] = True
    return csr_array(seen), csr_array(held_out)


def checked(items: np.ndarray, seed: int = 3) -> dict[str, tuple[bool, float, float]]:
    seen, held_out = interactions(seed)
    user = np.repeat(np.arange(USERS), items.shape[1])
    checks = check_negatives(Drawn(user, items.ravel(), seen, held_out))
    return {check.name: (check.passed, check.found, check.p_value) for check in checks}


def failed(items: np.ndarray) -> set[str]:
    return {name for name, (passed, *_) in checked(items).items() if not passed}


def uniform(seed: int = 0, m: int = M) -> np.ndarray:
    seen, held_out = interactions()
    return draw_negatives(seen + held_out, m, seed=seed)


def test_every_set_of_candidates_is_drawn_as_often():
    # Items 0 and 5 are excluded; of 1, 2, 3, 4 three are drawn.
    excluded = np.array([[1, 1, 0, 0, 0, 1], [1, 0, 0, 0, 0, 1]])
    drawn = [draw_negatives(csr_array(excluded), 3, seed=seed)[1] for seed in range(800)]
    sets = Counter(tuple(sorted(items)) for items in drawn)
    assert set(sets) == set(combinations([1, 2, 3, 4], 3))
    assert chisquare(list(sets.values())).pvalue > 1e-3


def test_strata_take_as_many_from_each_group_of_popularity():
    seen, held_out = interactions()
    excluded = (seen + held_out).toarray() > 0
    drawn = draw_negatives(csr_array(excluded), 10, strata=5)
    order = np.argsort(excluded.sum(0), kind="stable")
    for user, items in enumerate(drawn):
        candidates = [item for item in order if not excluded[user, item]]
        place = np.array([candidates.index(item) for item in items])
        section = np.searchsorted(np.arange(1, 5) * len(candidates) // 5, place, side="right")
        assert abs(np.bincount(section, minlength=5) - 2).max() <= 1


def test_negatives_of_a_user_depend_on_no_other_user():
    seen, held_out = interactions()
    excluded = csr_array(seen + held_out)
    first = draw_negatives(excluded[:10], M, seed=5)
    assert (draw_negatives(excluded, M, seed=5)[:10] == first).all()
    assert (draw_negatives(excluded, M, seed=6)[:10] != first).any()


def test_too_few_candidates_are_refused():
    with pytest.raises(InputError, match="user 1 has 1 candidates"):
        draw_negatives(csr_array(np.array([[1, 0, 0], [1, 0, 1]])), 2)


@pytest.mark.parametrize("seed", range(4))
def test_uniform_negatives_pass(seed):
    assert failed(uniform(seed)) == set()


def test_p_values_of_uniform_negatives_are_uniform():
    """At a level of 10 %, 16 data sets fail 0 to 6 times with a probability of 99.9 %."""
    found = [checked(uniform(seed)) for seed in range(16)]
    for name in ("uniformity", "ids", "popularity"):
        assert sum(each[name][2] < 0.1 for each in found) <= 6, name
    adjusted = [
        min(each[name][2] for name in ("uniformity", "ids", "popularity")) for each in found
    ]
    assert np.median(adjusted) > 0.2


def test_with_replacement_from_all_items_is_told_from_without():
    items = np.random.default_rng(0).integers(ITEMS, size=(USERS, M))
    assert failed(items) == {"held-out item", "seen items", "duplicates"}


def test_the_first_of_sorted_draws_prefer_low_ids():
    rng = np.random.default_rng(0)
    items = np.stack([np.unique(row)[:M] for row in rng.integers(ITEMS, size=(USERS, 2 * M))])
    assert {"uniformity", "ids"} <= failed(items)


def test_popular_negatives_are_found():
    seen, _ = interactions()
    rng = np.random.default_rng(0)
    weight = seen.sum(axis=0) + 1.0
    items = rng.choice(ITEMS, size=(USERS, M), p=weight / weight.sum())
    assert {"uniformity", "popularity"} <= failed(items)


def test_sets_shared_by_all_users_are_found():
    items = np.tile(np.arange(M), (USERS, 1))
    assert "shared" in failed(items)


def test_one_held_out_item_and_one_missing_negative_are_counted():
    _, held_out = interactions()
    items = uniform()
    items[7, 3] = held_out.indices[7]
    assert checked(items)["held-out item"][:2] == (False, 1)
    seen, held_out = interactions()
    user = np.repeat(np.arange(USERS), M)[1:]
    checks = check_negatives(Drawn(user, uniform().ravel()[1:], seen, held_out))
    assert {check.name: check.found for check in checks}["number"] == 1


def test_chi_square_is_pearsons_where_nothing_is_excluded():
    """Draws with replacement of users who have seen nothing: scipy's chi-square of the counts."""
    nothing = csr_array((USERS, ITEMS))
    items = np.random.default_rng(1).integers(ITEMS, size=(USERS, M))
    user = np.repeat(np.arange(USERS), M)
    checks = check_negatives(Drawn(user, items.ravel(), nothing, nothing))
    found = {check.name: check.found for check in checks}["uniformity"]
    assert found == pytest.approx(chisquare(np.bincount(items.ravel(), minlength=ITEMS)).statistic)


def test_all_candidates_as_negatives_pass():
    nothing = csr_array((4, 6))
    user, item = np.repeat(np.arange(4), 6), np.tile(np.arange(6), 4)
    assert all(check.passed for check in check_negatives(Drawn(user, item, nothing, nothing)))


class TestCommands:
    @pytest.fixture
    def folder(self, tmp_path, monkeypatch):
        """Files of pairs with text ids, of users and items of `interactions`."""
        monkeypatch.chdir(tmp_path)
        for name, marked in zip(("seen", "held"), interactions(), strict=True):
            user, item = marked.nonzero()
            table = pd.DataFrame({"user_id": user, "item_id": [f"i{number:03}" for number in item]})
            table.sample(frac=1.0, random_state=0).to_csv(f"{name}.csv", index=False)
        pd.DataFrame({"item_id": [f"i{number:03}" for number in range(ITEMS)]}).to_csv("items.csv")
        return tmp_path

    @pytest.fixture
    def command(self, run, folder):
        del folder
        files = ["--seen", "seen.csv", "--relevant", "held.csv", "--items", "items.csv"]

        def command(name, *arguments):
            done = run(name, *files, *arguments)
            return done.returncode, done.stdout, done.stderr

        return command

    def test_drawn_negatives_pass(self, command):
        status, text, _ = command("negatives", "--n-negatives", M, "--output", "drawn.csv")
        assert (status, text) == (0, "")
        drawn = pd.read_csv("drawn.csv")
        expected = uniform()
        assert drawn.user_id.tolist() == np.repeat(np.arange(USERS), M).tolist()
        assert [int(item[1:]) for item in drawn.item_id] == expected.ravel().tolist()
        status, text, _ = command("check-negatives", "drawn.csv", "--format", "json")
        checks = json.loads(text)
        assert status == 0
        assert all(check["passed"] and not check["remark"] for check in checks)
        assert {tuple(check) for check in checks} == {
            ("name", "passed", "found", "expected", "p_value", "remark")
        }

    def test_remarks_are_printed_below_the_table(self, command):
        held = pd.read_csv("held.csv")
        held.to_csv("drawn.csv", index=False)
        status, text, _ = command("check-negatives", "drawn.csv")
        assert status == 0
        assert "300 users have their held-out item" in text

    def test_unknown_user(self, command):
        pd.DataFrame({"user_id": [3, 999], "item_id": ["i001", "i002"]}).to_csv("drawn.csv")
        status, _, text = command("check-negatives", "drawn.csv")
        assert status == 2
        assert "drawn.csv, row 2 (line 3), column user_id: found 999" in text

    def test_items_seen_and_held_out(self, command):
        held = pd.read_csv("held.csv")
        pd.concat([pd.read_csv("seen.csv"), held[:1]]).to_csv("seen.csv")
        status, _, text = command("negatives", "--n-negatives", M)
        assert status == 2
        assert "is both seen and held out" in text

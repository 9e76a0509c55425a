"""Ranks by vectors in float32 match exact scores, on any number of threads."""

import operator
import threading
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm
from sampled_metrics.read import item_tiles, products

# Equal vectors are meant: ties are counted exactly.
pytestmark = pytest.mark.filterwarnings("ignore:.*equal another")

USERS, ITEMS, D = 70, 300, 9


def counts_by_float64(users, items, relevant, seen):
    """Count better and tied candidates of each relevant item by scores in float64, best first."""
    scores = np.einsum("uf,if->ui", users.astype(np.float64), items.astype(np.float64))
    results = []
    for user, item in zip(*np.nonzero(relevant), strict=True):
        others = ~seen[user]
        others[item] = False
        score = scores[user, item]
        row = scores[user, others]
        results.append((user, int((row > score).sum()), int((row == score).sum())))
    return [(better, tied) for _, better, tied in sorted(results)]


def counts_of_held_out(users, items, held_out):
    """Count better and tied candidates of one relevant item of each user by scores in float64."""
    relevant = np.equal.outer(held_out, np.arange(len(items)))
    return counts_by_float64(users, items, relevant, np.zeros_like(relevant))


def counts(ranks):
    return list(zip(ranks.n_better.tolist(), ranks.n_tied.tolist(), strict=True))


def vectors_with_ties(rng, kind):
    """Return vectors in which many items are equal, and many differ in the last bits only."""
    users = rng.normal(size=(USERS, D)).astype(kind)
    items = np.repeat(rng.normal(size=(ITEMS // 10, D)), 10, axis=0).astype(kind)
    steps = (rng.integers(-2, 3, items.shape) * (rng.random(items.shape) < 0.2)).astype(kind)
    items += steps * np.spacing(items)
    items[::10] = items[1::10]
    return users, items


SCALES = {
    "1": lambda _, rows: np.ones(rows),
    "1e-20": lambda _, rows: np.full(rows, 1e-20),
    "1e20": lambda _, rows: np.full(rows, 1e20),
    "smallest": lambda _, rows: np.full(rows, 2.0**-140),
    "mixed": lambda rng, rows: 10.0 ** rng.integers(-20, 21, rows),
    "two sizes": lambda rng, rows: np.where(rng.random(rows) < 0.5, 1e-20, 1e20),
}


@pytest.fixture(params=[(512, 1024), (16, 37)], ids=["one tile", "many tiles"])
def _tiles(request, monkeypatch):
    users, items = request.param
    monkeypatch.setattr(products, "TILE_ITEMS", items)
    monkeypatch.setattr(products, "_TILES_BEFORE_SHARING", 1)
    monkeypatch.setattr(item_tiles, "FIRST_SORTED", items)
    monkeypatch.setattr("sampled_metrics.read.counting.USERS_AT_A_TIME", users)


@pytest.mark.usefixtures("_tiles")
@pytest.mark.parametrize("item_scale", SCALES)
@pytest.mark.parametrize("user_scale", SCALES)
def test_near_ties_in_float32_match_float64(user_scale, item_scale):
    """Each scale with one and with several relevant items; both with each number of tiles."""
    scales = list(SCALES)
    several = (scales.index(user_scale) + scales.index(item_scale)) % 2 == 1
    rng = np.random.default_rng(list(map(ord, user_scale + item_scale)))
    users, items = vectors_with_ties(rng, np.float32)
    users = (users * SCALES[user_scale](rng, USERS)[:, None]).astype(np.float32)
    scale_of_groups = np.repeat(SCALES[item_scale](rng, ITEMS // 10), 10)
    items = (items * scale_of_groups[:, None]).astype(np.float32)
    relevant = np.equal.outer(rng.integers(0, ITEMS, USERS), np.arange(ITEMS))
    if several:
        relevant |= rng.random(relevant.shape) < 0.01
    seen = (rng.random(relevant.shape) < 0.05) & ~relevant
    expected = counts_by_float64(users, items, relevant, seen)
    held_out = relevant if several else relevant.argmax(axis=1)
    ranks = sm.rank((users, items), csr_array(seen), held_out, n_jobs=3)
    assert counts(ranks) == expected
    assert max(ranks.n_tied) > 0
    ranks_of_float64 = sm.rank((users.astype(float), items.astype(float)), seen, held_out)
    assert counts(ranks_of_float64) == expected


@pytest.mark.parametrize("n_items", [4096, 5000])
def test_ranks_in_wide_tiles_match_float64(n_items, monkeypatch):
    """Large catalogues have tiles of 4,096 items; the last one may have fewer."""
    monkeypatch.setattr(products, "MAX_TILES", 1)
    monkeypatch.setattr(item_tiles, "FIRST_TILE", 4096)
    rng = np.random.default_rng(11)
    users = rng.integers(-2, 3, (50, D)).astype(np.float32)
    items = rng.integers(-2, 3, (n_items, D)).astype(np.float32)
    held_out = rng.integers(0, n_items, 50)
    ranks = sm.rank((users, items), None, held_out)
    assert counts(ranks) == counts_of_held_out(users, items, held_out)


@pytest.mark.usefixtures("_tiles")
def test_vectors_of_mixed_scale_match_float64():
    """The numbers of one vector differ by large factors."""
    rng = np.random.default_rng(3)
    users, items = vectors_with_ties(rng, np.float32)
    users = (users * 10.0 ** rng.integers(-18, 19, users.shape)).astype(np.float32)
    items = (items * 10.0 ** rng.integers(-18, 19, items.shape)).astype(np.float32)
    items[50:90] = items[:40]
    held_out = rng.integers(0, 100, USERS)
    ranks = sm.rank((users, items), None, held_out)
    assert counts(ranks) == counts_of_held_out(users, items, held_out)


@pytest.mark.parametrize("seed", range(3))
def test_whole_numbers_in_float32_match_exact_arithmetic(seed):
    """The sums need up to 46 bits: a product in float32 has 24."""
    rng = np.random.default_rng(seed)
    users = (2**20 + rng.integers(0, 9, (12, 8))).astype(np.float32)
    items = (2**20 + rng.integers(0, 9, (90, 8))).astype(np.float32)
    items[60:] = rng.permuted(items[30:60], axis=1)
    held_out = rng.integers(0, 90, 12)
    ranks = sm.rank((users, items), None, held_out)
    exact = [
        [sum(map(operator.mul, map(Fraction, u), map(Fraction, v))) for v in items.tolist()]
        for u in users.tolist()
    ]
    expected = []
    for row, item in zip(exact, held_out, strict=True):
        expected.append((sum(x > row[item] for x in row), sum(x == row[item] for x in row) - 1))
    assert counts(ranks) == expected
    plain = users @ items.T
    score = plain[np.arange(12), held_out][:, None]
    assert (plain > score).sum(axis=1).tolist() != ranks.n_better.tolist()


def test_float16_is_exact():
    rng = np.random.default_rng(7)
    users, items = (part.astype(np.float16) for part in vectors_with_ties(rng, np.float32))
    held_out = rng.integers(0, ITEMS, USERS)
    ranks = sm.rank((users, items), None, held_out)
    assert counts(ranks) == counts_of_held_out(users, items, held_out)


def test_bfloat16_is_exact():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    rng = np.random.default_rng(8)
    users, items = (part.astype(bfloat16) for part in vectors_with_ties(rng, np.float32))
    held_out = rng.integers(0, ITEMS, USERS)
    expected = counts_of_held_out(users, items, held_out)
    assert counts(sm.rank((users, items), None, held_out)) == expected
    torch = pytest.importorskip("torch")
    tensors = tuple(
        torch.from_numpy(part.astype(np.float32)).to(torch.bfloat16) for part in (users, items)
    )
    assert counts(sm.rank(tensors, None, held_out)) == expected


FORMS = {
    "float32": lambda users, items: (users, items),
    "float64": lambda users, items: (users.astype(float), items.astype(float)),
    "function": lambda users, items: lambda rows: users[rows] @ items.T,
    "matrix": lambda users, items: users @ items.T,
    "sparse": lambda users, items: csr_array(users @ items.T),
}


@pytest.mark.parametrize("several", [False, True], ids=["one item", "several items"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_jobs", [2, 4, -1])
def test_threads_do_not_matter(form, several, n_jobs):
    """1,300 users in blocks of 200."""
    rng = np.random.default_rng(1)
    users = rng.integers(-4, 5, (1300, D)).astype(np.float32)
    items = rng.integers(-4, 5, (ITEMS, D)).astype(np.float32)
    relevant = rng.random((1300, ITEMS)) < 0.02 if several else rng.integers(0, ITEMS, 1300)
    data = FORMS[form](users, items)
    one, several_threads = (
        counts(sm.rank(data, None, relevant, n_jobs=threads, block_size=200))
        for threads in (1, n_jobs)
    )
    assert several_threads == one


def test_function_is_called_in_one_thread_in_order():
    threads, rows = set(), []

    def score(users):
        threads.add(threading.get_ident())
        rows.extend(users.tolist())
        return np.ones((users.size, 5))

    sm.rank(score, None, np.zeros(1000, int), n_jobs=4, block_size=64)
    assert threads == {threading.get_ident()}
    assert rows == [0, *range(1000)]


def test_error_in_a_thread_is_raised():
    scores = np.ones((1000, 5))
    scores[700, 3] = np.nan
    vectors = np.ones((1000, 2), np.float32), np.ones((5, 2), np.float32)
    seen = np.zeros((1000, 5), bool)
    seen[900, 0] = True
    for data, seen_items, options, message in (
        (scores, None, {"n_jobs": 4}, "item 3"),
        (vectors, seen, {"n_jobs": 4}, "item 0"),
        (vectors, None, {"n_jobs": 0}, "n_jobs"),
        (vectors, None, {"items": list("abcd")}, "items"),
    ):
        with pytest.raises(sm.InputError, match=message):
            sm.rank(data, seen_items, np.zeros(1000, int), **options)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("n_items", [1024, 1500])
def test_equal_items_are_tied(n_items, kind):
    """All items are equal, over several tiles, or every second one."""
    users = np.random.default_rng(2).normal(size=(50, D)).astype(kind)
    items = np.full((n_items, D), 0.3, kind)
    ranks = sm.rank((users, items), None, np.arange(50))
    assert counts(ranks) == [(0, n_items - 1)] * 50
    items[::2] = np.arange(n_items // 2)[:, None] % 7 - 3.0
    ranks = sm.rank((users, items), None, np.arange(50))
    assert counts(ranks) == counts_of_held_out(users, items, np.arange(50))


@pytest.mark.parametrize("share", [0.02, 0.2, 0.5, 1.0])
@pytest.mark.parametrize("several", [False, True])
def test_many_close_items_match_float64(share, several):
    """Few items near a tie are compared one by one; many are compared by rows of a tile."""
    rng = np.random.default_rng(11)
    users, items = vectors_with_ties(rng, np.float32)
    alike = rng.random(ITEMS) < share
    items[alike] = items[0]
    items[alike, 0] += (rng.integers(-1, 2, alike.sum()) * np.spacing(items[0, 0])).astype("f4")
    relevant = np.equal.outer(rng.choice(np.flatnonzero(alike), USERS), np.arange(ITEMS))
    if several:
        relevant |= rng.random(relevant.shape) < 0.02
    seen = (rng.random(relevant.shape) < 0.05) & ~relevant
    expected = counts_by_float64(users, items, relevant, seen)
    ranks = sm.rank((users, items), seen, relevant if several else relevant.argmax(axis=1))
    assert counts(ranks) == expected
    assert max(ranks.n_tied) > share * ITEMS / 6


@pytest.mark.parametrize("form", FORMS)
def test_item_seen_twice_counts_once(form):
    rng = np.random.default_rng(6)
    users = rng.integers(-4, 5, (30, D)).astype(np.float32)
    items = rng.integers(-4, 5, (ITEMS, D)).astype(np.float32)
    pairs = np.array([[user, item] for user in range(30) for item in (3, 8, 20)])
    once = pd.DataFrame(pairs, columns=["user_id", "item_id"])
    data = FORMS[form](users, items)
    ranks = [
        sm.rank(data, seen, np.arange(30) % 3)
        for seen in (once, pd.concat([once, once.sample(40)]))
    ]
    assert counts(ranks[0]) == counts(ranks[1])
    assert ranks[1].n_candidates.tolist() == [ITEMS - 3] * 30

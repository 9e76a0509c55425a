"""Item vectors in several files give the ranks of all items at once."""

import numpy as np
import pytest

import sampled_metrics as sm

COUNTS = ("n_candidates", "n_better", "n_tied", "n_found", "n_relevant", "depth")
pytestmark = pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")


def write_parts(folder, vectors, ends):
    paths = []
    for part, rows in enumerate(np.split(vectors, ends)):
        paths.append(folder / f"{part}.npy")
        np.save(paths[-1], rows)
    return paths


def test_parts_by_hand(tmp_path):
    # scores of the user (1, 2): 1, 2, 3, 3 and 5; item 1 is below three others, item 2 is tied
    items = np.array([[1, 0], [0, 1], [1, 1], [3, 0], [1, 2]], np.float32)
    paths = write_parts(tmp_path, items, [2, 3])
    ranks = sm.rank(([[1.0, 2.0]], paths), None, [[1, 2]])
    assert ranks.n_better.tolist() == [1, 3]
    assert ranks.n_tied.tolist() == [1, 0]


@pytest.mark.parametrize("up_to", [None, 1, 7])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_parts_give_the_ranks_of_all_items(tmp_path, dtype, up_to):
    rng = np.random.default_rng(["float16", "float32", "float64"].index(dtype))
    users = rng.integers(-3, 4, (300, 5)).astype(dtype)  # with ties
    items = rng.integers(-3, 4, (170, 5)).astype(dtype)
    relevant = rng.random((300, 170)).argsort(axis=1)[:, :2].tolist()
    seen = (rng.random((300, 170)) < 0.2).astype(int)
    np.put_along_axis(seen, np.array(relevant), 0, axis=1)
    paths = write_parts(tmp_path, items, [1, 40, 160])
    expected = sm.rank((users, items), seen, relevant, up_to=up_to)
    for n_jobs in (1, 3):
        ranks = sm.rank((users, paths), seen, relevant, up_to=up_to, n_jobs=n_jobs)
        for name in COUNTS:
            assert getattr(ranks, name).tolist() == getattr(expected, name).tolist()


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (np.zeros((3, 4)), "shape"),
        (np.array(["a"]), "shape"),
        (np.full((3, 2), np.nan), "finite"),
        (np.full((3, 2), 1e300), "overflow"),
    ],
)
def test_wrong_parts_are_refused(tmp_path, part, message):
    paths = write_parts(tmp_path, np.eye(2), [])
    np.save(tmp_path / "wrong.npy", part)
    with pytest.raises(sm.InputError, match=message):
        sm.rank(([[1e300, 1.0]], [*paths, tmp_path / "wrong.npy"]), None, [0])

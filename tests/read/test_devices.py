"""Scores of other array libraries are counted on their device, with the results of numpy."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm
from sampled_metrics.read import comparisons, products

pytest.importorskip("array_api_compat")
pytestmark = pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
METRICS = "hr@3, ndcg@5, rr, auc"
RNG = np.random.default_rng(4)
USERS, ITEMS = 57, 80
SCORES = RNG.integers(-6, 7, (USERS, ITEMS)).astype(np.float32)  # with ties
HELD_OUT = RNG.integers(0, ITEMS, USERS)
ROWS = np.arange(USERS)
SEEN = RNG.random(SCORES.shape) < 0.1
SEEN[ROWS, HELD_OUT] = False
SCORES[RNG.random(SCORES.shape) < 0.1] = -np.inf
SCORES[ROWS, HELD_OUT] = RNG.integers(-6, 7, USERS)
SEVERAL = np.equal.outer(HELD_OUT, np.arange(ITEMS)) | ((RNG.random(SCORES.shape) < 0.05) & ~SEEN)
SEVERAL &= np.isfinite(SCORES)


def strict_array(values, kind="float32"):
    return pytest.importorskip("array_api_strict").asarray(values.astype(kind))


def torch_tensor(values, kind="float32"):
    torch = pytest.importorskip("torch")
    return torch.from_numpy(values).to(getattr(torch, kind))


def torch_with_gradients(values, kind="float32"):
    return torch_tensor(values, kind).requires_grad_()


LIBRARIES = {
    "strict": strict_array,
    "torch": torch_tensor,
    "gradients": torch_with_gradients,
}


@pytest.fixture(params=[1 << 26, 300], ids=["one block", "small blocks"])
def _on_device(request, monkeypatch):
    """Treat tensors of torch in main memory as tensors on a device."""
    monkeypatch.setattr(comparisons, "_DEVICE_ENTRIES", request.param)
    real = comparisons.keeps_own_library

    def keeps_own_library(scores):
        return real(scores) or type(scores).__module__.startswith("torch")

    for module in ("counting", "scores", "comparisons", "products"):
        monkeypatch.setattr(f"sampled_metrics.read.{module}.keeps_own_library", keeps_own_library)
    monkeypatch.setattr("sampled_metrics.evaluation.meter.keeps_own_library", keeps_own_library)


@pytest.fixture
def _small_tiles(monkeypatch):
    monkeypatch.setattr("sampled_metrics.read.item_tiles.FIRST_TILE", 4)
    monkeypatch.setattr("sampled_metrics.read.products.TILE_ON_DEVICE", 37)
    monkeypatch.setattr("sampled_metrics.read.counting.USERS_AT_A_TIME", 20)


def forbid_copies(monkeypatch):
    """Forbid copies of whole matrices to main memory."""
    real = comparisons.to_numpy

    def small(values):
        assert values.ndim == 1
        return real(values)

    monkeypatch.setattr(comparisons, "to_numpy", small)


def counts(ranks):
    return [
        ranks.n_candidates.tolist(),
        ranks.n_better.tolist(),
        ranks.n_tied.tolist(),
    ]


@pytest.mark.usefixtures("_on_device")
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("seen", [None, SEEN, csr_array(SEEN)], ids=["none", "bool", "sparse"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_ranks_match_numpy(monkeypatch, library, seen, several):
    forbid_copies(monkeypatch)
    relevant = SEVERAL if several else HELD_OUT
    expected = sm.rank(SCORES, seen, relevant)
    scores = LIBRARIES[library](SCORES)
    assert counts(sm.rank(scores, seen, relevant, block_size=20)) == counts(expected)
    ranks = sm.rank(lambda rows: comparisons.take_rows(scores, rows), seen, relevant)
    assert counts(ranks) == counts(expected)


@pytest.mark.usefixtures("_on_device")
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float64", "int32", "int64"])
def test_torch_types_match_numpy(kind):
    finite = np.where(np.isfinite(SCORES), SCORES, -9.0)
    expected = sm.rank(finite, SEEN, HELD_OUT)
    assert counts(sm.rank(torch_tensor(finite, kind), SEEN, HELD_OUT)) == counts(expected)


@pytest.mark.usefixtures("_on_device")
@pytest.mark.parametrize("library", LIBRARIES)
def test_meter_and_evaluate_match_numpy(library):
    scores = LIBRARIES[library](SCORES)
    expected = list(sm.evaluate(SCORES, METRICS, relevant=HELD_OUT))
    assert list(sm.evaluate(scores, METRICS, relevant=HELD_OUT)) == expected
    meter = sm.RankMeter(METRICS)
    for rows in (slice(0, 30), slice(30, USERS)):
        meter.update(scores[rows, :], positive=HELD_OUT[rows])
    assert list(meter.compute()) == expected
    finite = np.where(np.isfinite(SCORES), SCORES, -9.0)
    among = sm.RankMeter(METRICS, n_items=400)
    among.update(LIBRARIES[library](finite), positive=HELD_OUT)
    assert list(among.compute()) == list(
        sm.correct(finite, METRICS, positive=HELD_OUT, n_items=400)
    )


@pytest.mark.usefixtures("_on_device")
@pytest.mark.parametrize("library", LIBRARIES)
def test_rows_without_target_are_dropped_as_in_numpy(library):
    targets = np.where(np.arange(USERS) % 3 == 0, -100, HELD_OUT)
    has_target = targets >= 0
    scores = LIBRARIES[library](SCORES)
    expected = list(sm.evaluate(SCORES[has_target], METRICS, relevant=HELD_OUT[has_target]))
    forms = [targets, targets[:, None]]
    if library != "gradients":  # which whole numbers do not have
        forms.append(LIBRARIES[library](targets, "int64"))
    for positive in forms:
        meter = sm.RankMeter(METRICS)
        meter.update(scores, positive=positive)
        assert list(meter.compute()) == expected
        assert list(sm.evaluate(scores, METRICS, relevant=positive)) == expected


@pytest.mark.usefixtures("_on_device")
@pytest.mark.parametrize("library", LIBRARIES)
def test_wrong_scores_are_refused_as_in_numpy(library):
    with_nan, with_inf, unscored = SCORES.copy(), SCORES.copy(), SCORES.copy()
    with_nan[50, 3] = np.nan
    with_inf[50, 3] = np.inf
    unscored[9, HELD_OUT[9]] = -np.inf
    taken = SEEN.copy()
    taken[9, HELD_OUT[9]] = True
    for scores, seen in (
        (with_nan, SEEN),
        (with_inf, SEEN),
        (unscored, SEEN),
        (SCORES, taken),
    ):
        with pytest.raises(sm.InputError) as expected:
            sm.rank(scores, seen, HELD_OUT)
        with pytest.raises(sm.InputError) as caught:
            sm.rank(LIBRARIES[library](scores), seen, HELD_OUT)
        assert str(caught.value) == str(expected.value)
    for scores, options in (
        (with_nan, {}),
        (with_inf, {}),
        (unscored, {}),
        (SCORES, {"n_items": 400}),
    ):
        errors = []
        for form in (scores, LIBRARIES[library](scores)):
            with pytest.raises(sm.InputError) as raised:
                sm.RankMeter(METRICS, **options).update(form, positive=HELD_OUT)
            errors.append(str(raised.value))
        assert errors[0] == errors[1]
    with pytest.raises(sm.InputError, match="items"):
        sm.rank(LIBRARIES[library](SCORES), None, HELD_OUT, items=range(ITEMS + 1))


@pytest.mark.usefixtures("_on_device", "_small_tiles")
@pytest.mark.parametrize("precision", ["highest", "high", "medium"])
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("kind", ["float32", "float16", "bfloat16", "float64"])
def test_vectors_are_multiplied_on_the_device(monkeypatch, kind, several, precision):
    """Many items are equal, and many differ in the last bits only."""
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: precision)
    rng = np.random.default_rng(2)
    users = torch_tensor(rng.normal(size=(USERS, 9)), kind)
    near = np.repeat(rng.normal(size=(ITEMS // 10, 9)), 10, axis=0)
    near *= 1.0 + rng.integers(-1, 2, (ITEMS, 1)) * 2.0**-22
    items = torch_tensor(near * 10.0 ** rng.integers(-3, 4, (ITEMS, 1)), kind)
    relevant = SEVERAL if several else HELD_OUT
    exact = [vectors.double().numpy() for vectors in (users, items)]
    expected = sm.rank(np.einsum("uf,if->ui", *exact), SEEN, relevant)
    users.requires_grad_()
    multiplied = []
    real = products.count_around_limits
    monkeypatch.setattr(
        products,
        "count_around_limits",
        lambda scores, *more: multiplied.append(scores) or real(scores, *more),
    )
    assert counts(sm.rank((users, items), SEEN, relevant)) == counts(expected)
    assert all(isinstance(block, torch.Tensor) for block in multiplied)
    assert {min(block.shape[1], 37) for block in multiplied} <= {
        4,
        8,
        16,
        32,
        37,
        ITEMS % 37,
    }


@pytest.mark.usefixtures("_on_device", "_small_tiles")
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("library", LIBRARIES)
def test_cut_vectors_match_numpy(monkeypatch, library, several):
    """Users are dropped once their ranks are known; only vectors of near ties are copied."""
    rng = np.random.default_rng(3)
    users = rng.normal(size=(USERS, 9)).astype(np.float32)
    items = rng.normal(size=(ITEMS, 9)).astype(np.float32)
    items *= rng.lognormal(0.0, 1.0, (ITEMS, 1)).astype(np.float32)
    relevant = SEVERAL if several else HELD_OUT
    expected = sm.rank((users, items), SEEN, relevant, up_to=3)
    vectors = LIBRARIES[library](users), LIBRARIES[library](items)
    n_multiplied = []
    real = products.count_around_limits
    monkeypatch.setattr(
        products,
        "count_around_limits",
        lambda scores, *more: n_multiplied.append(scores.shape[0]) or real(scores, *more),
    )
    result = sm.rank(vectors, SEEN, relevant, up_to=3)
    assert counts(result) == counts(expected)
    assert np.array_equal(result.n_found, expected.n_found)
    assert min(n_multiplied) < max(n_multiplied)


@pytest.mark.usefixtures("_on_device")
def test_wrong_vectors_are_refused_as_in_numpy():
    torch = pytest.importorskip("torch")
    users, items = torch.ones((3, 2)), torch.ones((5, 2))
    inf = items * torch.inf
    for form in (
        (users, inf),
        (inf, items),
        (users, torch.ones((5, 3))),
        (users > 0, items),
    ):
        errors = []
        for vectors in (form, tuple(tensor.numpy() for tensor in form)):
            with pytest.raises(sm.InputError) as raised:
                sm.rank(vectors, None, np.zeros(3, int))
            errors.append(str(raised.value).replace("torch.", ""))
        assert errors[0] == errors[1]


def test_tensors_in_main_memory_are_left_to_numpy():
    assert not comparisons.keeps_own_library(torch_tensor(SCORES))
    assert not comparisons.keeps_own_library(SCORES)
    assert not comparisons.keeps_own_library([[0.5]])
    assert comparisons.keeps_own_library(strict_array(SCORES))


class DeviceArray:
    """A stand-in for an array of cupy, which numpy cannot convert."""

    def __init__(self, values):
        self.values = values
        self.dtype, self.shape, self.ndim = values.dtype, values.shape, values.ndim

    def __array__(self, *_, **__):
        raise TypeError("Implicit conversion to a NumPy array is not allowed")

    def __len__(self):
        return len(self.values)

    def get(self):
        return self.values


def test_array_that_numpy_cannot_convert_is_read(monkeypatch):
    rng = np.random.default_rng(5)
    monkeypatch.setattr(
        "array_api_compat.is_cupy_array",
        lambda values: isinstance(values, DeviceArray),
    )
    expected = counts(sm.Ranks.from_scores(SCORES, HELD_OUT))
    assert counts(sm.Ranks.from_scores(SCORES, DeviceArray(HELD_OUT))) == expected
    vectors = rng.normal(size=(USERS, 4)), rng.normal(size=(ITEMS, 4))
    result = sm.Ranks.from_factors(*map(DeviceArray, vectors), DeviceArray(HELD_OUT))
    assert counts(result) == counts(sm.Ranks.from_factors(*vectors, HELD_OUT))
    top = np.argsort(-SCORES, axis=1)[:, :10]
    options = {"relevant": HELD_OUT, "n_items": ITEMS, "missing": "last"}
    result = sm.Ranks.from_top_k(DeviceArray(top), **options)
    assert counts(result) == counts(sm.Ranks.from_top_k(top, **options))


def test_dictionary_of_tensors_is_read():
    torch = pytest.importorskip("torch")
    scores = np.array([[0.3, 0.9, 0.5], [0.8, 0.1, 0.4]])
    relevant = {0: torch.tensor([1, 2]), 1: torch.tensor([2])}
    results = sm.evaluate(scores, "recall@1, recall@2", relevant=relevant)
    assert [result.value for result in results] == [0.25, 1.0]
    lists = {0: torch.tensor([1, 2]), 1: torch.tensor([0, 2])}
    single_items = {0: torch.tensor(2), 1: torch.tensor(2)}
    assert sm.evaluate(lists, "rr@2", relevant=single_items)[0].value == 0.5

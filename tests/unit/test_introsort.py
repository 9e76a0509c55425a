"""The order of equal keys, against GNU libstdc++ itself and against orders it once gave."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from sampled_metrics.datasets import last_events
from sampled_metrics.datasets.last_events import sorted_tail

HERE = Path(__file__).parent
VECTORS = HERE.parent / "golden" / "std_sort.json"


@pytest.fixture(scope="module")
def std_sort(tmp_path_factory):
    if not shutil.which("g++"):
        pytest.skip("no g++ to compile std_sort.cpp with; the stored vectors serve instead")
    program = tmp_path_factory.mktemp("std_sort") / "std_sort"
    subprocess.run(["g++", "-O2", "-o", program, HERE / "std_sort.cpp"], check=True)

    def run(arrays):
        text = "\n".join(f"{len(keys)} {' '.join(map(str, keys))}" for keys in arrays)
        done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
        return [np.array(line.split(), dtype=int) for line in done.stdout.split("\n")[:-1]]

    def killer(n):
        done = subprocess.run([program, "killer", str(n)], capture_output=True, check=True)
        return np.array(done.stdout.split(), dtype=int)

    run.killer = killer
    return run


def random_arrays():
    rng = np.random.default_rng(0)
    sizes = [*range(40), *rng.integers(40, 400, 60), 1000, 2500, 5000]
    for size in sizes:
        for distinct in (1, 2, 5, 30, 10_000):
            keys = rng.integers(0, distinct, size)
            yield keys
            if size > 300:
                yield np.sort(keys)
                yield np.sort(keys)[::-1]


def test_orders_equal_keys_as_libstdcxx(std_sort):
    arrays = list(random_arrays())
    for keys, order in zip(arrays, std_sort(arrays), strict=True):
        np.testing.assert_array_equal(sorted_tail(keys), order)


@pytest.fixture
def heap_sorted(monkeypatch):
    """The ranges that were heap-sorted while the test ran."""
    ranges = []
    heap_sort = last_events._heap_sort
    monkeypatch.setattr(
        last_events, "_heap_sort", lambda *args: (ranges.append(args[2:]), heap_sort(*args))
    )
    return ranges


def test_heap_sort_branch_as_libstdcxx(std_sort, heap_sorted):
    # Coarser keys keep the killer's shape and add ties.
    arrays = [std_sort.killer(n) // tied for n in (100, 999, 3000, 5000) for tied in (1, 2, 7)]
    for keys, order in zip(arrays, std_sort(arrays), strict=True):
        np.testing.assert_array_equal(sorted_tail(keys), order)
    assert len(heap_sorted) >= 4


def test_stored_vectors(heap_sorted):
    for vector in json.loads(VECTORS.read_text()):
        np.testing.assert_array_equal(sorted_tail(vector["keys"]), vector["order"])
    assert heap_sorted


def test_a_tail_is_the_end_of_the_whole():
    for keys in random_arrays():
        whole = sorted_tail(keys)
        for size in {0, 1, 2, 17, keys.size // 2, keys.size}:
            if size <= keys.size:
                np.testing.assert_array_equal(sorted_tail(keys, size), whole[keys.size - size :])


def test_sorts_and_leaves_its_input_alone():
    keys = np.random.default_rng(1).integers(0, 50, 777)
    before = keys.copy()
    order = sorted_tail(keys)
    np.testing.assert_array_equal(keys, before)
    np.testing.assert_array_equal(keys[order], np.sort(keys))
    np.testing.assert_array_equal(np.sort(order), np.arange(777))

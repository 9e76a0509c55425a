"""Processor seconds and memory of ranking and of estimators at large sizes.

    python tests/benchmarks/sizes.py [--only NAME]

Each row is a process of its own: factors rank 140,000 x 27,000; `itemknn` with all neighbours is
trained and ranks 20,000 x 59,000, in tiles; each estimator with 1,000 negatives of a billion
candidates. Seconds are of the work alone, on one thread; memory is the peak of the process.
"""

import argparse
import multiprocessing
import resource
import time
from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.sparse import csr_array

from sampled_metrics._base.threads import one_thread
from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import rank
from sampled_metrics.recommenders import create

HISTORY = 100
MEASURES = [parse_measure(name) for name in ("recall@10", "ndcg@10", "ap", "auc")]
ESTIMATORS = (
    *("sampled", "rank-estimate", "cls", "bv:0.01"),
    *("em:50", "em:500", "mes:0.01", "bv-em:0.01", "mn:100"),
)


def split(users: int, items: int) -> tuple[csr_array, np.ndarray]:
    """Popularity-skewed histories, and a held-out item of each user."""
    rng = np.random.default_rng(0)
    item = (items * rng.random((users, HISTORY + 1)) ** 3).astype(np.int32)
    starts = np.arange(users + 1) * HISTORY
    seen = csr_array((np.ones(users * HISTORY), item[:, 1:].ravel(), starts), shape=(users, items))
    seen.sum_duplicates()
    seen.data[:] = 1.0
    marked = seen[np.arange(users), item[:, 0]] > 0
    return seen[~marked], item[~marked, 0]


def factors(users: int, items: int, dimensions: int) -> Iterator[None]:
    seen, held_out = split(users, items)
    rng = np.random.default_rng(1)
    vectors = [rng.standard_normal((count, dimensions)) for count in seen.shape]
    yield
    rank((vectors[0], vectors[1]), seen, held_out)


def neighbours(users: int, items: int) -> Iterator[None]:
    train, held_out = split(users, items)
    yield
    rank(create("itemknn", {"q": 3}).fit(train).scorer, train, held_out)


def estimator(name: str, n: int, m: int) -> Iterator[None]:
    rng = np.random.default_rng(0)
    true = 1 + np.floor(n * rng.random(20_000) ** 4)
    counts = np.bincount(rng.binomial(m, (true - 1) / (n - 1)), minlength=m + 1)
    options = {"sampling": "with-replacement", "histogram": counts}
    yield
    estimator_matrix([parse_estimator(name)], MEASURES, n, m, **options)


WORK = {
    "factors": partial(factors, 140_000, 27_000, 64),
    "itemknn": partial(neighbours, 20_000, 59_000),
    **{name: partial(estimator, name, 10**9, 1000) for name in ESTIMATORS},
}


def measure(name: str) -> None:
    with one_thread():
        work = WORK[name]()
        next(work)
        began = time.process_time()
        next(work, None)
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name:<16}{seconds:9.2f}{peak:10.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=WORK)
    options = parser.parse_args()
    print(f"{'':<16}{'CPU s':>9}{'peak MiB':>10}", flush=True)
    for name in [options.only] if options.only else WORK:
        process = multiprocessing.get_context("spawn").Process(target=measure, args=(name,))
        process.start()
        process.join()


if __name__ == "__main__":
    main()

"""Memory is free again once results and data are deleted."""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

# Prints the largest resident size, in MB, after three and after ten calls. Each call has data of
# its own, which is deleted.
PROGRAM = """
import resource, sys
import numpy as np
import sampled_metrics as sm

N_USERS, N, M = 40_000, 3000, 100
RNG = np.random.default_rng(0)

def sample(power):
    better = (N * RNG.random(2 * N_USERS) ** power).astype(int)
    ranks = 1 + RNG.hypergeometric(better, N - 1 - better, M)
    users, visits = np.repeat(np.arange(N_USERS), 2), np.tile([1, 2], N_USERS)
    return sm.SampledRanks(ranks, N, M, users=users, visits=visits)

def full(power):
    better = (N * RNG.random(N_USERS) ** power).astype(int)
    return sm.Ranks(np.full(N_USERS, N), better, np.zeros(N_USERS, int))

CALLS = {
    "correct": lambda: sm.correct(sample(3), "recall@10, ndcg@10, ap", "likely"),
    "compare": lambda: sm.compare({"A": sample(3), "B": sample(5)}, "recall@10", "sampled"),
    "plan": lambda: sm.plan(full(3), full(5), "recall@10", sizes=[100]),
    "evaluate": lambda: sm.evaluate(full(3), "recall@10, ndcg@10, ap"),
}

sizes = []
for _ in range(10):
    CALLS[sys.argv[1]]()
    sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
print(sizes[2], sizes[-1])
"""
MOST_GROWTH = 2.0  # MB per call; a call of `correct` that keeps what it computed adds 23


@pytest.mark.long
@pytest.mark.parametrize("function", ["correct", "compare", "plan", "evaluate"])
def test_ten_calls_need_the_memory_of_three(function):
    command = [sys.executable, "-c", PROGRAM, function]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/src"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    after_three, after_ten = map(float, done.stdout.split())
    assert after_ten - after_three < 7 * MOST_GROWTH

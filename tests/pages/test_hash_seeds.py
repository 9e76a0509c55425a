"""Both pages have the same bytes under each hash seed."""

import hashlib
import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

STUDY = """
from sampled_metrics_study.page import render
from sampled_metrics_study.page.contents import collect
from tests.study.test_page import sources

page = render(collect(**sources()))
"""
OWN = """
import numpy as np
import sampled_metrics as sm

rng = np.random.default_rng(0)
users = np.arange(60)
ranks = {
    name: sm.Ranks.from_ranks(rng.integers(1, 31, 60), 30, users=users)
    for name in ("ALS", "BPR", "kNN", "popularity", "random")
}
sm.report(ranks, "full.html", "recall@10, ndcg@10")
sampled = {
    name: sm.SampledRanks(rng.integers(1, 11, 60), 30, 9, users=users)
    for name in ("ALS", "BPR", "kNN", "popularity")
}
sm.report(sampled, "sampled.html", "recall@5, ndcg@5")
page = "".join(open(name, encoding="utf-8").read() for name in ("full.html", "sampled.html"))
"""
PRINT = "import hashlib; print(hashlib.sha256(page.encode()).hexdigest())"


@pytest.mark.long
@pytest.mark.parametrize("code", [STUDY, OWN], ids=["study", "own"])
def test_page_bytes_do_not_depend_on_hash_seed(code, tmp_path):
    digests = set()
    for seed in ("0", "3"):
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code + PRINT],
            env=os.environ | environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        digests.add(done.stdout)
    assert len(digests) == 1
    assert len(digests.pop().strip()) == hashlib.sha256().digest_size * 2

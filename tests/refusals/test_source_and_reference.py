"""Checks of the repository: reference ranks give no warning, and messages name no guide."""

import re
from pathlib import Path

import numpy as np
import pytest

import sampled_metrics as sm
from sampled_metrics.read.options import as_ranks
from tests.conftest import ROOT


@pytest.mark.parametrize("name", "XYZ")
def test_reference_ranks_do_not_warn(name, recwarn):
    ranks = as_ranks(ROOT / f"results/reference/ranks/{name}.parquet")
    sm.evaluate(ranks, "recall@10, ap, auc")
    for m in (10, 100, 500):
        sample = sm.draw_sampled_ranks(ranks, m, np.random.default_rng(m)).ravel()
        sm.correct(
            sm.SampledRanks(sample, ranks.n_candidates, m),
            "auc",
            "sampled",
            shape="none",
        )
    assert not recwarn.list


def test_messages_name_no_file_that_is_not_installed():
    """Guides are not part of the wheel; comments and docstrings may name them."""
    for path in Path(ROOT, "src/sampled_metrics").rglob("*.py"):
        for line in path.read_text("utf-8").splitlines():
            is_named = re.search(r"""["'].*docs/.*\.md.*["']""", line)
            assert not is_named or '"""' in line, f"{path}: {line}"

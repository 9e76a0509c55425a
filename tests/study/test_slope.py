"""The slope chart of the reference run: Recall@10 against random items and all items."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.stats import hypergeom

from sampled_metrics import Ranks, compare
from sampled_metrics_study import reference
from sampled_metrics_study.figures.slope import (
    LAYOUTS,
    THEMES,
    draw_slope,
    recall_by_candidates,
    write_slope,
)
from sampled_metrics_study.paper import read_study
from sampled_metrics_study.slope_chart import describe_decisions, headline
from tests.conftest import ROOT

REFERENCE = ROOT / "results/reference"


@pytest.fixture(scope="module")
def records():
    return {name: Ranks.read(REFERENCE / f"ranks/{name}.parquet") for name in "XYZ"}


@pytest.fixture(scope="module")
def experiment():
    return read_study().experiment


def test_recall_by_candidates_matches_hypergeometric(experiment):
    n, better = 500, np.array([0, 12, 40, 300])
    ranks = Ranks([n] * 4, better, [0] * 4)
    (row,) = recall_by_candidates({"A": ranks}, experiment).itertuples(index=False)
    at_most_9_better = hypergeom.cdf(9, n - 1, better, experiment.n_negatives)
    assert row.sampled == pytest.approx(100 * at_most_9_better.mean())
    assert row.exact == 100 * 1 / 4  # one user has at most 9 better items


def test_recall_by_candidates_of_reference(records, experiment):
    table = recall_by_candidates(records, experiment)
    assert table["sampled"].round(1).tolist() == [66.1, 56.5, 54.2]
    assert table["exact"].round(2).tolist() == [7.75, 8.84, 9.42]


def test_describe_decisions_names_undecided(records):
    orders = describe_decisions(compare(records, "recall@10"))
    assert "Y above X" in orders
    assert "Z above X" in orders
    assert "Y against Z is undecided" in orders


def test_describe_decisions_of_few_users():
    rng = np.random.default_rng(0)
    pair = {name: Ranks([2000] * 50, rng.geometric(0.01, 50), [0] * 50) for name in "AB"}
    assert "decide no order" in describe_decisions(compare(pair, "recall@10"))


@pytest.mark.parametrize(("exact", "place"), [("ABC", "best"), ("BAC", "2"), ("CBA", "worst")])
def test_headline_ends_with_the_exact_place_of_the_best(exact, place):
    """A is the best among 100 negatives."""
    assert headline("ABC", exact, 100).removesuffix(".").split()[-1] == place


def test_committed_charts_are_current(tmp_path, records, experiment):
    write_slope(records, experiment, tmp_path)
    for suffix in (shape + dark for shape in LAYOUTS for dark in THEMES):
        name = f"slope{suffix}.svg"
        assert (tmp_path / name).read_text() == (REFERENCE / name).read_text()


@pytest.mark.parametrize("shape", LAYOUTS)
def test_chart_fits_and_text_does_not_overlap(records, experiment, shape):
    figure = Figure(dpi=72)
    table = recall_by_candidates(records, experiment)
    layout = LAYOUTS[shape]
    draw_slope(figure, table, 100, describe_decisions([]), THEMES[""], layout)
    width, height = figure.canvas.get_width_height()
    texts = [*figure.texts, *figure.axes[0].texts]
    boxes = [text.get_window_extent() for text in texts]
    for box in boxes:
        assert min(box.x0, box.y0) >= 0
        assert (box.x1 <= width) & (box.y1 <= height)
    for one, other in combinations(boxes, 2):
        assert not one.overlaps(other)
    if shape == "-narrow":  # for a phone, which is 358 pixels wide within its margins
        smallest = min(text.get_fontsize() for text in texts)
        assert smallest * 358 / (72 * layout.width) >= 8


def test_slope_command_reads_ranks(tmp_path):
    (tmp_path / "ranks").symlink_to(REFERENCE / "ranks")
    reference.slope(tmp_path)
    assert (tmp_path / "slope-dark.svg").read_text().startswith("<?xml")

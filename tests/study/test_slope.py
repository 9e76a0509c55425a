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
    describe_decisions,
    draw_slope,
    headline,
    recall_by_candidates,
    write_slope,
)
from sampled_metrics_study.paper import read_study
from tests.conftest import ROOT

REFERENCE = ROOT / "results/reference"


@pytest.fixture(scope="module")
def records():
    return {name: Ranks.read(REFERENCE / f"ranks/{name}.parquet") for name in "XYZ"}


@pytest.fixture(scope="module")
def experiment():
    return read_study().experiment


def test_recall_by_candidates_matches_hypergeometric(experiment):
    better = np.array([0, 12, 40, 300])
    ranks = Ranks([500] * 4, better, [0] * 4)
    (row,) = recall_by_candidates({"A": ranks}, experiment).itertuples(index=False)
    chances = hypergeom.cdf(9, 499, better, experiment.n_negatives)
    assert row.sampled == pytest.approx(100 * chances.mean())
    assert row.exact == 25


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


@pytest.mark.parametrize(
    ("exact", "place"), [("ABC", "the best"), ("BAC", "in place 2"), ("CBA", "the worst")]
)
def test_headline_states_exact_place(exact, place):
    assert headline("ABC", exact, 100).endswith(f"it is {place}.")


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
    smallest = min(text.get_fontsize() for text in texts)
    assert smallest * 358 / (72 * layout.width) >= (8 if shape else 0)  # points on a phone


def test_slope_command_reads_ranks(tmp_path):
    (tmp_path / "ranks").symlink_to(REFERENCE / "ranks")
    reference.slope(tmp_path)
    assert (tmp_path / "slope-dark.svg").read_text().startswith("<?xml")

"""The lens as a picture for the README."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from sampled_metrics_study import reference
from sampled_metrics_study.figures.lens import SHAPES, compute_lens, draw_lens
from sampled_metrics_study.figures.slope import THEMES
from tests.study.conftest import REFERENCE


@pytest.fixture(scope="module")
def picture():
    return compute_lens(*reference.ranks_and_settings(REFERENCE))


def test_weights_are_where_the_headline_says(picture):
    """Half of the credit is lost at the rank in the headline."""
    assert picture.headline == ["Recall@10", "100 random items", "about Recall@342"]
    widths = np.diff(np.log(picture.ks), append=2 * np.log(picture.ks[-1]) - np.log(picture.ks[-2]))
    lost = np.cumsum(picture.weights * widths)
    half = picture.ks[np.searchsorted(lost, lost[-1] / 2)]
    assert half == pytest.approx(342, rel=0.07)
    at_ten = {name: lead[picture.ks == 10].item() for name, lead in picture.leads.items()}
    assert sorted(at_ten, key=at_ten.get) == list("XYZ")
    assert sum(at_ten.values()) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_texts_are_inside_and_apart(picture, shape):
    figure = Figure(dpi=72)
    draw_lens(figure, picture, THEMES[""], SHAPES[shape])
    figure.draw_without_rendering()
    texts = [text for axes in figure.axes for text in axes.texts] + figure.texts
    boxes = [text.get_window_extent() for text in texts]
    for number, box in enumerate(boxes):
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.width
        assert box.y1 <= figure.bbox.height
        assert not any(box.overlaps(other) for other in boxes[:number])


def test_committed_pictures_are_current(tmp_path):
    (tmp_path / "ranks").symlink_to(REFERENCE / "ranks")
    reference.lens(tmp_path)
    names = {path.name for path in tmp_path.glob("*.svg")}
    assert len(names) == 4
    for name in names:
        assert (tmp_path / name).read_text() == (REFERENCE / name).read_text()

"""Names have the same colour in all figures, pages and plots, and colours can be told apart."""

import re
from itertools import combinations

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from benchmarks.leaderboard import picture
from sampled_metrics import correct, evaluate
from sampled_metrics._base.palette import (
    ESTIMATORS,
    OTHER_ESTIMATORS,
    OTHER_RECOMMENDERS,
    RECOMMENDERS,
    VERDICTS,
    estimator_looks,
    recommender_looks,
    stylesheet,
)
from sampled_metrics.evaluation.plots import STYLE
from sampled_metrics.metrics import parse_measures
from sampled_metrics.pages.leaderboard import build_board
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics_study.figures import FIGURES
from sampled_metrics_study.page import render
from sampled_metrics_study.page.contents import collect
from sampled_metrics_study.tables import EXACT
from tests.study.conftest import REFERENCE
from tests.study.test_page import sources

PAGES = {"light": "#ffffff", "dark": "#14171b"}
FAMILIES = {
    "recommenders": (*RECOMMENDERS.values(), *OTHER_RECOMMENDERS),
    "estimators": (*ESTIMATORS.values(), *OTHER_ESTIMATORS),
}
VISION = {  # linear RGB as people see it (Machado et al. 2009)
    "normal": np.eye(3),
    "deuteranopia": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "protanopia": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
}


def linear_rgb(colour):
    """The linear red, green and blue of a colour."""
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def contrast(a, b):
    """The contrast of WCAG of two colours."""
    darker, lighter = sorted(linear_rgb(colour) @ [0.2126, 0.7152, 0.0722] for colour in (a, b))
    return (lighter + 0.05) / (darker + 0.05)


def oklab(rgb):
    """Coordinates in which distances are as people see them, times 100 (Ottosson 2020)."""
    cones = np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]])
    axes = np.array(
        [[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]]
    )
    return 100 * axes @ np.cbrt(cones @ rgb.clip(0, 1))


def colours_by_label(figure):
    """The colour of every labelled line and of every text of a figure."""
    found = []
    for axes in figure.axes:
        found += [(line.get_label(), to_hex(line.get_color())) for line in axes.get_lines()]
        found += [(text.get_text().split("\n")[0], to_hex(text.get_color())) for text in axes.texts]
    return found


def draw(number):
    name = f"figure{number}" if isinstance(number, int) else number
    with matplotlib.rc_context(matplotlib.rc_params_from_file(STYLE)):
        figure = Figure()
        FIGURES[number](figure, pd.read_csv(REFERENCE / f"figures/{name}.csv"))
    return figure


def test_families_share_no_colour():
    families = [*FAMILIES.values(), tuple(VERDICTS.values())]
    for scheme in PAGES:
        sets = [{getattr(look, scheme) for look in family} for family in families]
        assert all(not a & b for a, b in combinations(sets, 2))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("scheme", PAGES)
def test_looks_differ_for_all_eyes(family, scheme):
    """Looks of a family that are near each other in colour differ in dashes or markers."""
    looks = FAMILIES[family]
    assert all(contrast(getattr(look, scheme), PAGES[scheme]) >= 4.5 for look in looks)
    for vision in VISION.values():
        for a, b in combinations(looks, 2):
            near = oklab(vision @ linear_rgb(getattr(a, scheme))) - oklab(
                vision @ linear_rgb(getattr(b, scheme))
            )
            differs = (a.dashes, a.marker) != (b.dashes, b.marker)
            assert np.linalg.norm(near) > 4 or differs


@pytest.mark.parametrize("number", [2, 5, 6])
def test_figures_draw_recommenders_in_their_colours(number):
    found = [
        (name.split()[0], colour)
        for name, colour in colours_by_label(draw(number))
        if name and (name in RECOMMENDERS or re.fullmatch(r"[XYZ] \d.*", name))
    ]
    assert len(found) >= 6
    assert all(colour == RECOMMENDERS[name].light for name, colour in found)


@pytest.mark.parametrize("number", [4, "errors"])
def test_figures_draw_estimators_in_their_colours(number):
    names = set(pd.read_csv(REFERENCE / "figures/errors.csv")["estimator"]) - {EXACT}
    looks = estimator_looks(names)
    found = [
        (name.removesuffix(" (ours)"), colour)
        for name, colour in colours_by_label(draw(number))
        if name.removesuffix(" (ours)") in looks
    ]
    assert len(found) >= 12
    assert all(colour == looks[name].light for name, colour in found)


@pytest.fixture(scope="module")
def content():
    return collect(**sources())


def test_page_colours_recommenders_alike(content):
    """Every name on the page, in the lens and on the board has the colour of the figures."""
    page = render(content)
    css = dict(re.findall(r"--(c\d+): (#\w+)", stylesheet().split("@media")[0]))
    named = re.findall(r'class="who" style="--c: var\(--(c\d+)\)">(\w+)', page)
    named += re.findall(r"--c: var\(--(c\d+)\); --x: [^>]*>(\w+)<", page)
    assert {name for _, name in named} >= {"X", "Y", "Z"}
    assert all(css[slot] == RECOMMENDERS[name].light for slot, name in named)
    for part in ("lens", "board"):
        looks = recommender_looks(content[part]["names"])
        colours = [css[f"c{slot}"] for slot in content[part]["slots"]]
        assert colours == [look.light for look in looks.values()]
    assert len(set(content["board"]["slots"])) == len(content["board"]["names"])


@pytest.mark.parametrize("suffix", ["", "-dark"])
def test_slope_has_colours_of_recommenders(suffix):
    svg = (REFERENCE / f"slope{suffix}.svg").read_text("utf-8")
    scheme = "dark" if suffix else "light"
    assert all(getattr(RECOMMENDERS[name], scheme) in svg for name in "XYZ")


def test_board_picture_marks_worst_pair_in_their_own_colours():
    records = {name: Ranks.read(REFERENCE / f"ranks/{name}.parquet") for name in "XZ"}
    board = build_board(records, parse_measures("HR@10"))
    found = {
        name: colour
        for name, colour in colours_by_label(picture(board, "HR@10", 100))
        if name in records
    }
    assert found == {name: RECOMMENDERS[name].light for name in "XZ"}


def test_plots_draw_estimators_in_their_colours():
    sampled = SampledRanks(np.r_[1:101, 1:51], 1000, 99)
    names = ["cls", "bv:0.1", "likely", "sampled"]
    panel = correct(sampled, "recall@10", names).plot()
    found = {line.get_label(): to_hex(line.get_color()) for line in panel.get_lines()}
    assert {name: found[name] for name in names} == {name: ESTIMATORS[name].light for name in names}
    exact = evaluate(Ranks(np.full(9, 50), np.arange(9), np.zeros(9, int)), "recall@10").plot()
    colours = {to_hex(line.get_color()) for line in exact.get_lines()}
    assert not colours & {look.light for family in FAMILIES.values() for look in family}

"""Settings that are not the paper's: with any, no published cell is compared."""

import numpy as np
import pandas as pd
import pytest

from sampled_metrics.ranks import Ranks
from sampled_metrics_study.config import departures
from sampled_metrics_study.experiment import run_experiment
from sampled_metrics_study.figures import draw
from sampled_metrics_study.page.contents import count_other_settings
from sampled_metrics_study.scorecard import scorecard, write_scorecard, z_scores
from sampled_metrics_study.settings import ExperimentSettings
from sampled_metrics_study.tables import (
    SPREAD_COLUMNS,
    TEXT_COLUMNS,
    read_published,
    table3,
    table4,
)
from tests.conftest import ROOT
from tests.study.test_config import STUDY, study

PUBLISHED = read_published(ROOT / "config/paper/tables.csv")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, []),
        # what moves no expectation, or the paper leaves open
        ({"experiment": {"repetitions": 40, "seed": 7, "shared_samples": False}}, []),
        ({"toy": {"repetitions": 30}}, []),
        ({"exact": {"metrics": ["auc"]}}, []),
        ({"experiment": {"n_negatives": 50}}, ["experiment.n_negatives is 50, the paper's 100"]),
        ({"experiment": {"ties": "random"}}, ["experiment.ties is random, the paper's paper"]),
        ({"experiment": {"metrics": ["recall@10", "ndcg@10", "auc"]}},
         ["experiment.metrics has no ap"]),
        ({"experiment": {"metrics": ["recall@10", "ndcg@10", "ap", "auc", "rr"]}}, []),
        ({"toy": {"n_negatives": 9}}, ["toy.n_negatives is 9, the paper's 99"]),
        ({"split": {"tie_break": "first"}}, ["split.tie_break is first, the paper's ncf"]),
        ({"recommenders": [{**STUDY["recommenders"][0], "settings": {"d": 32}},
                           *STUDY["recommenders"][1:]]},
         ["d of X is 32, the paper's 16"]),
        ({"recommenders": STUDY["recommenders"][1:]}, ["recommenders has no X"]),
    ],
)  # fmt: skip
def test_settings_that_are_not_the_papers_are_named(changes, words):
    assert departures(study(changes), study()) == words


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"dataset": {"name": "ml-100k"}},
            "dataset.name is ml-100k, the paper's ml-1m",
        ),
        (
            {"filters": {"min_rating": 4}},
            "filters.min_rating is 4.0, the paper's null",
        ),
    ],
)
def test_other_data_is_named_first_because_it_has_no_choices_of_the_paper(
    changes, words
):
    assert departures(study(changes), study())[0] == words


def test_other_studies_have_the_choices_of_definitions():
    usual = ("random", "m", None)
    for changes in (
        {"dataset": {"name": "ml-100k"}},
        {"split": {"users": 100}},
        {"recommenders": [{"name": "Random", "kind": "random"}]},
    ):
        chosen = study(changes).experiment
        assert (chosen.ties, chosen.divisor, chosen.assumed_sampling) == usual
        assert chosen.correction_sampling == chosen.sampling
        given = study(
            changes, {"experiment": {"ties": "paper", "divisor": "m+1"}}
        ).experiment
        assert (given.ties, given.divisor) == ("paper", "m+1")


@pytest.mark.parametrize("m", [1, 10, 20])
def test_a_constant_recommender_has_a_sampled_auc_of_a_half(m):
    everyone_tied = Ranks(np.full(40, 142), np.zeros(40, int), np.full(40, 141))
    estimators = ("sampled", "rank-estimate", "cls")
    settings = ExperimentSettings(
        metrics=("auc",),
        estimators=estimators,
        n_negatives=m,
        repetitions=2,
        rounding="linear",
    )
    outcome = run_experiment("constant", everyone_tied, settings)
    assert outcome.exact[0] == pytest.approx(0.5)
    np.testing.assert_allclose(outcome.expected.mean[0], 0.5, atol=1e-9)
    # by the paper's order of ties, m = 10: places 0 to 9 of 10, so 0.55
    if m == 10:
        quirks = settings.replaced(ties="paper")
        assert run_experiment("constant", everyone_tied, quirks).expected.mean[
            0, 0
        ] == (pytest.approx(0.55))


@pytest.fixture(scope="module")
def fifty():
    """The scorecard of a study with 50 negatives."""
    own = study({"experiment": {"n_negatives": 50, "repetitions": 2}})
    folder = ROOT / "results/reference/ranks"
    ranks = {name: Ranks.read(folder / f"{name}.parquet") for name in "XYZ"}
    experiments = {}
    for name, records in ranks.items():
        experiments[name] = run_experiment(name, records, own.experiment)
    cells = pd.concat([table3(experiments), table4(experiments)])
    spread = pd.read_csv(
        ROOT / "results/reference/spread.csv", dtype=dict.fromkeys(TEXT_COLUMNS, str)
    )
    words = departures(own, study())
    return scorecard(cells, PUBLISHED, spread[list(SPREAD_COLUMNS)], words)


def test_another_number_of_negatives_is_no_failed_reproduction(fifty, tmp_path):
    assert set(fifty["verdict"]) == {"not comparable"}
    write_scorecard(fifty, "from a test", tmp_path / "s.csv", tmp_path / "s.md")
    assert (
        "n_negatives is 50, the paper's 100: 204" in (tmp_path / "s.md").read_text()
    )


def test_settings_are_listed_in_the_order_of_their_cells_and_counted():
    notes = ["b", "", "a; b", "a", "a", "c"]
    verdicts = ["not comparable", "exact", *["not comparable"] * 3, "differs"]
    card = pd.DataFrame({"verdict": verdicts, "note": notes})
    assert count_other_settings(card) == [("b", 2), ("a", 3)]


def test_the_figure_of_no_random_cells_says_so(fifty, tmp_path):
    table = z_scores(fifty)
    assert len(table) == 0
    draw("z", table, tmp_path / "z")
    assert (tmp_path / "z.svg").stat().st_size > 0

"""Settings that are not the paper's: which published cells they keep from being compared."""

import numpy as np
import pandas as pd
import pytest

from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.data import as_ranks, as_sampled
from sampled_metrics.study.departures import (
    PAPERS_EXPERIMENT,
    PAPERS_RECOMMENDERS,
    departures,
    notes,
)
from sampled_metrics.study.figures import draw
from sampled_metrics.study.page import other_settings
from sampled_metrics.study.scorecard import scorecard, write_scorecard, z_scores
from sampled_metrics.study.settings import ExperimentSettings
from sampled_metrics.study.starts import uniform_ties
from sampled_metrics.study.tables import (
    KEY,
    SPREAD_COLUMNS,
    TEXTS,
    read_published,
    run_experiment,
    table3,
    table4,
)
from tests.conftest import ROOT
from tests.unit.test_config import STUDY, study


def read_sampled(path, n_negatives=None, n_items=None, sampling=None, **options):
    return as_sampled(path, n_negatives=n_negatives, n_items=n_items, sampling=sampling, **options)


PUBLISHED = read_published(ROOT / "config/paper/tables.csv")
TABLE_3 = PUBLISHED["table"] == 3
TABLE_4 = PUBLISHED["table"] == 4
IS_EXACT = PUBLISHED["column"] == "Exact"
OF_X = PUBLISHED["row"].str.split().str[0].eq("X")
SAMPLED = (TABLE_3 | TABLE_4) & ~IS_EXACT


def begins(*names):
    return PUBLISHED["column"].str.startswith(names)


@pytest.mark.parametrize(
    ("changes", "changed"),
    [
        ({}, TABLE_3 & False),
        # what moves no expectation
        ({"experiment": {"repetitions": 40, "seed": 7, "shared_samples": False}}, TABLE_3 & False),
        ({"toy": {"repetitions": 30}}, TABLE_3 & False),
        ({"exact": {"metrics": ["auc"]}}, TABLE_3 & False),
        ({"experiment": {"n_negatives": 50}}, SAMPLED),
        ({"experiment": {"ties": "random"}}, SAMPLED),
        ({"experiment": {"assumed_sampling": "without-replacement"}},
         SAMPLED & begins("CLS", "BV")),
        ({"experiment": {"divisor": "m"}}, SAMPLED & begins("Rank")),
        ({"experiment": {"metrics": ["recall@10", "ndcg@10", "auc"]}},
         (TABLE_3 | TABLE_4) & (PUBLISHED["metric"] == "AP")),
        ({"experiment": {"estimators": ["sampled", "bv:0.1"]}},
         SAMPLED & ~PUBLISHED["column"].isin(["Sampled", "BV 0.1"])),
        ({"toy": {"n_negatives": 9}}, PUBLISHED["table"] == 2),
        ({"filters": {"min_rating": 4}}, TABLE_3 | TABLE_4),
        ({"split": {"tie_break": "first"}}, TABLE_3 | TABLE_4),
        ({"recommenders": [{**STUDY["recommenders"][0], "settings": {"d": 32}},
                           *STUDY["recommenders"][1:]]}, (TABLE_3 | TABLE_4) & OF_X),
        ({"recommenders": STUDY["recommenders"][1:]}, (TABLE_3 | TABLE_4) & OF_X),
        ({"recommenders": [{"name": "Random", "kind": "random"}]}, TABLE_3 | TABLE_4),
    ],
)  # fmt: skip
def test_cells_that_a_setting_changes(changes, changed):
    found = notes(PUBLISHED, departures(study(changes)))
    assert [bool(note) for note in found] == changed.tolist()


def test_a_departure_names_the_setting_and_both_values():
    (found,) = departures(study({"experiment": {"n_negatives": 50}}))
    assert found.words == "experiment.n_negatives is 50, the paper's 100"


def test_the_papers_settings_are_those_of_the_configuration():
    paper = study()
    assert paper.experiment == PAPERS_EXPERIMENT
    for name, (kind, settings) in PAPERS_RECOMMENDERS.items():
        entry = paper.recommender(name)
        assert (entry.kind, settings.items()) <= (
            kind,
            entry.settings.model_dump(by_alias=True).items(),
        )


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
        given = study(changes, {"experiment": {"ties": "paper", "divisor": "m+1"}}).experiment
        assert (given.ties, given.divisor) == ("paper", "m+1")


@pytest.mark.parametrize("m", [1, 10, 20])
def test_a_constant_recommender_has_a_sampled_auc_of_a_half(m):
    everyone_tied = Ranks(np.full(40, 142), np.zeros(40, int), np.full(40, 141))
    estimators = ("sampled", "rank-estimate", "cls")
    settings = ExperimentSettings(
        metrics=("auc",), estimators=estimators, n_negatives=m, repetitions=2, rounding="linear"
    )
    outcome = run_experiment("constant", everyone_tied, settings)
    assert outcome.exact[0] == pytest.approx(0.5)
    np.testing.assert_allclose(outcome.expected.mean[0], 0.5, atol=1e-9)
    # by the paper's order of ties, m = 10: places 0 to 9 of 10, so 0.55
    if m == 10:
        quirks = settings.replaced(ties="paper")
        assert run_experiment("constant", everyone_tied, quirks).expected.mean[0, 0] == (
            pytest.approx(0.55)
        )


@pytest.fixture(scope="module")
def fifty():
    """The scorecard of a study with 50 negatives, 40 repetitions and without AP."""
    changes = {"n_negatives": 50, "repetitions": 40, "metrics": ["recall@10", "ndcg@10", "auc"]}
    own = study({"experiment": changes})
    folder = ROOT / "results/reference/ranks"
    ranks = {name: as_ranks(folder / f"{name}.parquet") for name in "XYZ"}
    experiments = {name: run_experiment(name, ranks[name], own.experiment) for name in ranks}
    cells = pd.concat([table3(experiments), table4(experiments)])
    spread = pd.read_csv(ROOT / "results/reference/spread.csv", dtype=dict.fromkeys(TEXTS, str))
    uniform = uniform_ties(ranks, own.experiment)
    return scorecard(cells, PUBLISHED, spread[list(SPREAD_COLUMNS)], uniform, departures(own))


def test_another_number_of_negatives_is_no_failed_reproduction(fifty, tmp_path):
    verdicts = fifty.groupby(["table", "verdict"]).size()
    assert "differs" not in fifty["verdict"].tolist()
    # exact metrics stand beside the paper's: 3 metrics of 3 recommenders
    assert verdicts[3].sum() - verdicts[3, "not comparable"] == 9
    assert verdicts[4, "not comparable"] == 84
    sampled = fifty[(fifty["table"] == 3) & (fifty["column"] == "Sampled")]
    assert sampled["note"].str.contains("n_negatives is 50, the paper's 100").all()
    settings = dict(other_settings(fifty))
    assert settings["experiment.metrics has no ap"] == (fifty[KEY]["metric"] == "AP").sum() - 6
    write_scorecard(fifty, "from a test", tmp_path / "s.csv", tmp_path / "s.md")
    assert "n_negatives is 50, the paper's 100: " in (tmp_path / "s.md").read_text()


def test_settings_are_listed_in_the_order_of_their_cells_and_counted():
    notes = ["b", "", "a; b", "a", "a", "c"]
    verdicts = ["not comparable", "exact", *["not comparable"] * 3, "differs"]
    card = pd.DataFrame({"verdict": verdicts, "note": notes})
    assert other_settings(card) == [("b", 2), ("a", 3)]


def test_the_figure_of_no_random_cells_says_so(fifty, tmp_path):
    table = z_scores(fifty)
    assert len(table) == 0
    draw("z", table, tmp_path / "z")
    assert (tmp_path / "z.svg").stat().st_size > 0

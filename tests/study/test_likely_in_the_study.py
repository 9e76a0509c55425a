"""The number to quote in the paper's study: its table, its errors against m, and their figure."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from sampled_metrics.estimators import (
    estimator_matrix,
    likely_estimates,
    parse_estimators,
)
from sampled_metrics.metrics import parse_measure
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics_study.experiment import Experiment, run_experiment
from sampled_metrics_study.figures import FIGURES, STYLE
from sampled_metrics_study.figures.errors import errors_against_samples
from sampled_metrics_study.settings import ExperimentSettings
from sampled_metrics_study.tables import likely_table, table3, write_likely
from tests.conftest import ROOT

TABLE = pd.read_csv(ROOT / "results/reference/tables/likely.csv")
ERRORS = pd.read_csv(ROOT / "results/reference/figures/errors.csv")


def ranked(ranks, n=101):
    ranks = np.array(ranks)
    return Ranks(np.full(ranks.size, n), ranks - 1, np.zeros_like(ranks))


@pytest.mark.parametrize(
    "sampling", [Sampling.WITHOUT_REPLACEMENT, Sampling.WITH_REPLACEMENT]
)
def test_estimates_of_several_samples_are_those_of_each_alone(sampling):
    rng = np.random.default_rng(0)
    counts = rng.multinomial(900, rng.dirichlet(np.ones(21)), size=4)
    measures = [parse_measure(name) for name in ("recall@10", "ap", "auc")]
    found = likely_estimates(counts, measures, 700, 20, sampling)
    for histogram, column in zip(counts, found.T, strict=True):
        about = {"sampling": sampling, "histogram": histogram}
        vectors = estimator_matrix(
            parse_estimators("likely"), measures, 700, 20, **about
        )
        assert column == pytest.approx(vectors[:, 0] @ histogram / 900, rel=1e-12)


def test_the_table_by_hand():
    settings = ExperimentSettings(
        metrics=("ap",), estimators=("sampled",), repetitions=2
    )
    repeated = np.array([[[0.5, 0.7]]])
    likely = np.array([[0.1, 0.3]])
    by_hand = Experiment(
        settings, np.array([0.2]), repeated, None, None, likely, "by hand"
    )
    cells = likely_table({"A": by_hand}).set_index("estimator")
    expected = {
        "Exact": (20, np.nan, np.nan),
        "Likely": (20, 10 * np.sqrt(2), 10),
        "Sampled": (60, 10 * np.sqrt(2), np.sqrt((30**2 + 50**2) / 2)),
    }
    assert list(cells.index) == list(expected)
    for estimator, values in expected.items():
        row = cells.loc[estimator, ["value", "std", "error"]].astype(float)
        assert row.tolist() == pytest.approx(values, nan_ok=True)


def test_all_but_likely_is_as_in_table_3():
    rng = np.random.default_rng(0)
    settings = ExperimentSettings(
        metrics=("recall@10", "auc"),
        estimators=("sampled", "cls"),
        n_negatives=20,
        repetitions=5,
    )
    experiments = {
        name: run_experiment(name, ranked(rng.integers(1, 102, 60)), settings)
        for name in "AB"
    }
    beside = likely_table(experiments)
    found = beside[beside["estimator"] != "Likely"]
    names = {"row": "recommender", "column": "estimator"}
    columns = ["metric", "recommender", "estimator", "value", "std"]
    expected = table3(experiments).rename(columns=names)[columns]
    pd.testing.assert_frame_equal(found[columns].reset_index(drop=True), expected)


def test_markdown_has_the_numbers_of_the_csv(tmp_path):
    write_likely(TABLE, "kept", tmp_path / "likely.csv", tmp_path / "likely.md")
    again = pd.read_csv(tmp_path / "likely.csv")
    pd.testing.assert_frame_equal(again, TABLE)
    lines = (tmp_path / "likely.md").read_text().splitlines()
    found = {}
    head, _, *rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:]
    ]
    for metric, recommender, number, *cells in rows:
        for estimator, cell in zip(head[3:], cells, strict=True):
            found[metric, recommender, estimator, number] = cell
    assert len(found) == 2 * len(TABLE)
    for row in TABLE.itertuples():
        key = (row.metric, row.recommender, row.estimator)
        if row.estimator == "Exact":
            assert found[(*key, "mean")] == f"{row.value:.2f}"
            assert found[(*key, "error")] == ""
        else:
            assert found[(*key, "mean")] == f"{row.value:.2f}±{row.std:.2f}"
            assert found[(*key, "error")] == f"{row.error:.2f}"


def test_errors_of_ranks_that_no_draw_changes():
    """First ranks stay first; metrics that are 0, here of last ranks, have no relative error."""
    settings = ExperimentSettings(
        metrics=("recall@10", "auc"), estimators=("sampled", "bv:0.1")
    )
    records = {"first": ranked([1] * 50), "last": ranked([101] * 50)}
    found = errors_against_samples(records, settings).set_index(
        ["n_negatives", "estimator"]
    )
    assert list(found.index.unique("n_negatives")) == [10, 20, 50, 100]
    recall = [parse_measure("recall@10")]
    for m in (10, 20, 50, 100):
        vector = estimator_matrix(
            parse_estimators("bv:0.1"),
            recall,
            101,
            m,
            sampling=Sampling.WITHOUT_REPLACEMENT,
        )[0, 0]
        errors = found["value"][m]
        assert errors["Sampled"] == 0.0
        assert errors["BV 0.1"] == pytest.approx(100 * abs(vector[0] - 1))
        assert 0 < errors["Likely"] < 100


def test_errors_get_smaller_with_m_and_repeat():
    settings = ExperimentSettings(
        metrics=("recall@10", "ap"), estimators=("sampled",)
    )
    ranks = np.random.default_rng(0).geometric(0.01, 2000).clip(1, 3000)
    records = {"A": ranked(ranks, 3000)}
    found = errors_against_samples(records, settings)
    again = errors_against_samples(records, settings)
    pd.testing.assert_frame_equal(found, again)
    errors = found.pivot(index="n_negatives", columns="estimator", values="value")
    assert list(errors.index) == [10, 20, 50, 100, 200]
    assert (errors["Likely"] < errors["Sampled"]).all()
    assert (errors.loc[200] < errors.loc[10]).all()


def test_in_the_reference_run_likely_is_nearest_at_every_size():
    errors = ERRORS.pivot(index="n_negatives", columns="estimator", values="value")
    others = errors.drop(columns="Likely").min(axis=1)
    assert (errors["Likely"] < others).all()


def test_in_the_reference_run_likely_is_nearest_in_five_of_nine_cases():
    cells = TABLE[(TABLE["estimator"] != "Exact") & (TABLE["metric"] != "AUC")]
    errors = cells.pivot(
        index=["metric", "recommender"], columns="estimator", values="error"
    )
    nearest = errors.idxmin(axis=1).value_counts().to_dict()
    assert nearest == {"Likely": 5, "CLS": 4}
    words = " ".join(
        (ROOT / "docs/estimators.md").read_text(encoding="utf-8").split()
    )
    assert "smallest in 5 of 9 cases" in words


def drawn(table):
    with matplotlib.rc_context(matplotlib.rc_params_from_file(STYLE)):
        figure = Figure()
        FIGURES["errors"](figure, table)
        figure.draw_without_rendering()
    return figure


def test_the_figure_draws_every_estimator():
    (axes,) = drawn(ERRORS).axes
    curves = {line.get_label(): line.get_xydata() for line in axes.get_lines()}
    assert list(curves) == list(ERRORS["estimator"].unique())
    for name, points in curves.items():
        rows = ERRORS[ERRORS["estimator"] == name]
        assert points.tolist() == rows[["n_negatives", "value"]].to_numpy().tolist()


def test_auc_alone_has_no_figure():
    settings = ExperimentSettings(metrics=("auc",), estimators=("sampled",))
    table = errors_against_samples({"A": ranked([3, 40])}, settings)
    assert table.empty
    figure = drawn(table)
    assert not figure.axes
    assert figure.texts


def test_one_m_and_errors_of_0_are_drawn():
    table = pd.DataFrame(
        [("Likely", 10, 0.0), ("Sampled", 10, 0.0)],
        columns=["estimator", "n_negatives", "value"],
    )
    assert len(drawn(table).axes) == 1

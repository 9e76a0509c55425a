"""Tables 1 and 2 against the print and against their closed forms."""

import numpy as np
import pytest

from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.sampling import expected_values
from sampled_metrics.study.cells import as_printed, read_published
from sampled_metrics.study.settings import ToySettings
from sampled_metrics.study.toy import PREDICTED_RANKS, toy_tables
from tests.conftest import ROOT

PUBLISHED = read_published(ROOT / "config/paper/tables.csv")
SETTINGS = ToySettings()


@pytest.fixture(scope="module")
def second():
    return toy_tables(SETTINGS)[2]


def test_table_1_as_printed_in_12_of_12_cells():
    printed = PUBLISHED[PUBLISHED["table"] == 1].reset_index(drop=True)
    assert (
        as_printed(toy_tables(ToySettings(repetitions=2))[1])
        .astype(str)
        .equals(printed.astype(str))
    )
    assert len(printed) == 12


@pytest.mark.parametrize(
    ("recommender", "closed_forms"),
    [  # AUC, AP, NDCG, Recall@10, without replacement
        ("A", ["0.9901", "0.6358", "0.7284", "1.0000"]),
        ("B", ["0.5548", "0.3405", "0.4472", "0.4000"]),
        ("C", ["0.8431", "0.3260", "0.4598", "0.5695"]),
    ],
)
def test_table_2_closed_forms(second, recommender, closed_forms):
    expected = second.loc[second["row"] == recommender, "expected"]
    assert [f"{value:.4f}" for value in expected] == closed_forms


def test_table_2_closed_form_by_simulating_the_draw_itself():
    # 20,000 samples of 99 out of the 9,999 irrelevant items, ranks 1 ... 9,999 without the r-th
    rng = np.random.default_rng(0)
    rank, values = 743, []
    for _ in range(20_000):
        sampled = rng.choice(9999, size=99, replace=False)
        values.append(1 / (1 + np.sum(sampled < rank - 1)))
    found = expected_values(parse_measure("ap"), [rank], 10_000, 99, "without-replacement").item()
    assert found == pytest.approx(np.mean(values), abs=4 * np.std(values) / np.sqrt(20_000))


def test_table_2_published_means_within_their_noise(second):
    printed = PUBLISHED[PUBLISHED["table"] == 2].set_index(["row", "metric"])
    for cell in second.itertuples():
        published = printed.loc[(cell.row, cell.metric)]
        error = float(published["std"]) / np.sqrt(1000)
        assert abs(float(published["value"]) - cell.expected) <= 3 * error + 0.0005


def test_table_2_simulation_within_4_standard_errors(second):
    error = second["expected_std"] / np.sqrt(1000)
    assert (abs(second["value"] - second["expected"]) <= 4 * error + 1e-12).all()
    # the deviation of a deviation, for nearly normal values: sd / sqrt(2 (R - 1)); Recall of A
    # is not, for a rank beyond 10 is a matter of one draw in 100 million
    spread = abs(second["std"] - second["expected_std"])
    normal = second["expected_std"] > 0.001
    assert (spread <= 4 * second["expected_std"] / np.sqrt(2 * 999))[normal].all()
    assert normal.sum() == 10


def test_same_seed_same_table(second):
    assert toy_tables(SETTINGS)[2].equals(second)
    other = toy_tables(ToySettings(seed=1))[2]
    assert not other["value"].equals(second["value"])
    assert set(second["row"]) == set(PREDICTED_RANKS)

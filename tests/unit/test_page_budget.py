"""The data of the budget panel, from tables small enough to read."""

import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.report.page.budget import budget_panel

TABLE = """\
method,proxy,budget,scores_per_user,pair,metric,right,significantly_wrong,runs
budget,als,50,49.64,A vs B,recall@10,9,0,10
budget,als,20,19.66,B vs A,recall@10,12,0,20
budget,als,20,19.66,B vs A,ap,20,0,20
budget,none,50,50,A vs B,recall@10,3,0,3
bv:0.1,"uniform, shared",50,50,A vs B,recall@10,10,,10
users,all items,50,50,A vs C,recall@10,10,0,10
unknown,uniform,50,50,A vs B,recall@10,10,0,10
"""


@pytest.fixture
def orders(tmp_path):
    path = tmp_path / "orders.csv"
    path.write_text(TABLE)
    return path


def test_points_are_of_pairs_in_either_order_by_price(orders):
    # one method is left: 3 runs are too few, and the others have no curve or another pair
    assert budget_panel(orders, ["A", "B"]) == {
        "labels": ["Recall@10", "AP"],
        "methods": [
            {
                "name": "Budget, ALS-8",
                "points": {
                    "recall@10": {"0,1": [(19.7, 12, 20), (49.6, 9, 10)]},
                    "ap-all": {"0,1": [(19.7, 20, 20)]},
                },
            }
        ],
    }


def test_places_are_those_of_the_run(orders):
    panel = budget_panel(orders, ["C", "B", "A"])
    found = [(each["name"], *each["points"]["recall@10"]) for each in panel["methods"]]
    assert found == [("All items of some users", "0,2"), ("Budget, ALS-8", "1,2")]


@pytest.mark.parametrize("names", [["A"], ["A", "D"], []])
def test_without_a_pair_there_is_no_panel(orders, names):
    assert budget_panel(orders, names) is None


def test_another_table_is_refused(orders):
    orders.write_text("method,proxy\nsampled,uniform\n")
    with pytest.raises(InputError, match="scores_per_user"):
        budget_panel(orders, ["A", "B"])

import re

import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.catalogue import CATALOGUE
from sampled_metrics.datasets.definition import Definition
from sampled_metrics.datasets.source import describe_table
from sampled_metrics.datasets.table_format import TableFormat
from tests.conftest import write_archive


def test_movielens_is_the_default():
    assert Definition.of({}) == Definition("ml-1m")
    settings = {"format": "movielens", "name": "ml-25m", "columns": None, "separator": None}
    assert Definition.of(settings) == Definition("ml-25m")
    assert Definition.of(settings).expected == CATALOGUE["ml-25m"].counts


def test_table():
    settings = {"format": "table", "name": "mine", "columns": {"user": "u"}, "separator": ";",
                "licence": "CC0", "citation": "Me"}  # fmt: skip
    table = Definition.of(settings)
    assert table == Definition("mine", TableFormat({"user": "u"}, ";"), "CC0", "Me")
    assert table.expected is None
    assert Definition.of({"format": "table"}) == Definition("table", TableFormat())


def test_reads_either(tmp_path):
    archive = write_archive(tmp_path / "a.zip", b"1\t2\t3\t4\n", member="ml-100k/u.data")
    (tmp_path / "t.csv").write_text("user,item,rating\n1,2,3\n")
    for definition, path in (
        (Definition.of({"name": "ml-100k"}), archive),
        (Definition.of({"format": "table"}), tmp_path / "t.csv"),
    ):
        events = definition.read(path, with_rating=True)
        assert (events.user[0], events.item[0], events.rating[0]) == (1, 2, 3)
        assert definition.read(path).rating is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"format": "csv"}, "dataset: format is 'csv'; allowed: movielens, table"),
        ({"path": "x"}, "dataset: unknown key 'path'; known: format, name, columns, separator, li"),
        ({"name": 7}, "dataset: name is 7; allowed: text"),
        ({"name": "ml-2m"}, "unknown dataset 'ml-2m'; known: ml-100k, ml-1m"),
        ({"separator": ","}, "dataset: separator is for the format table alone"),
        ({"name": "ml-1m", "licence": "x"}, "dataset: licence is for the format table alone"),
        ({"format": "table", "citation": 7}, "dataset: citation is 7; allowed: text"),
        ({"format": "table", "columns": "user"}, "dataset: columns is 'user'; allowed: names by"),
    ],
)
def test_settings_that_are_not_allowed(settings, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        Definition.of(settings)


def test_origin_of_a_table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"hello\n")
    source = describe_table(path, "mine", citation="Me").as_dict()
    # sha256sum of "hello\n"
    checksum = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
    assert source == {
        "dataset": "mine", "origin": "table", "archive": "t.csv", "archive_sha256": checksum,
        "archive_is_official": None, "bytes": 6, "checksum": None, "checksum_verified": False,
        "ratings_sha256": checksum, "ratings_is_official": None,
        "licence": None, "licence_url": None, "citation": "Me",
    }  # fmt: skip
    with pytest.raises(InputError, match=r"gone\.csv: No such file or directory; expected a table"):
        describe_table(tmp_path / "gone.csv", "mine")

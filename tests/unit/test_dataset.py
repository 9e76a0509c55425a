"""What the settings of a dataset say, and reading either kind of it."""

import json
from dataclasses import asdict

import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.catalogue import CATALOGUE
from sampled_metrics.datasets.fetch import describe_tables
from sampled_metrics.datasets.reading import read_dataset
from sampled_metrics.datasets.settings import Columns, DatasetSettings
from tests.conftest import write_archive


def test_published_datasets():
    assert DatasetSettings().published == CATALOGUE["ml-1m"]
    assert DatasetSettings(name="ml-25m").published == CATALOGUE["ml-25m"]
    assert DatasetSettings(format="table", name="mine").published is None


def test_columns_to_read():
    columns = Columns(user="u", rating=None)
    assert columns.by_role == {"user": "u", "item": "item", "timestamp": "timestamp"}
    assert columns.required == ["u", "item"]
    settings = DatasetSettings(
        format="table", name="mine", columns=columns, separator=";", licence="CC0", citation="Me"
    )
    again = DatasetSettings.of(json.loads(settings.without_places().as_json()), "again")
    assert again.columns.required == columns.required
    assert again == settings
    places = Columns(user=0, item=2)
    assert not places.has_header
    assert places.by_role == {"user": "0", "item": "2"}


def test_reads_either(tmp_path):
    archive = write_archive(tmp_path / "a.zip", b"1\t2\t3\t4\n", member="ml-100k/u.data")
    (tmp_path / "t.csv").write_text("user,item,rating\n1,2,3\n")
    for settings, path in (
        (DatasetSettings(name="ml-100k"), archive),
        (DatasetSettings(format="table", name="mine"), tmp_path / "t.csv"),
    ):
        events = read_dataset(path, settings, with_rating=True)
        assert (events.user[0], events.item[0], events.rating[0]) == (1, 2, 3)
        assert read_dataset(path, settings).rating is None


def test_origin_of_a_table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"hello\n")
    settings = DatasetSettings(format="table", name="mine", citation="Me")
    source = asdict(describe_tables([path], settings))
    # sha256sum of "hello\n"
    checksum = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
    assert source == {
        "dataset": "mine", "origin": "table", "archive": "t.csv", "archive_sha256": checksum,
        "archive_is_official": None, "bytes": 6, "checksum": None, "checksum_verified": False,
        "ratings_sha256": checksum, "ratings_is_official": None,
        "licence": None, "licence_url": None, "citation": "Me",
    }  # fmt: skip
    with pytest.raises(InputError, match=r"gone\.csv: no such file; expected a table"):
        describe_tables([tmp_path / "gone.csv"], settings)

import hashlib
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.archive import Ratings, read_archive
from sampled_metrics.datasets.catalogue import ML_1M, movielens
from sampled_metrics.datasets.movielens import parse_ratings
from tests.conftest import as_ratings, synthetic_interactions, write_archive

GOOD = b"1::10::5::978300760\n1::20::3::978302109\n2::10::4::978301968\n2::5::1::978300275\n"


def test_columns_in_file_order():
    events = parse_ratings(Ratings.of(GOOD, "good"))
    np.testing.assert_array_equal(events.user, [1, 1, 2, 2])
    np.testing.assert_array_equal(events.item, [10, 20, 10, 5])
    np.testing.assert_array_equal(events.timestamp, [978300760, 978302109, 978301968, 978300275])
    assert (events.user.dtype, events.timestamp.dtype) == (np.int32, np.int64)
    assert len(events) == 4


def test_last_line_end_may_be_missing():
    assert len(parse_ratings(Ratings.of(GOOD[:-1], "good"))) == 4


def test_agrees_with_reading_line_by_line():
    interactions = synthetic_interactions()
    events = parse_ratings(Ratings.of(as_ratings(interactions), "synthetic"))
    for column in ("user", "item", "timestamp"):
        np.testing.assert_array_equal(getattr(events, column), getattr(interactions, column))


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b"1::2::3", "'1::2::3'"),
        (b"1::2::3::4::5", "'1::2::3::4::5'"),
        (b"1::2::3::four", "'1::2::3::four'"),
        (b"1:2:3:4", "'1:2:3:4'"),
        (b"1::2::::4", "'1::2::::4'"),
        (b"1:::2::3::4", "'1:::2::3::4'"),
        (b" 1::2::3::4", "' 1::2::3::4'"),
        (b"1::2::3::4\r", r"'1::2::3::4\\r'"),
        (b"1::2::3.5::4", "'1::2::3.5::4'"),
        (b"-1::2::3::4", "'-1::2::3::4'"),
        (b"1,2,3,4", "'1,2,3,4'"),
        (b"", "''"),
        (b"1::99999999999::3::4", "'1::99999999999::3::4'"),
        (b"\xff\xfe", "'ÿþ'"),
    ],
)
def test_malformed_line_is_named(line, found):
    content = GOOD + line + b"\n" + b"2::7::4::1\n"
    expected = f"bad, line 5: found {found}; expected user::item::rating::timestamp, four whole"
    with pytest.raises(InputError, match=f"^{expected}".replace("(", r"\(")) as caught:
        parse_ratings(Ratings.of(content, "bad"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "bad: empty; expected lines of user::item::rating::timestamp"),
        (GOOD + b"3::1::0::9\n", "line 5: found '3::1::0::9'; expected a rating from 1 to 5"),
        (GOOD + b"3::1::6::9\n", "line 5: found '3::1::6::9'; expected a rating from 1 to 5"),
        (
            GOOD + b"1::10::4::1\n",
            "line 5: found '1::10::4::1', user and item of line 1 again; expected each",
        ),
        (
            GOOD + b"2::5::4::1\n1::10::4::1\n",
            "line 5: found '2::5::4::1', user and item of line 4 again; expected each",
        ),
        (GOOD + b"3::1::5::9\n", "line 5: found the only event of user 3; expected at least two"),
    ],
)
def test_impossible_content_is_named(content, message):
    with pytest.raises(InputError, match=message):
        parse_ratings(Ratings.of(content, "bad"))


def test_reads_the_member_by_name(tmp_path):
    path = write_archive(tmp_path / "ml.zip", GOOD)
    ratings = read_archive(path)
    with ratings.open() as file:
        assert file.read() == GOOD
    assert ratings.name == f"{path}:ml-1m/ratings.dat"
    assert not ratings.is_official


def test_other_members_are_never_written(tmp_path):
    path = tmp_path / "in" / "ml.zip"
    write_archive(path, GOOD)
    with zipfile.ZipFile(path, "a") as zipped:
        zipped.writestr("../../escaped", b"out")
        zipped.writestr("/tmp/escaped-absolute", b"out")
    read_archive(path)
    assert sorted(entry.name for entry in tmp_path.rglob("*")) == ["in", "ml.zip"]


def test_archives_that_are_none(tmp_path):
    text = tmp_path / "text.zip"
    text.write_bytes(b"not a zip archive")
    with pytest.raises(InputError, match=r"text\.zip: not a readable zip archive"):
        read_archive(text)
    with pytest.raises(InputError, match=r"gone\.zip: not a readable zip archive"):
        read_archive(tmp_path / "gone.zip")
    other = write_archive(tmp_path / "other.zip", GOOD, member="ml-100k/u.data")
    with pytest.raises(InputError, match=r"other\.zip: holds no ml-1m/ratings\.dat; expected"):
        read_archive(other)
    whole = write_archive(tmp_path / "whole.zip", GOOD * 100).read_bytes()
    at = whole.index(b"ratings.dat") + 20
    damaged = tmp_path / "damaged.zip"
    damaged.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
    for read in (parse_ratings, lambda ratings: ratings.sha256):
        with pytest.raises(InputError, match=r"damaged\.zip: not a readable zip archive"):
            read(read_archive(damaged))


def test_official_file_is_told_by_length_and_blob_id():
    ratings = Ratings.of(b"hello\n", "greeting")  # git hash-object of "hello\n" is ce01362...
    assert not ratings.is_official
    blob = "ce013625030ba8dba906f756967f9e9ca394464a"
    published = replace(ML_1M, ratings_bytes=6, ratings_git_blob=blob)
    assert Ratings.of(b"hello\n", "greeting", published).is_official
    assert Ratings.of(b"hello\n", "greeting", movielens("ml-20m")).is_official is None
    assert ratings.sha256 == hashlib.sha256(b"hello\n").hexdigest()

"""Archives and ratings files of each MovieLens: what is read, and errors in lines that differ."""

import hashlib
import io
import zipfile
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.catalogue import CATALOGUE, ML_1M
from sampled_metrics.datasets.filters import apply_filters
from sampled_metrics.datasets.movielens import Ratings, read_archive, read_ratings
from tests.conftest import as_ratings, synthetic_interactions, write_archive

HEADER = "userId,movieId,rating,timestamp"
LINES = {
    "ml-100k": "1\t10\t5\t978300760\n1\t20\t3\t978302109\n",
    "ml-1m": "1::10::5::978300760\n1::20::3::978302109\n",
    "ml-10m": "1::10::5::978300760\n1::20::3.5::978302109\n",
    "ml-20m": f"{HEADER}\n1,10,5.0,978300760\n1,20,3.5,978302109\n",
    "ml-latest-small": f"{HEADER}\r\n1,10,5.0,978300760\r\n1,20,0.5,978302109\r\n",
}


def ratings_of(name, text):
    return of_bytes(text.encode("latin-1"), CATALOGUE[name])


def of_bytes(content, dataset=ML_1M):
    return Ratings(lambda: nullcontext(io.BytesIO(content)), len(content), "file", dataset)


@pytest.mark.parametrize("name", LINES)
def test_events_of_each_layout(name):
    events = read_ratings(ratings_of(name, LINES[name]), with_rating=True)
    assert events.user.tolist() == [1, 1]
    assert events.item.tolist() == [10, 20]
    assert events.timestamp.tolist() == [978300760, 978302109]
    second = {"ml-100k": 3, "ml-1m": 3, "ml-latest-small": 0.5}.get(name, 3.5)
    assert events.rating.tolist() == [5, second]
    types = (events.user.dtype, events.item.dtype, events.timestamp.dtype, events.rating.dtype)
    assert types == (np.int32, np.int32, np.int64, np.float32)
    assert read_ratings(ratings_of(name, LINES[name])).rating is None


@pytest.mark.parametrize("name", CATALOGUE)
def test_member_of_each_archive(tmp_path, name):
    dataset = CATALOGUE[name]
    text = next(
        text for key, text in LINES.items() if CATALOGUE[key].layout == dataset.layout
    ).encode()
    path = write_archive(tmp_path / "a.zip", text, member=dataset.member)
    ratings = read_archive(path, dataset)
    assert (ratings.size, ratings.path) == (len(text), f"{path}:{dataset.member}")
    assert len(read_ratings(ratings)) == 2
    other = next(each for each in CATALOGUE.values() if each.member != dataset.member)
    message = rf"a\.zip: lacks {other.member}; expected a {other.title} archive"
    with pytest.raises(InputError, match=message):
        read_archive(path, other)


TABS = "user, item, rating, timestamp with tabs between, four whole numbers"
COLONS = "user::item::rating::timestamp, "
CSV = f"{HEADER}, the rating in half stars"


@pytest.mark.parametrize(
    ("name", "line", "expected"),
    [
        ("ml-100k", "1::2::3::4", TABS),
        ("ml-100k", "1\t2\t3.5\t4", TABS),
        ("ml-1m", "1::2::3", COLONS),
        ("ml-1m", "1::2::3::4::5", COLONS),
        ("ml-1m", "1::2::3::four", COLONS),
        ("ml-1m", "1::2::::4", COLONS),
        ("ml-1m", "1:::2::3::4", COLONS),
        ("ml-1m", " 1::2::3::4", COLONS),
        ("ml-1m", "1::2::3::4\r", COLONS),
        ("ml-1m", "1::2::3.5::4", COLONS),
        ("ml-1m", "-1::2::3::4", COLONS),
        ("ml-1m", "", COLONS),
        ("ml-1m", "\xff\xfe", COLONS),
        ("ml-10m", "1:2::3::4", COLONS),
        ("ml-10m", "1.0::2::3::4", COLONS),
        ("ml-10m", "1::2::1e0::4", COLONS),
        ("ml-20m", "1,2,,4", CSV),
        ("ml-20m", "1,2,nan,4", CSV),
        ("ml-20m", "0x1,2,3.0,4", CSV),
        ("ml-20m", "1,2,3.0,4.5", CSV),
        ("ml-20m", "1,99999999999,3.0,4", CSV),
        ("ml-20m", '"1",2,3.0,4', CSV),
    ],
)
def test_line_that_is_not_as_in_its_dataset(name, line, expected):
    last = LINES[name].splitlines(keepends=True)[-1]
    with pytest.raises(InputError) as caught:
        read_ratings(ratings_of(name, f"{LINES[name]}{line}\n{last}"))
    error = caught.value
    assert (error.path, error.line) == ("file", LINES[name].count("\n") + 1)
    assert error.problem.startswith(f"found {line!r}; expected {expected}")


@pytest.mark.parametrize(
    ("name", "line", "problem"),
    [
        ("ml-100k", "1\t2\t6\t4", "found rating 6; expected a rating from 1 to 5"),
        ("ml-1m", "1::2::0::4", "found rating 0; expected a rating from 1 to 5"),
        ("ml-10m", "1::2::0::4", "found rating 0; expected a rating from 0.5 to 5 by halves"),
        ("ml-20m", "1,2,3.7,4", "found rating 3.7; expected a rating from 0.5 to 5 by halves"),
        ("ml-20m", "1,2,5.5,4", "found rating 5.5; expected a rating from 0.5 to 5 by halves"),
    ],
)
def test_rating_that_is_not_of_the_scale(name, line, problem):
    with pytest.raises(InputError) as caught:
        read_ratings(ratings_of(name, f"{LINES[name]}{line}\n"))
    assert (caught.value.row, caught.value.line) == (3, LINES[name].count("\n") + 1)
    assert caught.value.problem == problem


@pytest.mark.parametrize(
    ("more", "row", "problem"),
    [
        ("1::10::4::1\n", 3, "duplicate of row 1 (user 1, item 10); "),
        ("2::5::4::1\n1::20::4::1\n2::5::4::1\n", 4, "duplicate of row 2 (user 1, item 20); "),
        ("3::1::5::9\n", 3, "the only event of user 3; "),
    ],
)
def test_events_that_no_split_can_use(more, row, problem):
    with pytest.raises(InputError) as caught:
        apply_filters(read_ratings(ratings_of("ml-1m", LINES["ml-1m"] + more)))
    assert (caught.value.row, caught.value.line) == (row, row)
    assert caught.value.problem.startswith(problem)


def test_header_must_be_there():
    with pytest.raises(InputError) as caught:
        read_ratings(ratings_of("ml-20m", "1,10,5.0,7"))
    assert str(caught.value) == f"file, line 1: found '1,10,5.0,7'; expected the header {HEADER}"


@pytest.mark.parametrize(("name", "text"), [("ml-20m", f"{HEADER}\n"), ("ml-1m", "")])
def test_file_without_ratings(name, text):
    with pytest.raises(InputError, match=r"^file: no ratings; expected lines of "):
        read_ratings(ratings_of(name, text))


def test_last_line_end_may_be_missing():
    assert len(read_ratings(ratings_of("ml-1m", LINES["ml-1m"][:-1]))) == 2


def test_agrees_with_what_was_written():
    interactions = synthetic_interactions()
    events = read_ratings(of_bytes(as_ratings(interactions)))
    for column in ("user", "item", "timestamp"):
        np.testing.assert_array_equal(getattr(events, column), getattr(interactions, column))


@pytest.mark.parametrize("at", [0, 70_000, 199_999])
def test_fault_in_any_block(at):
    lines = [f"{event},7,4.5,{event}" for event in range(200_000)]  # some three blocks
    lines[at] = "7;7;4.5;7"
    with pytest.raises(InputError, match=r"found '7;7;4\.5;7'; expected") as caught:
        read_ratings(ratings_of("ml-20m", "\n".join([HEADER, *lines])))
    assert caught.value.line == at + 2


def test_file_is_read_block_by_block():
    sizes = []

    class Recorder(io.BytesIO):
        def read(self, size=-1):
            sizes.append(size)
            return super().read(size)

    content = b"".join(b"%d::7::5::%d\n" % (event, event) for event in range(200_000))
    name = CATALOGUE["ml-1m"]
    ratings = Ratings(lambda: nullcontext(Recorder(content)), len(content), "file", name)
    assert len(read_ratings(ratings)) == 200_000
    assert len(ratings.sha256) == 64
    assert len(content) > 3 << 20
    assert 0 < min(sizes) <= max(sizes) <= 1 << 20


@given(
    st.sampled_from(["ml-100k", "ml-10m", "ml-20m"]),
    st.lists(
        st.tuples(
            st.integers(0, 10**9 - 1), st.integers(0, 10**9 - 1),
            st.integers(1, 5), st.integers(0, 10**18 - 1),
        ),
        min_size=1,
    ),
)  # fmt: skip
def test_agrees_with_splitting_lines(name, rows):
    layout = CATALOGUE[name].layout
    lines = [layout.separator.join(map(str, row)) for row in rows]
    text = "\n".join([layout.header, *lines] if layout.header else lines)
    events = read_ratings(ratings_of(name, text), with_rating=True)
    columns = (events.user, events.item, events.rating, events.timestamp)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == rows


GOOD = LINES["ml-1m"].encode()


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
    whole = write_archive(tmp_path / "whole.zip", GOOD * 100).read_bytes()
    at = whole.index(b"ratings.dat") + 20
    damaged = tmp_path / "damaged.zip"
    damaged.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
    for read in (read_ratings, lambda ratings: ratings.sha256):
        with pytest.raises(InputError, match=r"damaged\.zip: not a readable zip archive"):
            read(read_archive(damaged))


def test_official_file_is_told_by_its_blob_id():
    ratings = of_bytes(b"hello\n")  # git hash-object of "hello\n" is ce01362...
    assert not ratings.is_official
    blob = "ce013625030ba8dba906f756967f9e9ca394464a"
    published = replace(ML_1M, ratings_git_blob=blob)
    assert of_bytes(b"hello\n", published).is_official
    assert of_bytes(b"hello\n", CATALOGUE["ml-20m"]).is_official is None
    assert ratings.sha256 == hashlib.sha256(b"hello\n").hexdigest()

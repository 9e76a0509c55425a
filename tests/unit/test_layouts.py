"""Ratings files of each MovieLens: what is read, and what is said of lines that differ."""

import io
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.archive import Ratings, read_archive
from sampled_metrics.datasets.catalogue import CATALOGUE, movielens
from sampled_metrics.datasets.movielens import parse_ratings, read_ratings
from tests.conftest import write_archive

HEADER = "userId,movieId,rating,timestamp"
LINES = {
    "ml-100k": "1\t10\t5\t978300760\n1\t20\t3\t978302109\n",
    "ml-1m": "1::10::5::978300760\n1::20::3::978302109\n",
    "ml-10m": "1::10::5::978300760\n1::20::3.5::978302109\n",
    "ml-20m": f"{HEADER}\n1,10,5.0,978300760\n1,20,3.5,978302109\n",
    "ml-latest-small": f"{HEADER}\r\n1,10,5.0,978300760\r\n1,20,0.5,978302109\r\n",
}


def ratings_of(name, text):
    return Ratings.of(text.encode("latin-1"), "file", movielens(name))


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
    dataset = movielens(name)
    text = next(
        text for key, text in LINES.items() if movielens(key).layout == dataset.layout
    ).encode()
    path = write_archive(tmp_path / "a.zip", text, member=dataset.member)
    ratings = read_archive(path, dataset)
    assert (ratings.size, ratings.name) == (len(text), f"{path}:{dataset.member}")
    assert len(parse_ratings(ratings)) == 2
    other = next(each for each in CATALOGUE.values() if each.member != dataset.member)
    message = rf"a\.zip: holds no {other.member}; expected a {other.title} archive"
    with pytest.raises(InputError, match=message):
        read_archive(path, other)


CSV = f"{HEADER}, the rating in half stars"


@pytest.mark.parametrize(
    ("name", "line", "number", "expected"),
    [
        ("ml-100k", "1::2::3::4", 3, "user, item, rating, timestamp with tabs between, four whole"),
        ("ml-100k", "1\t2\t3.5\t4", 3, "user, item, rating, timestamp with tabs between"),
        ("ml-100k", "1\t2\t3", 3, "user, item, rating, timestamp with tabs between"),
        ("ml-10m", "1::2::3", 3, "user::item::rating::timestamp, the rating in half stars"),
        ("ml-10m", "1:2:3:4", 3, "user::item::rating::timestamp, the rating in half stars"),
        ("ml-10m", "1:2::3::4", 3, "user::item::rating::timestamp, the rating in half stars"),
        ("ml-10m", "1.0::2::3::4", 3, "user::item::rating::timestamp, the rating in half stars"),
        ("ml-10m", "1::2::1e0::4", 3, "user::item::rating::timestamp, the rating in half stars"),
        ("ml-20m", "1,2,3", 4, CSV),
        ("ml-20m", "1,2,,4", 4, CSV),
        ("ml-20m", "1,2,nan,4", 4, CSV),
        ("ml-20m", "1, 2,3.0,4", 4, CSV),
        ("ml-20m", "0x1,2,3.0,4", 4, CSV),
        ("ml-20m", "1,2,3.0,4.5", 4, CSV),
        ("ml-20m", "1,99999999999,3.0,4", 4, CSV),
        ("ml-20m", "", 4, CSV),
        ("ml-20m", '"1",2,3.0,4', 4, CSV),
        ("ml-100k", "1\t2\t6\t4", 3, "a rating from 1 to 5"),
        ("ml-10m", "1::2::0::4", 3, "a rating from 0.5 to 5 by halves"),
        ("ml-20m", "1,2,3.7,4", 4, "a rating from 0.5 to 5 by halves"),
        ("ml-20m", "1,2,5.5,4", 4, "a rating from 0.5 to 5 by halves"),
    ],
)
def test_line_that_is_not_as_in_its_dataset(name, line, number, expected):
    last = LINES[name].splitlines(keepends=True)[-1]
    with pytest.raises(InputError) as caught:
        read_ratings(ratings_of(name, f"{LINES[name]}{line}\n{last}"))
    assert str(caught.value).startswith(f"file, line {number}: found {line!r}; expected {expected}")
    assert "\n" not in str(caught.value)


def test_header_must_be_there():
    message = f"^file, line 1: found '1,10,5.0,7'; expected the header {HEADER}$"
    with pytest.raises(InputError, match=message):
        read_ratings(ratings_of("ml-20m", "1,10,5.0,7"))
    with pytest.raises(InputError, match=f"^file: empty; expected lines of {CSV}$"):
        read_ratings(ratings_of("ml-20m", f"{HEADER}\n"))


@pytest.mark.parametrize("at", [0, 70_000, 199_999])
def test_fault_in_any_block(at):
    lines = [f"{event},7,4.5,{event}" for event in range(200_000)]  # some three blocks
    lines[at] = "7;7;4.5;7"
    with pytest.raises(InputError, match=f"^file, line {at + 2}: found '7;7;4.5;7'; expected"):
        read_ratings(ratings_of("ml-20m", "\n".join([HEADER, *lines])))


def test_file_is_read_block_by_block():
    sizes = []

    class Recorder(io.BytesIO):
        def read(self, size=-1):
            sizes.append(size)
            return super().read(size)

    content = b"".join(b"%d::7::5::%d\n" % (event, event) for event in range(200_000))
    name = movielens("ml-1m")
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
    layout = movielens(name).layout
    lines = [layout.separator.join(map(str, row)) for row in rows]
    text = "\n".join([layout.header, *lines] if layout.header else lines)
    events = read_ratings(ratings_of(name, text), with_rating=True)
    columns = (events.user, events.item, events.rating, events.timestamp)
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == rows

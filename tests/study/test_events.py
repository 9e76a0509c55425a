"""Archives of all MovieLens data sets and tables of interactions: ids, times and errors."""

import csv
import datetime as dt
import gzip
import os
import re
import resource
import subprocess
import sys
import zipfile
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics._base.arrow import positions
from sampled_metrics._base.errors import InputError
from sampled_metrics_study.data.archive import read_member
from sampled_metrics_study.data.events import (
    read_dataset,
    read_interactions,
    read_ratings,
)
from sampled_metrics_study.data.filters import apply_filters
from sampled_metrics_study.data.movielens import CATALOGUE, CITATION
from sampled_metrics_study.data.settings import Columns, DatasetSettings
from tests.conftest import ROOT, write_archive

HEADER = "userId,movieId,rating,timestamp"
HALVES = f"{HEADER}\n1,10,5.0,978300760\n1,20,3.5,978302109\n"
LINES = {
    "ml-100k": "1\t10\t5\t978300760\n1\t20\t3\t978302109\n",
    "ml-1m": "1::10::5::978300760\n1::20::3::978302109\n",
    "ml-10m": "1::10::5::978300760\n1::20::3.5::978302109\n",
    "ml-20m": HALVES,
    "ml-25m": HALVES,
    "ml-32m": HALVES,
    "ml-latest-small": HALVES.replace("\n", "\r\n"),
}
# Numbers of users, rated items and ratings of each archive.
COUNTS = {
    "ml-100k": (943, 1682, 100_000),
    "ml-1m": (6040, 3706, 1_000_209),
    "ml-10m": (69_878, 10_677, 10_000_054),
    "ml-20m": (138_493, 26_744, 20_000_263),
    "ml-25m": (162_541, 59_047, 25_000_095),
    "ml-32m": (200_948, 84_432, 32_000_204),
    "ml-latest-small": (610, 9724, 100_836),
}


@pytest.fixture(scope="module")
def archive_of(tmp_path_factory):
    """A function that writes a text into an archive."""
    path = tmp_path_factory.mktemp("archives") / "a.zip"
    return lambda name, text: write_archive(path, text.encode("latin-1"), CATALOGUE[name].member)


def columns_of(events):
    columns = (events.user, events.item, events.rating, events.timestamp)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("name", LINES)
def test_catalogue_has_counts_address_and_licence(name):
    dataset = CATALOGUE[name]
    assert tuple(dataset.counts.values()) == COUNTS[name]
    assert dataset.url == f"https://files.grouplens.org/datasets/movielens/{name}.zip"
    assert "commercial" in dataset.licence
    assert f"/movielens/{name}-README." in dataset.licence_url


def test_all_archives_but_the_latest_have_a_checksum():
    """An MD5 has 32 and a SHA-256 has 64 hexadecimal digits."""
    assert CATALOGUE.keys() == LINES.keys()
    checksums = {name: dataset.checksum for name, dataset in CATALOGUE.items()}
    assert checksums.pop("ml-latest-small") is None
    form = r"md5:[0-9a-f]{32}|sha256:[0-9a-f]{64}"
    assert all(re.fullmatch(form, checksum) for checksum in checksums.values())


def test_citation_has_the_address_of_the_article():
    assert "10.1145/2827872" in CITATION


@pytest.mark.parametrize("name", CATALOGUE)
def test_largest_member_is_2_to_4_times_published(name):
    """The limit is 28 bytes of the file for each rating, or 64 MiB."""
    ratings, small = COUNTS[name][2], 64 * 2**20
    largest = CATALOGUE[name].largest_member
    assert max(small, 56 * ratings) <= largest <= max(small, 112 * ratings)


@pytest.mark.parametrize("name", CATALOGUE)
def test_read_dataset_of_each_movielens(archive_of, name):
    path, settings = archive_of(name, LINES[name]), DatasetSettings(name=name)
    events = read_dataset(path, settings)
    second = 3.0 if name in ("ml-100k", "ml-1m") else 3.5
    assert columns_of(events) == [(1, 10, 5.0, 978300760), (1, 20, second, 978302109)]
    columns = (events.user, events.item, events.timestamp, events.rating)
    types = [column.dtype for column in columns]
    assert types == [np.int32, np.int32, np.int64, np.float32]


@given(
    st.sampled_from(list(CATALOGUE)),
    st.lists(
        st.tuples(
            st.integers(0, 10**9 - 1), st.integers(0, 10**9 - 1),
            st.integers(1, 5), st.integers(0, 10**18 - 1),
        ),
        min_size=1,
    ),
)  # fmt: skip
def test_read_ratings_matches_splitting_lines(archive_of, name, rows):
    layout = CATALOGUE[name].layout
    lines = [layout.separator.join(map(str, row)) for row in rows]
    if layout.header:
        lines.insert(0, layout.header)
    path = archive_of(name, "\n".join([*lines, ""]))
    events = read_ratings(path, CATALOGUE[name])
    assert columns_of(events) == rows


@pytest.mark.parametrize("name", ["ml-1m", "ml-10m", "ml-20m"])
def test_read_ratings_accepts_scale_only(archive_of, name):
    layout = CATALOGUE[name].layout
    steps = 10 if layout.half_stars else 5
    scale = {5 * step / steps for step in range(1, steps + 1)}
    for rating in [*(quarter / 4 for quarter in range(24)), 10.0, 50.0]:
        for written in {f"{rating:g}", str(rating)}:
            row = ("1", "2", written, "4")
            path = archive_of(name, LINES[name] + layout.separator.join(row) + "\n")
            if rating in scale and (layout.half_stars or "." not in written):
                events = read_ratings(path, CATALOGUE[name])
                assert events.rating[-1] == rating
            else:
                with pytest.raises(InputError, match=re.escape(written)):
                    read_ratings(path, CATALOGUE[name])


TABS = "user, item, rating, timestamp with tabs between, whole numbers and a rating of 1, 2 ... 5"
COLONS = "user::item::rating::timestamp, whole numbers and a rating of 1, 2 ... 5"
HALF_COLONS = "user::item::rating::timestamp, whole numbers and a rating of 0.5, 1 ... 5"
COMMAS = "user,item,rating,timestamp, whole numbers and a rating of 0.5, 1 ... 5"
NOT_AS_IN_ITS_DATASET = [
    ("ml-100k", TABS, ["1::2::3::4", "1\t2\t3.5\t4", "1\t\t3\t4"]),
    (
        "ml-1m",
        COLONS,
        [
            *("3::a::4::5", "0x10::1::3::4", " 3::1::3::4", "-3::1::3::4", "1::2::3"),
            *("1::2::3::4::5", "1::2::3::four", "1::2::::4", "1:::2::3::4", "1::2::3::4\r"),
            *("1::2::3.5::4", "1::2::0::4", "1::2::6::4", "", "\xff\xfe", "+1::2::3::4"),
            "1::99999999999::3::4",
        ],
    ),
    ("ml-10m", HALF_COLONS, ["1:2::3::4", "1.0::2::3::4", "1::2::1e0::4", "1::2::0::4"]),
    (
        "ml-20m",
        COMMAS,
        [
            *("1,2,,4", "1,2,3.7,4", "1,2,nan,4", "0x1,2,3.0,4", "1,2,3.0,4.5", '"1",2,3.0,4'),
            "1,2,3.0",
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "expected", "wrong_lines"), NOT_AS_IN_ITS_DATASET)
def test_wrong_line_is_quoted_with_number(archive_of, name, expected, wrong_lines):
    last = LINES[name].splitlines(keepends=True)[-1]
    number = LINES[name].count("\n") + 1
    for line in wrong_lines:
        path = archive_of(name, f"{LINES[name]}{line}\n{last}")
        with pytest.raises(InputError, match=re.escape(repr(line))) as caught:
            read_ratings(path, CATALOGUE[name])
        place = (f"{path}:{CATALOGUE[name].member}", number)
        assert (caught.value.path, caught.value.line) == place, line
        assert repr(line) in caught.value.problem
        assert caught.value.problem.endswith(expected), line
        assert f", line {number}: " in str(caught.value)


@pytest.mark.parametrize("name", CATALOGUE)
def test_truncated_file_is_refused(archive_of, name):
    text = LINES[name].removesuffix("\n").removesuffix("\r")
    for cut in (1, 3, 9):
        path = archive_of(name, text[: len(text) + 1 - cut])
        with pytest.raises(InputError, match="cut off") as caught:
            read_ratings(path, CATALOGUE[name])
        assert caught.value.line == LINES[name].count("\n"), cut


@pytest.mark.parametrize(
    ("name", "lines", "problem"),
    [
        ("ml-1m", "1::10::4::1", "user 1 has item 10 more than once"),
        ("ml-1m", "2::5::4::1\n1::20::4::1", "user 1 has item 20 more than once"),
        ("ml-1m", "3::1::5::9", "user 3 has 1 of the 2 events needed"),
        ("ml-20m", "3,1,5,9", "user 3 has 1 of the 2 events needed"),
    ],
)
def test_unsplittable_events_are_refused(archive_of, name, lines, problem):
    path = archive_of(name, f"{LINES[name]}{lines}\n")
    with pytest.raises(InputError) as caught:
        apply_filters(read_ratings(path, CATALOGUE[name]))
    assert caught.value.path == f"{path}:{CATALOGUE[name].member}"
    assert caught.value.problem.startswith(problem)


@pytest.mark.parametrize("at", [0, 70_000, 199_999])
def test_fault_in_any_block_has_line_number(archive_of, at):
    # about three blocks
    lines = [f"{event},7,4.5,{event}" for event in range(200_000)]
    lines[at] = "7;7;4.5;7"
    path = archive_of("ml-20m", "\n".join([HEADER, *lines, ""]))
    with pytest.raises(InputError, match=r"'7;7;4\.5;7'") as caught:
        read_ratings(path, CATALOGUE["ml-20m"])
    assert caught.value.line == at + 2


def test_missing_header_or_ratings_is_refused(archive_of):
    with pytest.raises(InputError, match=f"line 1: found '1,10,5.0,7'; .*the header {HEADER}"):
        read_ratings(archive_of("ml-20m", "1,10,5.0,7"), CATALOGUE["ml-20m"])
    for name, text in (("ml-20m", f"{HEADER}\n"), ("ml-1m", "")):
        with pytest.raises(InputError, match="ratings"):
            read_ratings(archive_of(name, text), CATALOGUE[name])


def read_member_of_1m(path):
    return read_member(path, CATALOGUE["ml-1m"])


def test_damaged_archive_is_refused(tmp_path):
    (tmp_path / "text.zip").write_bytes(b"not a zip archive")
    write_archive(tmp_path / "other.zip", b"", member="ml-100k/u.data")
    path = write_archive(tmp_path / "damaged.zip", LINES["ml-1m"].encode() * 100)
    content = bytearray(path.read_bytes())
    content[content.index(b"ratings.dat") + 20] ^= 0xFF
    path.write_bytes(content)
    for name in ("text.zip", "other.zip", "gone.zip", "damaged.zip"):
        for read in (read_ratings, read_member_of_1m):
            with pytest.raises(InputError, match=rf"{name}: not a readable MovieLens 1M archive"):
                read(tmp_path / name)


def test_duplicate_member_is_refused(tmp_path):
    path = write_archive(tmp_path / "twice.zip", LINES["ml-1m"].encode())
    with zipfile.ZipFile(path, "a") as zipped, pytest.warns(UserWarning, match="Duplicate name"):
        zipped.writestr("ml-1m/ratings.dat", b"1::10::1::1\n")
    for read in (read_ratings, read_member_of_1m):
        with pytest.raises(InputError, match=r"twice\.zip: ml-1m/ratings\.dat is in .* than once"):
            read(path)


FETCH = """
import sys
from pathlib import Path
from sampled_metrics_study.data.events import read_ratings
from sampled_metrics_study.data.archive import fetch
from sampled_metrics_study.data.settings import DatasetSettings
path = Path(sys.argv[1])
settings = DatasetSettings(archive=str(path))
for read in (read_ratings, lambda path: fetch(path.parent / "out.zip", settings)):
    try:
        read(path)
    except ValueError as error:
        print(error)
"""


@pytest.mark.parametrize("megabytes", [70, pytest.param(1000, marks=pytest.mark.long)])
def test_zip_bomb_is_refused_within_memory(tmp_path, megabytes):
    path, lines = tmp_path / "bomb.zip", b"1::10::5::978300760\n" * 50_000
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as zipped,
        zipped.open("ml-1m/ratings.dat", "w", force_zip64=True) as member,
    ):
        for _ in range(megabytes):
            member.write(lines)
    assert path.stat().st_size < 8 << 20
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/src"}
    done = subprocess.run(
        [sys.executable, "-c", FETCH, str(path)],
        env=environment, capture_output=True, text=True, check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (1 << 30, 1 << 30)),
    )  # fmt: skip
    size = f"{megabytes * 1_000_000:,} bytes; expected at most 67,108,864"
    refused = f"bomb.zip: ml-1m/ratings.dat has {size}"
    assert [line.removeprefix(f"{tmp_path}/") for line in done.stdout.splitlines()] == [refused] * 2
    assert not (tmp_path / "out.zip").exists()


def test_other_members_are_not_extracted(tmp_path):
    path = write_archive(tmp_path / "in" / "ml.zip", LINES["ml-1m"].encode())
    with zipfile.ZipFile(path, "a") as zipped:
        zipped.writestr("../../escaped", b"out")
    assert len(read_ratings(path)) == 2
    assert sorted(entry.name for entry in tmp_path.rglob("*")) == ["in", "ml.zip"]


# Tables of interactions.


@pytest.fixture
def read_table(tmp_path):
    """Write a table, given as text or columns by name, and read it."""

    def reader(content, name="mine.csv", columns=None, separator=None):
        path = tmp_path / name
        if isinstance(content, dict):
            pq.write_table(pa.table(content), path)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_interactions(path, Columns(**columns or {}), separator)

    return reader


def published_pairs(events):
    """Published ids and times of the events."""
    user, item = events.user, events.item
    user = user if events.user_names is None else events.user_names[user]
    item = item if events.item_names is None else events.item_names[item]
    return list(zip(user.tolist(), item.tolist(), strict=True))


def test_read_table_default_columns(read_table):
    events = read_table("timestamp,item,other,user,rating\n9,20,x,1,3.5\n5,10,y,1,0\n")
    assert published_pairs(events) == [(1, 20), (1, 10)]
    assert events.timestamp.tolist() == [9, 5]
    assert events.rating.tolist() == [3.5, 0]
    assert (events.user.dtype, events.rating.dtype) == (np.int32, np.float32)
    assert events.user_names is None
    assert events.item_names is None


@pytest.mark.parametrize(
    ("name", "separator", "content", "pairs"),
    [
        ("a.txt", None, "user\titem\nann\tx\nbob\ty\n", [("ann", "x"), ("bob", "y")]),
        ("a.txt", "|", "user|item\nann|x\nbob|y\n", [("ann", "x"), ("bob", "y")]),
        ("a.csv", ";", "user;item\nann;x\nbob;y\n", [("ann", "x"), ("bob", "y")]),
        ("a.csv", None, "user,item\nann,x\nbob,y\n", [("ann", "x"), ("bob", "y")]),
        pytest.param(
            "a.csv", None, "\n\n,user,,item\n\n0,1,x,20\n1,2,,30\n", [(1, 20), (2, 30)],
            id="empty lines and columns without names",
        ),
        pytest.param(
            "a.tsv.gz", None,
            gzip.compress(b'\xef\xbb\xbf"user"\titem\r\n"a,b"\tx\r\n"say ""no"""\ty'),
            [("a,b", "x"), ('say "no"', "y")],
            id="compressed, with a byte order mark and quotes",
        ),
    ],
)  # fmt: skip
def test_read_table_text(read_table, name, separator, content, pairs):
    events = read_table(content, name, separator=separator)
    assert published_pairs(events) == pairs


# The events of users 1, 2 and 3 in forms that need settings: what the refusal names, the settings.
EVENTS = [(1, 10), (2, 20), (3, 30)]
FORMS = {
    "names of MovieLens": (
        "userId,movieId,rating,timestamp\n1,10,5,7\n2,20,5,8\n3,30,5,9\n",
        "dataset.columns",
        {"columns": {"user": "userId", "item": "movieId"}},
    ),
    "check-ins of Gowalla": (
        "1\t2010-10-19T23:55:27Z\t30.2\t-97.7\t10\n"
        "2\t2010-10-18T22:17:43Z\t30.2\t-97.7\t20\n"
        "3\t2010-10-17T23:42:03Z\t30.2\t-97.7\t30\n",
        "dataset.header",
        {"header": ("user", "timestamp", "latitude", "longitude", "item")},
    ),
    "u.data": (
        "1\t10\t5\t7\n2\t20\t5\t8\n3\t30\t5\t9\n",
        "dataset.header",
        {"header": ("user", "item", "rating", "timestamp")},
    ),
    "ratings.dat": (
        "1::10::5::7\n2::20::5::8\n3::30::5::9\n",
        "dataset.header",
        {"separator": ":", "header": ("user", "a", "item", "b", "rating", "c", "timestamp")},
    ),
}


@pytest.mark.parametrize(("text", "key", "settings"), FORMS.values(), ids=FORMS)
def test_table_is_read_as_its_refusal_says(read_table, tmp_path, text, key, settings):
    with pytest.raises(InputError, match=key):
        read_table(text, "events.txt")
    dataset = DatasetSettings(format="table", name="mine", **settings)
    events = read_dataset(tmp_path / "events.txt", dataset)
    assert published_pairs(events) == EVENTS
    assert len(events.timestamp) == 3


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("ml-100k", "header", ("user", "item", "rating", "timestamp")),
        ("ml-25m", "columns", {"user": "userId", "item": "movieId"}),
    ],
)
def test_unpacked_archive_is_read_as_its_refusal_says(tmp_path, name, key, value):
    text = "userId,movieId,rating,timestamp\n" if key == "columns" else ""
    separator = CATALOGUE[name].layout.separator
    text += "".join(f"{u}{separator}{i}{separator}5{separator}7\n" for u, i in EVENTS)
    path = tmp_path / "unpacked"
    path.write_text(text)
    flat = write_archive(tmp_path / "flat.zip", text.encode(), member="ratings")
    for archive in (path, flat):
        with pytest.raises(InputError, match=rf"format: table.*{key}"):
            read_dataset(archive, DatasetSettings(name=name))
    table = DatasetSettings(format="table", name="mine", **{key: value})
    assert published_pairs(read_dataset(path, table)) == EVENTS


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "latin-1"])
def test_text_in_other_encoding_is_read_once_it_is_utf8(read_table, encoding):
    text = "user,item\nzo\xe9,1\nbob,2\n"
    with pytest.raises(InputError, match="save it as UTF-8"):
        read_table(text.encode(encoding))
    assert published_pairs(read_table(text.encode("utf-8"))) == [("zo\xe9", 1), ("bob", 2)]


def test_zip_archive_as_table_is_read_once_unpacked(tmp_path):
    path = write_archive(tmp_path / "a.zip", b"user,item\n1,10\n", member="a.csv")
    with pytest.raises(InputError, match="unpack"):
        read_interactions(path)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path)
    assert published_pairs(read_interactions(tmp_path / "a.csv")) == [(1, 10)]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_header_beside_a_header_is_refused(tmp_path, name):
    frame = pd.DataFrame({"user": [1], "item": [10]})
    path = tmp_path / name
    frame.to_csv(path, index=False) if name == "a.csv" else frame.to_parquet(path)
    with pytest.raises(InputError, match="header"):
        read_interactions(path, header=("user", "item"))


class TestIds:
    def test_large_ids_stay_numbers(self, read_table):
        events = read_table(f"user,item\n{2**40},1\n7,1\n")
        assert published_pairs(events) == [(2**40, 1), (7, 1)]
        assert events.user_names.tolist() == [7, 2**40]
        assert events.user_names.dtype == np.int64

    @pytest.mark.parametrize("odd", ["007", "+7", "-0", "7.0", "0x7", "9" * 30, "NA", "null"])
    def test_odd_spelling_makes_all_ids_text(self, read_table, odd):
        events = read_table(f"user,item\n{odd},1\n7,1\n12,1\n")
        assert published_pairs(events) == [(odd, 1), ("7", 1), ("12", 1)]
        assert events.user_names.tolist() == sorted([odd, "7", "12"])
        assert events.user.dtype == np.int32

    @pytest.mark.parametrize(
        "column",
        [
            pa.array([7, 12, 7], pa.uint8()),
            pa.array([7, 2**63 - 1, 7], pa.uint64()),
            pa.array([7, 2**40, 7], pa.uint64()).dictionary_encode(),
            pa.array(["b", "a", "b"], pa.large_string()),
            pa.array(["b", "a", "b"]).dictionary_encode(),
            pa.DictionaryArray.from_arrays([2, 1, 2], ["unused", "a", "b"]),
            pa.array(["07", "7", "07"]),
        ],
    )
    def test_columns_of_parquet(self, read_table, column):
        events = read_table({"user": column, "item": [1, 2, 3]}, "a.parquet")
        assert published_pairs(events) == list(zip(column.to_pylist(), [1, 2, 3], strict=True))
        if events.user_names is not None:
            assert events.user_names.tolist() == sorted(set(column.to_pylist()))


@given(st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cc", "Cs", "Z"]), min_size=1),
                          st.integers(-(2**62), 2**62)), min_size=1))  # fmt: skip
def test_ids_round_trip(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("ids") / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("user", "item"), *rows])
    users, items = zip(*rows, strict=True)
    pairs = published_pairs(read_interactions(path))
    canonical = all(re.fullmatch("0|-?[1-9][0-9]{0,17}", user) for user in users)
    assert [item for _, item in pairs] == list(items)
    assert [user for user, _ in pairs] == (list(map(int, users)) if canonical else list(users))


MANY = "user,item,rating,timestamp\n1,20,4.5,7\n\n2,30,5,8\n"


def test_errors_name_file_and_ids(read_table):
    events = read_table('user,item\n\n1,20\n"2",30\n')
    assert str(events.error("wrong")).endswith("mine.csv: wrong")
    rows = read_table({"user": ["a", "b"], "item": [1, 2]}, "a.parquet")
    assert str(rows.error("wrong")).endswith("a.parquet: wrong")
    assert rows.ids(1) == ("b", 2)


@pytest.mark.parametrize(
    ("content", "place", "problem"),
    [
        ("user,item\n", (None, None), "no rows"),
        ("uid,item\n1,2\n", (None, None), "lacks column user; found uid, item"),
        (f"{MANY}1,2,3\n", (None, None), "not a table"),
        (f"{MANY},2,3,4\n", (3, "user"), "found nothing"),
        (f"{MANY}1,2,good,4\n", (3, "rating"), "found good"),
        (f"{MANY}1,2,3,\n", (3, "timestamp"), "found nothing; expected numbers, or ISO 8601"),
        (f"{MANY}{'x' * 201},2,3,4\n", (3, "user"), "found 'xxx"),
        (MANY.encode() + b"\xff,2,3,4\n", (None, None), "not text in UTF-8"),
        ('user,item\n1,"2\n3,4\n', (None, None), "found a cell with a line break"),
        # a column that is not read
        ('user,item,title\n1,2,"x\n3,4,y"\n', (None, None), "found a cell with a line break"),
        ({"user": ["a", ""], "item": [1, 2]}, (2, "user"), "found nothing"),
        ({"user": pa.array([2**63], pa.uint64()), "item": [1]}, (1, "user"), "found 9.22337"),
        ({"user": [1], "item": [1], "rating": [np.inf]}, (1, "rating"), "found inf"),
        # longer than a block of the reader, which therefore ends inside a row
        ("user,item\n" + '1,"two\nlines"\n' * 100_000, (None, None), "found a cell"),
    ],
)  # fmt: skip
def test_invalid_table_names_row_and_column(read_table, content, place, problem):
    with pytest.raises(InputError) as caught:
        read_table(content, "a.parquet" if isinstance(content, dict) else "a.csv")
    error = caught.value
    assert (error.row, error.column) == place
    assert error.problem.startswith(problem)
    assert "\n" not in str(error)


def test_positions_of_spelled_ids():
    assert positions(np.array([3, 7]), np.array(["7", "x", "07"])).tolist() == [-1, 0]


def test_dataset_settings_round_trip(tmp_path):
    (tmp_path / "t.csv").write_text("u;item;rating;timestamp\n1;2;3;x\n")
    columns = {"user": "u", "timestamp": None}
    options = {"separator": ";", "licence": "CC0", "url": "http://a/b", "columns": columns}
    values = {"format": "table", "name": "mine", **options}
    settings = DatasetSettings.of(values, "config")
    again = DatasetSettings(**settings.without_locations().model_dump())
    assert (again.url, again.licence, again.columns) == (None, "CC0", settings.columns)
    events = read_dataset(tmp_path / "t.csv", again)
    assert (events.user, events.item, events.rating) == (1, 2, 3)
    assert events.timestamp is None


# Times of a table.


@pytest.fixture
def read_times(tmp_path):
    def reader(values, kind=None, form="parquet"):
        path = tmp_path / f"t.{form}"
        if form == "csv":
            rows = [f"1,{item},{value}" for item, value in enumerate(values)]
            path.write_text("\n".join(["user,item,timestamp", *rows]))
        else:
            columns = {"user": [1] * len(values), "item": [*range(len(values))]}
            columns["timestamp"] = pa.array(values, kind)
            pq.write_table(pa.table(columns), path)
        return read_interactions(path).timestamp.tolist()

    return reader


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["5", "-7", "007"], [5, -7, 7]),
        (["1.5", ".25", "+2", "3."], [1.5, 0.25, 2, 3]),
        (["1e3", "2.5", "-1E1"], [1000, 2.5, -10]),
        (["2020-01-01T00:00:00", "2020-01-01 00:01:00"], [1577836800, 1577836860]),
        (["1970-01-01T00:00:00.123456789"], [0.123456789]),
        (["1970-01-01T02:00:00+02:00", "1970-01-01T00:00:01Z"], [0, 1]),
    ],
)
def test_times_as_text(read_times, values, expected, form):
    assert read_times(values, None, form) == expected


@pytest.mark.parametrize(
    ("values", "row"),
    [
        (["5", "x", "7"], 2),
        (["5", "6", "2020-01-01"], 3),
        (["2020-02-30"], 1),
        (["2020-01-01", "2020-01-01T00:00:00.123456", "never"], 3),
        (["1.5", "nan"], 2),
        (["1.5", "1e999"], 2),
        (["5", ""], 2),
    ],
)
def test_times_first_invalid_row_is_named(read_times, values, row):
    for form in ("csv", "parquet"):
        with pytest.raises(InputError) as caught:
            read_times(values, None, form)
        assert (caught.value.row, caught.value.column) == (row, "timestamp")


SECOND = 1_730_419_200  # 2024-11-01


@pytest.mark.parametrize("factor", [1000, 10**6, 10**9])
@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.string()])
def test_times_in_two_units_are_refused(read_times, factor, kind):
    times = [SECOND, SECOND + 60, SECOND * factor]
    if kind == pa.string():
        times = list(map(str, times))
    if kind == pa.float64():
        times = list(map(float, times))
    with pytest.raises(InputError, match="unit") as caught:
        read_times(times, kind)
    assert (caught.value.row, caught.value.column) == (3, "timestamp")


@pytest.mark.parametrize(
    "times",
    [
        [SECOND, SECOND + 60],
        [SECOND * 1000, SECOND * 1000 + 60],
        [0, 10**9, 10**10, 10**12],  # other numbers: 10**10 is between seconds and milliseconds
    ],
)
def test_times_in_one_unit_are_read(read_times, times):
    assert read_times(times, pa.int64()) == times


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([3, -1], pa.int16(), [3, -1]),
        ([2**53 + 1, -(2**63)], pa.int64(), [2**53 + 1, -(2**63)]),
        ([5.5, -2.0, 1e300], pa.float64(), [5.5, -2, 1e300]),
        ([dt.date(1970, 1, 2)], pa.date32(), [86400]),
        ([dt.datetime(1970, 1, 1, 0, 0, 1)], pa.timestamp("ms"), [1]),
        ([Decimal("1.25"), Decimal(-3)], pa.decimal128(9, 2), [1.25, -3]),
        ([float("nan")], pa.float64(), None),
        ([dt.timedelta(1)], pa.duration("s"), None),
    ],
)
def test_columns_of_parquet(read_times, values, kind, expected):
    if expected is None:
        with pytest.raises(InputError) as caught:
            read_times(values, kind)
        assert caught.value.column == "timestamp"
    else:
        np.testing.assert_array_equal(read_times(values, kind), expected)

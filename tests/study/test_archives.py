"""Archives of each MovieLens: what is read, and errors in lines that differ."""

import os
import re
import resource
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics._base.errors import InputError
from sampled_metrics_study.data.events import read_dataset, read_member, read_ratings
from sampled_metrics_study.data.filters import apply_filters
from sampled_metrics_study.data.movielens import CATALOGUE, CITATION
from sampled_metrics_study.data.settings import DatasetSettings
from tests.conftest import ROOT, write_archive
from tests.helpers.interactions import as_ratings, synthetic_interactions

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
# Users, items with a rating, and ratings of each archive.
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
    """Function that writes a text into an archive."""
    path = tmp_path_factory.mktemp("archives") / "a.zip"
    return lambda name, text: write_archive(
        path, text.encode("latin-1"), CATALOGUE[name].member
    )


def columns_of(events):
    columns = (events.user, events.item, events.rating, events.timestamp)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_the_catalogue_is_whole():
    assert CATALOGUE.keys() == LINES.keys()
    for name, dataset in CATALOGUE.items():
        assert tuple(dataset.counts.values()) == COUNTS[name]
        assert (
            dataset.url
            == f"https://files.grouplens.org/datasets/movielens/{name}.zip"
        )
        # of md5 32 and of sha256 64 hexadecimal digits
        form = r"md5:[0-9a-f]{32}|sha256:[0-9a-f]{64}"
        assert dataset.checksum is None or re.fullmatch(form, dataset.checksum)
        assert "no commercial use without permission" in dataset.licence
    assert [name for name in CATALOGUE if CATALOGUE[name].checksum is None] == [
        "ml-latest-small"
    ]
    assert CATALOGUE["ml-1m"].licence_url.endswith("/movielens/ml-1m-README.txt")
    assert CATALOGUE["ml-32m"].licence_url.endswith("/movielens/ml-32m-README.html")
    assert "10.1145/2827872" in CITATION


@pytest.mark.parametrize("name", CATALOGUE)
def test_ratings_may_have_twice_the_size_of_the_published_ones_and_not_much_more(
    name,
):
    """By 28 bytes of the file for each rating, or 64 MiB."""
    dataset = CATALOGUE[name]
    ratings = COUNTS[name][2]
    small = 64 * 2**20
    assert (
        max(small, 56 * ratings)
        <= dataset.largest_member
        <= max(small, 112 * ratings)
    )


@pytest.mark.parametrize("name", CATALOGUE)
def test_events_of_each_dataset(archive_of, name):
    path, settings = archive_of(name, LINES[name]), DatasetSettings(name=name)
    events = read_dataset(path, settings)
    second = 3.0 if name in ("ml-100k", "ml-1m") else 3.5
    assert columns_of(events) == [(1, 10, 5.0, 978300760), (1, 20, second, 978302109)]
    types = (
        events.user.dtype,
        events.item.dtype,
        events.timestamp.dtype,
        events.rating.dtype,
    )
    assert types == (np.int32, np.int32, np.int64, np.float32)


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
def test_agrees_with_splitting_lines(archive_of, name, rows):
    layout = CATALOGUE[name].layout
    lines = [layout.separator.join(map(str, row)) for row in rows]
    if layout.header:
        lines.insert(0, layout.header)
    path = archive_of(name, "\n".join([*lines, ""]))
    events = read_ratings(path, CATALOGUE[name])
    assert columns_of(events) == rows


@pytest.mark.parametrize("name", ["ml-1m", "ml-10m", "ml-20m"])
def test_ratings_of_the_scale(archive_of, name):
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
HALF_COLONS = (
    "user::item::rating::timestamp, whole numbers and a rating of 0.5, 1 ... 5"
)
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


@pytest.mark.parametrize(
    ("name", "expected", "line"),
    [
        (name, expected, line)
        for name, expected, lines in NOT_AS_IN_ITS_DATASET
        for line in lines
    ],
)
def test_line_that_is_not_as_in_its_dataset(archive_of, name, expected, line):
    last = LINES[name].splitlines(keepends=True)[-1]
    path = archive_of(name, f"{LINES[name]}{line}\n{last}")
    number = LINES[name].count("\n") + 1
    with pytest.raises(InputError) as caught:
        read_ratings(path, CATALOGUE[name])
    assert (caught.value.path, caught.value.line) == (
        f"{path}:{CATALOGUE[name].member}",
        number,
    )
    assert caught.value.problem == f"found {line!r}; expected {expected}"
    assert f", line {number}: found " in str(caught.value)


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("cut", [1, 3, 9])
def test_a_file_that_is_cut_off_in_its_last_timestamp_is_refused(
    archive_of, name, cut
):
    text = LINES[name].removesuffix("\n").removesuffix("\r")
    path = archive_of(name, text[: len(text) + 1 - cut])
    with pytest.raises(InputError, match="cut off") as caught:
        read_ratings(path, CATALOGUE[name])
    assert caught.value.line == LINES[name].count("\n")


@pytest.mark.parametrize(
    ("name", "lines", "problem"),
    [
        ("ml-1m", "1::10::4::1", "user 1 has item 10 more than once"),
        ("ml-1m", "2::5::4::1\n1::20::4::1", "user 1 has item 20 more than once"),
        ("ml-1m", "3::1::5::9", "user 3 has 1 of the 2 events needed"),
        ("ml-20m", "3,1,5,9", "user 3 has 1 of the 2 events needed"),
    ],
)
def test_events_that_no_split_can_use(archive_of, name, lines, problem):
    path = archive_of(name, f"{LINES[name]}{lines}\n")
    with pytest.raises(InputError) as caught:
        apply_filters(read_ratings(path, CATALOGUE[name]))
    assert caught.value.path == f"{path}:{CATALOGUE[name].member}"
    assert caught.value.problem.startswith(problem)


@pytest.mark.parametrize("at", [0, 70_000, 199_999])
def test_fault_in_any_block(archive_of, at):
    lines = [
        f"{event},7,4.5,{event}" for event in range(200_000)
    ]  # some three blocks
    lines[at] = "7;7;4.5;7"
    path = archive_of("ml-20m", "\n".join([HEADER, *lines, ""]))
    with pytest.raises(InputError, match=r"'7;7;4\.5;7'") as caught:
        read_ratings(path, CATALOGUE["ml-20m"])
    assert caught.value.line == at + 2


def test_header_must_be_there_and_ratings(archive_of):
    with pytest.raises(
        InputError, match=f"line 1: found '1,10,5.0,7'; .*the header {HEADER}"
    ):
        read_ratings(archive_of("ml-20m", "1,10,5.0,7"), CATALOGUE["ml-20m"])
    for name, text in (("ml-20m", f"{HEADER}\n"), ("ml-1m", "")):
        with pytest.raises(InputError, match="ratings"):
            read_ratings(archive_of(name, text), CATALOGUE[name])


def test_agrees_with_what_was_written(tmp_path):
    interactions = synthetic_interactions()
    events = read_ratings(write_archive(tmp_path / "a.zip", as_ratings(interactions)))
    for column in ("user", "item", "timestamp"):
        np.testing.assert_array_equal(
            getattr(events, column), getattr(interactions, column)
        )


def test_archives_that_are_none(tmp_path):
    (tmp_path / "text.zip").write_bytes(b"not a zip archive")
    write_archive(tmp_path / "other.zip", b"", member="ml-100k/u.data")
    path = write_archive(tmp_path / "damaged.zip", LINES["ml-1m"].encode() * 100)
    content = bytearray(path.read_bytes())
    content[content.index(b"ratings.dat") + 20] ^= 0xFF
    path.write_bytes(content)
    for name in ("text.zip", "other.zip", "gone.zip", "damaged.zip"):
        with pytest.raises(
            InputError, match=rf"{name}: not a readable MovieLens 1M archive"
        ):
            read_ratings(tmp_path / name)
        with pytest.raises(
            InputError, match=rf"{name}: not a readable MovieLens 1M archive"
        ):
            read_member(tmp_path / name, CATALOGUE["ml-1m"])


def test_ratings_twice_in_an_archive(tmp_path):
    path = write_archive(tmp_path / "twice.zip", LINES["ml-1m"].encode())
    with (
        zipfile.ZipFile(path, "a") as zipped,
        pytest.warns(UserWarning, match="Duplicate name"),
    ):
        zipped.writestr("ml-1m/ratings.dat", b"1::10::1::1\n")
    for read in (
        read_ratings,
        lambda path: read_member(path, CATALOGUE["ml-1m"]),
    ):
        with pytest.raises(
            InputError, match=r"twice\.zip: ml-1m/ratings\.dat is in .* than once"
        ):
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


@pytest.mark.parametrize(
    "megabytes", [70, pytest.param(1000, marks=pytest.mark.long)]
)
def test_a_small_archive_that_holds_much_more_than_ratings(tmp_path, megabytes):
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
    assert [
        line.removeprefix(f"{tmp_path}/") for line in done.stdout.splitlines()
    ] == [refused] * 2
    assert not (tmp_path / "out.zip").exists()


def test_other_members_are_never_written(tmp_path):
    path = write_archive(tmp_path / "in" / "ml.zip", LINES["ml-1m"].encode())
    with zipfile.ZipFile(path, "a") as zipped:
        zipped.writestr("../../escaped", b"out")
    assert len(read_ratings(path)) == 2
    assert sorted(entry.name for entry in tmp_path.rglob("*")) == ["in", "ml.zip"]

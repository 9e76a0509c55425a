"""Where results are written: flushed to disk, all or nothing, and never over an input."""

import errno
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics._base import files
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import (
    read_npy,
    read_npz,
    reading_as,
    replace_file,
    write_text,
)
from sampled_metrics_study.files import read_json, read_table, write_table

SAMPLED = "user_id,sampled_rank\nanna,1\nbert,3\n"
RANKS = "user_id,rank,n_candidates\nanna,1,50\nbert,3,50\n"
CORRECT = [
    "correct",
    "--n-negatives",
    10,
    "--n-items",
    100,
    "--metric",
    "ap",
    "--format",
    "csv",
]


@pytest.fixture
def sampled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "s.csv"
    path.write_text(SAMPLED)
    return path


@pytest.fixture
def ranks(sampled):
    path = sampled.with_name("ranks.csv")
    path.write_text(RANKS)
    return path


@pytest.mark.parametrize("name", ["a", "a.json", "a.csv.gz", "a.npz", "a.xlsx"])
@pytest.mark.parametrize(
    "ranks",
    [sm.Ranks([9], [0], [0]), sm.SampledRanks([1], 9, 3)],
    ids=["full", "sampled"],
)
def test_ranks_are_written_as_parquet_or_text_only(ranks, name, tmp_path):
    with pytest.raises(InputError, match=r"suffix.*known: .*\.parquet.*\.csv"):
        ranks.write(tmp_path / name)
    assert [*tmp_path.iterdir()] == []


def test_data_is_on_disk_before_a_file_gets_its_name(tmp_path, monkeypatch):
    done = []

    def noted(name, function):
        def call(*arguments):
            done.append(name)
            return function(*arguments)

        return call

    monkeypatch.setattr(os, "fsync", noted("fsync", os.fsync))
    for name in ("replace", "rename"):
        monkeypatch.setattr(os, name, noted("rename", getattr(os, name)))
    write_text(tmp_path / "a.csv", "new\n")
    assert done == ["fsync", "rename"]


def test_what_a_living_process_writes_is_left_alone(tmp_path):
    path = tmp_path / "a.csv"
    with replace_file(path) as slow:
        slow.write_text("slow\n")
        write_text(path, "quick\n")
        assert path.read_text() == "quick\n"
    assert path.read_text() == "slow\n"
    assert list(tmp_path.iterdir()) == [path]


def test_standard_output_may_be_appended_to_a_file(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text("before\n")
    code = (
        "from pathlib import Path; from sampled_metrics._base.files import write_text;"
        "write_text(Path('/dev/stdout'), 'after\\n')"
    )
    with path.open("a") as file:
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
    assert path.read_text() == "before\nafter\n"


@pytest.mark.parametrize(
    "spelling", ["s.csv", "./s.csv", "../{}/s.csv", "link.csv", "hard.csv"]
)
def test_the_input_is_no_output(sampled, refused, spelling):
    (sampled.parent / "link.csv").symlink_to(sampled)
    os.link(sampled, sampled.parent / "hard.csv")
    refused(*CORRECT, sampled, "--output", spelling.format(sampled.parent.name))
    assert sampled.read_text() == SAMPLED


@pytest.mark.parametrize(
    "line",
    [
        "sample ranks.csv --n-negatives 5 --output ranks.csv",
        "evaluate ranks.csv --format csv --output ranks.csv",
        "evaluate other.csv ranks.csv --output ranks.csv",
        "evaluate other.csv --relevant ranks.csv --output ranks.csv",
        "evaluate other.csv --seen ranks.csv --output ranks.csv",
        "compare other.csv ranks.csv --output ranks.csv",
        "plan --ranks other.csv ranks.csv --output ranks.csv",
        "report ranks.html --output ranks.html",
        "negatives --relevant ranks.csv --seen other.csv --n-negatives 5 --output ranks.csv",
        "negatives --relevant x.csv --seen y.csv --items ranks.csv --n-negatives 5 "
        "--output ranks.csv",
        "check-negatives ranks.csv --relevant x.csv --seen y.csv --output ranks.csv",
    ],
)
def test_no_command_writes_over_an_input(ranks, refused, line):
    ranks.with_name("other.csv").write_text(RANKS)
    ranks.with_name("ranks.html").write_text(RANKS)
    before = {path: path.read_bytes() for path in ranks.parent.iterdir()}
    assert "written" in refused(*line.split())
    assert {path: path.read_bytes() for path in ranks.parent.iterdir()} == before


def test_a_new_file_and_a_device_are_outputs(sampled, run):
    for output in ("new.csv", "new.csv", "/dev/null"):  # also a result of before
        assert run(*CORRECT, sampled, "--output", output).returncode == 0
    assert (sampled.parent / "new.csv").read_text().startswith("metric,")


def test_what_fails_to_reach_the_disk_gets_no_name(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("old\n")

    def fsync(_handle):
        raise OSError(errno.EIO, "broken disk")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(InputError, match=r"a\.csv"):
        write_text(path, "new\n")
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]


READERS = {
    "array": lambda path: read_npy(path, "a matrix"),
    "arrays": lambda path: read_npz(path, "a matrix"),
    "table": lambda path: read_table(path, ["a"]),
}


@pytest.mark.parametrize("name", READERS)
def test_missing_and_damaged_files(tmp_path, name):
    path = tmp_path / "x.npy"
    what = "CSV" if name == "table" else "a matrix"
    with pytest.raises(InputError, match=rf"x\.npy: no such file; expected {what}"):
        READERS[name](path)
    path.write_bytes(b"\x93NUMPY\x00\xff" if name != "table" else b'a,b\n"1')
    with pytest.raises(InputError, match=rf"x\.npy: not {what} \(") as caught:
        READERS[name](path)
    assert caught.value.path == path
    np.save(path, np.array([{}], dtype=object))
    if name == "array":
        with pytest.raises(InputError, match=r"not a matrix \("):
            READERS[name](path)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError("1 GB"), "not enough memory (1 GB)"),
        (ZeroDivisionError("x"), "not a split (x)"),
        (InputError("as it is"), "as it is"),
        (FileNotFoundError(2, "no"), "no such file; expected a split"),
    ],
)
def test_any_error_of_reading_is_one_of_input(error, words):
    with pytest.raises(InputError) as caught, reading_as(Path("a"), "a split"):
        raise error
    assert caught.value.problem == words
    assert caught.value.path == (None if isinstance(error, InputError) else Path("a"))


def test_arrays_by_name(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, a=[1], b=[2], c=[3])
    assert sorted(read_npz(path, "x")) == ["a", "b", "c"]
    assert sorted(read_npz(path, "x", ["b"])) == ["a", "b", "c"]
    assert sorted(read_npz(path, "x", ["b"], ["a", "c", "d"])) == ["a", "b", "c"]
    with pytest.raises(InputError, match="array a"):
        read_npz(path, "x", ["b"], ["c"])
    with pytest.raises(InputError, match=r"not x \(it holds no d\)"):
        read_npz(path, "x", ["a", "d"])
    np.save(tmp_path / "x.npy", [1, 2])
    assert read_npy(tmp_path / "x.npy", "x", mmap_mode="r").tolist() == [1, 2]


def test_tables_and_json_come_back(tmp_path):
    path = tmp_path / "x.csv"
    write_table(pd.DataFrame({"a": ["007", "x"], "b": [0.125, 1e-9]}), path, "%.4f")
    assert path.read_bytes() == b"a,b\n007,0.1250\nx,0.0000\n"
    assert read_table(path, ["b", "a"], ["a"])["a"].tolist() == ["007", "x"]
    with pytest.raises(InputError, match="column c"):
        read_table(path, ["a", "c"])
    write_table(pd.DataFrame({"a": [0.125]}), path)
    assert path.read_bytes() == b"a\n0.125\n"
    path.write_text(json.dumps({"é": [1]}), encoding="utf-8")
    assert read_json(path) == {"é": [1]}
    path.write_text("{")
    with pytest.raises(InputError, match=r"x\.csv: not JSON \("):
        read_json(path)


def test_files_are_written_where_folders_cannot_be_opened_and_locks_do_not_exist(
    tmp_path, monkeypatch
):
    """As on Windows."""
    monkeypatch.setitem(sys.modules, "fcntl", None)
    spec = importlib.util.spec_from_file_location("files_of_windows", files.__file__)
    of_windows = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(of_windows)
    usual = os.open

    def of_files_alone(path, *flags):
        if Path(path).is_dir():
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return usual(path, *flags)

    monkeypatch.setattr(os, "open", of_files_alone)
    path = tmp_path / "some.txt"
    for text in ("one", "two"):
        of_windows.write_text(path, text)
        assert path.read_text() == text
    assert [file.name for file in tmp_path.iterdir()] == ["some.txt"]

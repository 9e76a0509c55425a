"""Files: written as a whole or not at all, never over an input, read with errors of one line."""

import errno
import importlib.util
import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm
from sampled_metrics._base import files
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_npy, read_npz, reading_as, replace_file, write_text
from sampled_metrics_study.files import (
    read_json,
    read_table,
    sparse_from_arrays,
    sparse_to_arrays,
    write_json,
    write_table,
)


@contextmanager
def full_after(size):
    """Let no file grow beyond some bytes, which fails like a full disk does, in writing."""
    before_bytecode = sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # else a module that is imported now would stay truncated
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
        sys.dont_write_bytecode = before_bytecode


SAMPLED = "user_id,sampled_rank\nanna,1\nbert,3\n"
RANKS = "user_id,rank,n_candidates\nanna,1,50\nbert,3,50\n"
OPTIONS = "--n-negatives 10 --n-items 100 --metric ap --format csv"
CORRECT = ["correct", *OPTIONS.split()]


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


def test_write_text_keeps_links(tmp_path):
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    for _ in range(2):
        write_text(link, "new\n")
        assert link.is_symlink()
        assert target.read_text() == "new\n"
        target.unlink()


def test_write_text_keeps_permissions(tmp_path):
    private, plain = tmp_path / "private", tmp_path / "plain"
    new = tmp_path / "a/b/new.json"
    private.touch(0o600)
    write_text(private, "new\n")
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    plain.touch()
    write_json(new, {"é": [1, 2]})
    assert json.loads(new.read_text(encoding="utf-8")) == {"é": [1, 2]}
    assert stat.S_IMODE(new.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    assert list(new.parent.iterdir()) == [new]


def test_write_text_writes_to_pipe(tmp_path):
    path, read = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = Thread(target=lambda: read.append(path.read_text()))
    reader.start()
    write_text(path, "through\n")
    reader.join(10)
    assert read == ["through\n"]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_write_text_appends_to_standard_output(tmp_path):
    path = tmp_path / "log.txt"
    path.write_text("before\n")
    code = (
        "from pathlib import Path; from sampled_metrics._base.files import write_text;"
        "write_text(Path('/dev/stdout'), 'after\\n')"
    )
    with path.open("a") as file:
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
    assert path.read_text() == "before\nafter\n"


@pytest.fixture
def old(tmp_path):
    """A file in a folder of its own."""
    path = tmp_path / "folder/table.csv"
    write_text(path, "old\n")
    yield path
    assert path.read_text() == "old\n"
    assert list(path.parent.iterdir()) == [path]  # and no temporary file


def test_text_that_cannot_be_encoded_leaves_the_old_file(old):
    with pytest.raises(UnicodeEncodeError):
        write_text(old, "half" * 10_000 + "\udc80")


def test_failure_while_writing_leaves_the_old_file_and_names_it(old):
    error = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(InputError, match=r"table\.csv"), replace_file(old):
        raise error


def test_failure_of_another_file_is_not_that_of_the_target(old, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.zip"), replace_file(old):
        (tmp_path / "b/none.zip").open()


def test_file_is_no_folder_of_files(old):
    with pytest.raises(InputError, match=r"table\.csv/o\.csv"):
        write_text(old / "o.csv", "text")


def test_folder_is_no_file(old):
    with pytest.raises(InputError, match="directory"):
        write_text(old.parent, "text")


def test_write_text_flushes_before_renaming(tmp_path, monkeypatch):
    calls = []

    def noted(name, function):
        def call(*arguments):
            calls.append(name)
            return function(*arguments)

        return call

    monkeypatch.setattr(os, "fsync", noted("fsync", os.fsync))
    for name in ("replace", "rename"):
        monkeypatch.setattr(os, name, noted("rename", getattr(os, name)))
    write_text(tmp_path / "a.csv", "new\n")
    assert calls == ["fsync", "rename"]


def test_write_text_failed_flush_leaves_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("old\n")

    def fsync(_handle):
        raise OSError(errno.EIO, "broken disk")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(InputError, match=r"a\.csv"):
        write_text(path, "new\n")
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]


def test_write_text_works_as_on_windows(tmp_path, monkeypatch):
    """There is no fcntl, and folders cannot be opened."""
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


def test_replace_file_allows_two_writers(tmp_path):
    path = tmp_path / "a.csv"
    with replace_file(path) as slow:
        slow.write_text("slow\n")
        write_text(path, "quick\n")
        assert path.read_text() == "quick\n"
    assert path.read_text() == "slow\n"
    assert list(tmp_path.iterdir()) == [path]


def test_replace_file_on_full_disk_names_target(tmp_path):
    source, target = tmp_path / "source.zip", tmp_path / "data/target.zip"
    source.write_bytes(b"0" * 1_000_000)
    with full_after(1000), pytest.raises(InputError) as error, replace_file(target) as temporary:
        shutil.copyfile(source, temporary)
    assert str(error.value).startswith(f"{target}: cannot be written (")
    assert not list(target.parent.iterdir())


def test_command_on_full_disk_names_output(tmp_path, monkeypatch, refusal_line):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{user},{1 + (user % 40) ** 2 // 38}\n" for user in range(200))
    Path("r.csv").write_text("user_id,rank\n" + rows)
    command = ("sample", "r.csv", "--n-negatives", 5, "--n-items", 41, "--output")
    for name in ("out.csv", "out.parquet"):
        with full_after(100):
            line = refusal_line(*command, name)
        assert line.startswith(f"{name}: cannot be written (")
        assert line.endswith("File too large)")
    assert [path.name for path in tmp_path.iterdir()] == ["r.csv"]


@pytest.mark.parametrize("spelling", ["s.csv", "./s.csv", "../{}/s.csv", "link.csv", "hard.csv"])
def test_command_refuses_input_as_output(sampled, refusal_line, spelling):
    (sampled.parent / "link.csv").symlink_to(sampled)
    os.link(sampled, sampled.parent / "hard.csv")
    refusal_line(*CORRECT, sampled, "--output", spelling.format(sampled.parent.name))
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
def test_every_command_refuses_its_input_as_output(ranks, refusal_line, line):
    ranks.with_name("other.csv").write_text(RANKS)
    ranks.with_name("ranks.html").write_text(RANKS)
    before = {path: path.read_bytes() for path in ranks.parent.iterdir()}
    assert "written" in refusal_line(*line.split())
    assert {path: path.read_bytes() for path in ranks.parent.iterdir()} == before


def test_command_writes_new_file_and_device(sampled, run):
    for output in ("new.csv", "new.csv", "/dev/null"):  # also a result of before
        assert run(*CORRECT, sampled, "--output", output).returncode == 0
    assert (sampled.parent / "new.csv").read_text().startswith("metric,")


@pytest.mark.parametrize("name", ["a", "a.json", "a.csv.gz", "a.npz", "a.xlsx"])
def test_ranks_write_unknown_suffix_is_refused(name, tmp_path):
    for ranks in (sm.Ranks([9], [0], [0]), sm.SampledRanks([1], 9, 3)):
        with pytest.raises(InputError, match=r"suffix.*known: .*\.parquet.*\.csv"):
            ranks.write(tmp_path / name)
    assert [*tmp_path.iterdir()] == []


READERS = {
    "array": lambda path: read_npy(path, "a matrix"),
    "arrays": lambda path: read_npz(path, "a matrix"),
    "table": lambda path: read_table(path, ["a"]),
}


@pytest.mark.parametrize("name", READERS)
def test_readers_name_missing_and_damaged_files(tmp_path, name):
    path = tmp_path / "x.npy"
    what = "CSV" if name == "table" else "a matrix"
    with pytest.raises(InputError, match=rf"x\.npy: no such file; expected {what}"):
        READERS[name](path)
    path.write_bytes(b"\x93NUMPY\x00\xff" if name != "table" else b"a,b\n1,2,3\n1,2,3,4\n")
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
def test_reading_as_converts_errors(error, words):
    with pytest.raises(InputError) as caught, reading_as(Path("a"), "a split"):
        raise error
    assert caught.value.problem == words
    assert caught.value.path == (None if isinstance(error, InputError) else Path("a"))


@pytest.mark.parametrize(
    "alternatives", [[], [["b"]], [["b"], ["a", "c", "d"]]], ids=["any", "b", "b or a, c and d"]
)
def test_npz_with_the_expected_names_is_read(tmp_path, alternatives):
    np.savez(tmp_path / "x.npz", a=[1], b=[2], c=[3])
    assert sorted(read_npz(tmp_path / "x.npz", "x", *alternatives)) == ["a", "b", "c"]


def test_npz_with_other_names_is_refused(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, a=[1], b=[2], c=[3])
    with pytest.raises(InputError, match="array a"):  # neither b alone nor b and c
        read_npz(path, "x", ["b"], ["c"])
    with pytest.raises(InputError, match=r"no d\)"):
        read_npz(path, "x", ["a", "d"])


def test_npy_may_be_mapped(tmp_path):
    np.save(tmp_path / "x.npy", [1, 2])
    assert read_npy(tmp_path / "x.npy", "x", mmap_mode="r").tolist() == [1, 2]


def test_table_is_written_with_a_format(tmp_path):
    path = tmp_path / "x.csv"
    write_table(pd.DataFrame({"a": ["007", "x"], "b": [0.125, 1e-9]}), path, "%.4f")
    assert path.read_bytes() == b"a,b\n007,0.1250\nx,0.0000\n"
    write_table(pd.DataFrame({"a": [0.125]}), path)
    assert path.read_bytes() == b"a\n0.125\n"


def test_columns_of_texts_keep_their_zeros(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n007,0.5\n")
    assert read_table(path, ["b", "a"], ["a"])["a"].tolist() == ["007"]
    with pytest.raises(InputError, match="column c"):
        read_table(path, ["a", "c"])


def test_json_is_read_as_utf_8(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"é": [1]}), encoding="utf-8")
    assert read_json(path) == {"é": [1]}
    path.write_text("{")
    with pytest.raises(InputError, match=r"x\.json: not JSON"):
        read_json(path)


def test_table_with_line_break_in_cell_is_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('a,b\n1,"x\n2,y"\n3,z\n')
    with pytest.raises(InputError, match=r"x\.csv, line 2: .*quotation mark"):
        read_table(path, ["a"])


def test_sparse_matrix_is_read_as_stored():
    table = csr_array(np.array([[0.0, 2.0], [3.0, 0.0]]))
    arrays = sparse_to_arrays(table, "seen_")
    assert sorted(arrays) == ["seen_indices", "seen_indptr", "seen_shape"]
    again = sparse_from_arrays(arrays, "seen_", table.data)
    assert again.toarray().tolist() == [[0, 2], [3, 0]]
    assert sparse_from_arrays(arrays, "seen_").toarray().tolist() == [[0, 1], [1, 0]]
    with pytest.raises(InputError, match="damaged sparse matrix"):
        sparse_from_arrays(arrays | {"seen_shape": np.array([2.0, 2.0])}, "seen_")

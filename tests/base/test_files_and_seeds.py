"""Where results are written: links, devices, pipes, full disks; streams of random numbers."""

import errno
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
import pytest

import sampled_metrics_study as study
from sampled_metrics._base.errors import InputError, InputWarning, reading, warn_input
from sampled_metrics._base.files import replace_file, write_text
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.text import format_table
from sampled_metrics_study.files import write_json


@contextmanager
def full_after(size):
    """Let no file grow beyond some bytes, which fails like a full disk does, in writing."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_link_stays_a_link_also_without_its_file(tmp_path):
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    for _ in range(2):
        write_text(link, "new\n")
        assert link.is_symlink()
        assert target.read_text() == "new\n"
        target.unlink()


def test_permissions(tmp_path):
    private, plain, new = (
        tmp_path / "private",
        tmp_path / "plain",
        tmp_path / "a/b/new.json",
    )
    private.touch(0o600)
    write_text(private, "new\n")
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    plain.touch()
    write_json(new, {"é": [1, 2]})
    assert json.loads(new.read_text(encoding="utf-8")) == {"é": [1, 2]}
    assert stat.S_IMODE(new.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    assert list(new.parent.iterdir()) == [new]


def test_a_pipe_is_written_to(tmp_path):
    path, read = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = Thread(target=lambda: read.append(path.read_text()))
    reader.start()
    write_text(path, "through\n")
    reader.join(10)
    assert read == ["through\n"]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "table.csv"
    write_text(path, "old\n")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "half" * 10_000 + "\udc80")
    error = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(InputError, match=r"table\.csv"), replace_file(path):
        raise error
    with pytest.raises(FileNotFoundError, match=r"none\.zip"), replace_file(path):
        (tmp_path / "b/none.zip").open()
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(InputError, match=r"table\.csv/o\.csv"):
        write_text(path / "o.csv", "text")
    assert path.read_text() == "old\n"
    with pytest.raises(InputError, match="directory"):
        write_text(tmp_path, "text")


def test_a_full_disk_is_one_line_with_the_path(tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{user},{1 + (user % 40) ** 2 // 38}\n" for user in range(200))
    Path("r.csv").write_text("user_id,rank\n" + rows)
    command = ("sample", "r.csv", "--n-negatives", 5, "--n-items", 41, "--output")
    for name in ("out.csv", "out.parquet"):
        with full_after(100):
            line = refused(*command, name)
        assert line.startswith(f"{name}: cannot be written (")
        assert line.endswith("File too large)")
    assert [path.name for path in tmp_path.iterdir()] == ["r.csv"]


BARE = {name: value for name, value in os.environ.items() if "PYTHON" not in name}


PRINTED = """
import sys
from sampled_metrics_study.program import program
with program():
    print("a line")
    sys.exit(1)
"""
OF_THE_STUDY = ["-c", PRINTED]


@pytest.mark.parametrize("unbuffered", [{}, {"PYTHONUNBUFFERED": "1"}])
@pytest.mark.parametrize(
    "command",
    [
        *(
            ["-m", "sampled_metrics", *words.split()]
            for words in (
                "metrics --format csv",
                "metrics --format json",
                "metrics",
                "--help",
                "correct --help",
                "--version",
                "",
            )
        ),
        OF_THE_STUDY,
    ],
)
def test_a_full_standard_output_is_one_line(command, unbuffered):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, *command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=BARE | unbuffered,
        )
    assert done.returncode == 2
    assert (
        done.stderr
        == "standard output: cannot be written (No space left on device)\n"
    )


@pytest.mark.parametrize("script", sorted(Path(study.__file__).parent.rglob("*.py")))
def test_each_program_of_the_study_checks_its_standard_output(script):
    text = script.read_text("utf-8")
    if 'if __name__ == "__main__":' in text:
        assert 'if __name__ == "__main__":\n    with program():' in text


@pytest.mark.parametrize("unbuffered", [{}, {"PYTHONUNBUFFERED": "1"}])
@pytest.mark.parametrize(
    "command", [["-m", "sampled_metrics", "metrics"], OF_THE_STUDY]
)
def test_a_reader_who_has_left_is_no_error(command, unbuffered):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as pipe:
        done = subprocess.run(
            [sys.executable, *command],
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=BARE | unbuffered,
        )
    assert (done.returncode, done.stderr) == (1, "")


def test_a_closed_standard_output_is_no_error():
    command = f"exec {sys.executable} -m sampled_metrics metrics >&-"
    done = subprocess.run(
        ["sh", "-c", command],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env=BARE,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_copy_to_a_full_disk_names_the_target(tmp_path):
    source, target = tmp_path / "source.zip", tmp_path / "data/target.zip"
    source.write_bytes(b"0" * 1_000_000)
    with (
        full_after(1000),
        pytest.raises(InputError) as error,
        replace_file(target) as temporary,
    ):
        shutil.copyfile(source, temporary)
    assert str(error.value).startswith(f"{target}: cannot be written (")
    assert not list(target.parent.iterdir())


def test_names_that_look_like_numbers_are_printed_as_they_are():
    names = ["1", "1e5", "007", "nan", "1.50"]
    rows = [{"a": name, "value": 0.5, "n_users": "6,040"} for name in names]
    lines = [line.split() for line in format_table(rows).splitlines()[2:]]
    assert lines == [[name, "0.500", "6,040"] for name in names]


def test_streams_depend_on_seed_and_keys_alone():
    keys = [
        (0, "X"),
        (1, "X"),
        (0, "Y"),
        (0, "X", 0),
        (0, "X", 1),
        (0, "X", "a"),
        (0, "Xa"),
    ]
    keys += [
        (0, 88),
        (0, "abcdefgh"),
        (0, "efgh", "abcd"),
        (0, "abcd", "efgh"),
        (0, ""),
        (0, 0),
    ]
    keys += [(0,), (0, "0"), (0, "X", "0"), (2**32, "X")]
    first = [generator(*key).random(4) for key in keys]
    again = [generator(*key).random(4) for key in reversed(keys)][::-1]
    np.testing.assert_array_equal(first, again)
    assert len({tuple(draws) for draws in first}) == len(keys)


def test_streams_of_one_seed_look_independent():
    draws = np.array(
        [generator(3, "X", "cls", i).standard_normal(200) for i in range(300)]
    )
    correlation = np.corrcoef(draws)[np.triu_indices(300, 1)]
    # 44,850 correlations of 200 normals: the largest is expected near 4.4 / sqrt(200) = 0.31
    assert abs(correlation).max() < 0.36
    assert abs(correlation.mean()) < 4 / np.sqrt(200 * correlation.size)


def test_only_files_and_names_are_places_of_errors():
    with pytest.raises(InputError) as refused, reading("a.csv"), reading([1, 2]):
        raise InputError("wrong")
    assert refused.value.path == "a.csv"
    with pytest.warns(InputWarning) as asked, reading("A"), reading([1, 2]):
        warn_input("data", "what is it?")
    assert [str(each.message).split(",")[0] for each in asked] == ["A"]
    assert "None" not in str(asked[0].message)

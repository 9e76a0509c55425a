"""Where results are written: links, devices, pipes, full disks, and never over an input."""

import errno
import os
import stat
import subprocess
import sys
from threading import Thread

import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import replacing, write_text
from sampled_metrics._base.text import table_of

SAMPLED = "user_id,sampled_rank\nanna,1\nbert,3\n"
CORRECT = ["correct", "--n-negatives", 10, "--n-items", 100, "--metric", "ap", "--format", "csv"]


def test_data_is_on_disk_before_a_file_gets_its_name(tmp_path, monkeypatch):
    done = []

    def noted(name, function):
        def call(*arguments):
            is_folder = name == "fsync" and stat.S_ISDIR(os.fstat(arguments[0]).st_mode)
            done.append("fsync of the folder" if is_folder else name)
            return function(*arguments)

        return call

    monkeypatch.setattr(os, "fsync", noted("fsync", os.fsync))
    for name in ("replace", "rename"):
        monkeypatch.setattr(os, name, noted("rename", getattr(os, name)))
    write_text(tmp_path / "a.csv", "new\n")
    assert done == ["fsync", "rename", "fsync of the folder"]


def test_a_link_to_itself_is_refused(tmp_path):
    link = tmp_path / "link.csv"
    link.symlink_to("link.csv")
    with pytest.raises(InputError, match=r"link\.csv: a link that leads back to itself"):
        write_text(link, "new\n")
    assert link.is_symlink()


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    for before in ("old", None):
        if before:
            target.write_text(before)
            link.symlink_to(target)
        else:
            target.unlink()
        write_text(link, "new\n")
        assert link.is_symlink()
        assert target.read_text() == "new\n"


def test_permissions_of_a_replaced_file_are_kept(tmp_path):
    path = tmp_path / "private.csv"
    path.touch(0o600)
    write_text(path, "new\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_pipe_is_written_to(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read = []
    reader = Thread(target=lambda: read.append(path.read_text()))
    reader.start()
    write_text(path, "through\n")
    reader.join(10)
    assert read == ["through\n"]
    assert stat.S_ISFIFO(path.stat().st_mode)


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


def test_a_full_disk_is_said_with_the_path(tmp_path):
    with pytest.raises(InputError, match=r"^/dev/full: cannot be written .No space left on device"):
        write_text("/dev/full", "text")
    # A copy names its source in the error, although it is the target that is full.
    error = OSError(errno.ENOSPC, "No space left on device", "/elsewhere/source.zip")
    told = pytest.raises(InputError, match=r"new\.zip: cannot be written .No space left on device")
    with told, replacing(tmp_path / "new.zip"):
        raise error
    assert not list(tmp_path.iterdir())


def test_an_error_of_another_file_names_that_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.zip"), replacing(tmp_path / "a/new.zip"):
        (tmp_path / "b/none.zip").open()


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path):
    path = tmp_path / "a[b].csv"
    code = (
        "import os, signal, sys; from pathlib import Path;"
        "from sampled_metrics._base.files import replacing\n"
        "with replacing(Path(sys.argv[1])): os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, path], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    (tmp_path / ".a[b].csv.mine.csv").touch()  # not a name of ours
    write_text(path, "new\n")
    assert {each.name for each in tmp_path.iterdir()} == {"a[b].csv", ".a[b].csv.mine.csv"}


def test_what_a_living_process_writes_is_left_alone(tmp_path):
    path = tmp_path / "a.csv"
    with replacing(path) as slow:
        slow.write_text("slow\n")
        write_text(path, "quick\n")
        assert path.read_text() == "quick\n"
    assert path.read_text() == "slow\n"
    assert list(tmp_path.iterdir()) == [path]


@pytest.fixture
def sampled(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "s.csv"
    path.write_text(SAMPLED)
    return path


@pytest.mark.parametrize("spelling", ["s.csv", "./s.csv", "link.csv", "hard.csv"])
def test_the_input_is_no_output(sampled, refused, spelling):
    (sampled.parent / "link.csv").symlink_to(sampled)
    os.link(sampled, sampled.parent / "hard.csv")
    message = refused(*CORRECT, sampled, "--output", spelling)
    assert message == f"{spelling.removeprefix('./')}: both read and written; give another --output"
    assert sampled.read_text() == SAMPLED


def test_an_input_named_by_an_option_is_no_output(sampled, refused):
    ranks = sampled.with_name("r.csv")
    ranks.write_text("rank\n1\n20\n")
    message = refused(*CORRECT, sampled, "--show-bias", "r.csv", "--output", ranks)
    assert "both read and written" in message


def test_two_results_do_not_share_a_file(sampled, refused):
    message = refused("study", "exact", sampled, "--csv", "both", "--md", "both")
    assert message == "both: both read and written; give another --md"


def test_a_new_file_and_a_device_are_outputs(sampled, run):
    assert run(*CORRECT, sampled, "--output", "new.csv").returncode == 0
    assert run(*CORRECT, sampled, "--output", "/dev/null").returncode == 0
    assert (sampled.parent / "new.csv").read_text().startswith("metric,")


def test_names_that_look_like_numbers_are_printed_as_they_are():
    names = ["1", "1e5", "007", "nan", "1.50"]
    rows = [{"a": name, "value": 0.5, "n_users": "6,040"} for name in names]
    lines = [line.split() for line in table_of(rows).splitlines()[2:]]
    assert lines == [[name, "0.50000", "6,040"] for name in names]

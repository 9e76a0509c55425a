"""The lock of a run that was killed is cleared, that of a run that goes on never."""

import platform
import subprocess
import time
from pathlib import Path

import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.study.locks import HOST, LOCKS, clear_lock


@pytest.fixture
def locked(tmp_path):
    """A folder as a killed run of Snakemake leaves it."""
    (tmp_path / LOCKS).mkdir(parents=True)
    for name in ("0.input.lock", "0.output.lock"):
        (tmp_path / LOCKS / name).write_text("results/a.csv\n")
    (tmp_path / HOST).write_text(platform.node())
    return tmp_path


@pytest.fixture
def process():
    """Start processes that are called as given, in a folder; all end with the test."""
    started = []

    def start(folder, *called, seconds=60):
        script = f'exec -a "$0" sleep {seconds}'
        if len(called) > 1:  # sleep takes no further arguments, so a shell must carry them
            script = f"sleep {seconds}; :"
        command = ["bash", "-c", script, *called]
        started.append(subprocess.Popen(command, cwd=folder))
        path = Path(f"/proc/{started[-1].pid}/cmdline")
        while called[0] not in path.read_text():
            time.sleep(0.01)
        return started[-1]

    yield start
    for each in started:
        each.kill()
        each.wait()


def test_a_folder_without_a_lock(tmp_path):
    assert not clear_lock(tmp_path)
    (tmp_path / LOCKS).mkdir(parents=True)
    assert not clear_lock(tmp_path)


@pytest.mark.parametrize("host", [platform.node(), None])
def test_a_lock_whose_process_is_gone_is_cleared(locked, host):
    if host is None:  # killed before it had said where it runs
        (locked / HOST).unlink()
    assert clear_lock(locked)
    assert not (locked / LOCKS).exists()


def test_a_run_that_goes_on_keeps_its_lock(locked, process, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    process(elsewhere, "snakemake")
    process(locked, "not-snakemake")
    running = process(locked, "snakemake")
    with pytest.raises(InputError, match=f"process {running.pid} runs a study here; wait"):
        clear_lock(locked)
    assert len(list((locked / LOCKS).iterdir())) == 2
    running.kill()
    running.wait()
    assert clear_lock(locked)


def test_jobs_that_a_killed_run_has_left_are_waited_for(locked, process):
    began = time.monotonic()
    process(locked, "snakemake", "--target-jobs", "x", seconds=1)
    assert clear_lock(locked)
    assert time.monotonic() - began >= 0.9


def test_a_run_on_another_machine_keeps_its_lock(locked):
    (locked / HOST).write_text("node-7\n")
    with pytest.raises(InputError, match="locked by a run on node-7; if that has ended, `snake"):
        clear_lock(locked)
    assert (locked / LOCKS).exists()


def test_the_command(locked, run, monkeypatch):
    monkeypatch.chdir(locked)
    assert "its lock is cleared" in run("study", "unlock").stderr
    again = run("study", "unlock")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")

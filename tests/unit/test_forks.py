"""Steps that fork from a server: they, and the scripts that wait for them, end alike."""

import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from sampled_metrics.study import forks, steps

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="no server is started")

# Runs the step `exact` on one file of ranks, as the script of a job does.
SCRIPT = """
from types import SimpleNamespace as Part
from sampled_metrics.study import forks
forks.run(Part(
    input=Part(ranks={ranks!r}), output=["exact.csv", "exact.md"],
    log=["exact.log"], threads={threads},
    params=Part(step="exact", exact={{"metrics": ["recall@1"]}}),
))
"""
RANKS = "user_id,n_candidates,n_better,n_tied\n1,3,0,0\n2,3,1,0\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("X.csv").write_text(RANKS)
    return tmp_path


@pytest.fixture
def server(folder, monkeypatch):
    monkeypatch.setenv(forks._VARIABLE, "")  # is removed again at the end
    server = forks.Server(Path())
    while not list(folder.glob("*.sock")):
        time.sleep(0.01)
    yield server
    server.stop()
    assert not list(folder.glob("*.sock"))


def start(ranks="X.csv", threads=1):
    code = SCRIPT.format(ranks=ranks, threads=threads)
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)


def ended(script):
    """Wait for a script; return its exit status and what it printed."""
    _, printed = script.communicate()
    return script.returncode, printed


def children(process):
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


def forked(server):
    """The one child of the server, once it runs."""
    while not children(server._process.pid):
        time.sleep(0.01)
    [child] = children(server._process.pid)
    return int(child)


def wait_until_gone(child):
    deadline = time.monotonic() + 20
    while Path(f"/proc/{child}").exists() and "\nState:\tZ" not in state(child):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def state(child):
    try:
        return Path(f"/proc/{child}/status").read_text()
    except FileNotFoundError:
        return "\nState:\tZ"


def made():
    return [Path(name).read_bytes() for name in ("exact.csv", "exact.md")]


def test_modules_of_steps_exist():
    for step, modules in forks._MODULES.items():
        assert callable(getattr(steps, step))
        assert all(map(find_spec, modules))


def test_files_are_those_of_a_step_that_runs_in_its_script(server):
    script = start()
    child = forked(server)
    assert ended(script) == (0, "")
    assert child != script.pid
    forked_files = made()
    assert ended(start(threads=2)) == (0, "")
    assert made() == forked_files


def test_an_error_is_that_of_the_script(server):
    script = start("none.csv")
    forked(server)
    status, printed = ended(script)
    assert status == 2
    assert printed.startswith("ERROR: ")
    assert printed == Path("exact.log").read_text()


def test_a_killed_step_kills_its_script(server):
    os.mkfifo("pipe.csv")  # reading it takes until something is written
    script = start("pipe.csv")
    os.kill(forked(server), 9)
    assert ended(script) == (-9, "")


def test_a_killed_script_ends_its_step(server):
    os.mkfifo("pipe.csv")
    script = start("pipe.csv")
    child = forked(server)
    script.kill()
    ended(script)
    wait_until_gone(child)


def test_a_script_without_its_server_runs_the_step(server):
    server._process.kill()
    server._process.wait()
    assert ended(start()) == (0, "")
    Path(next(Path().glob("*.sock"))).unlink()

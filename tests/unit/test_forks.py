"""Steps that fork from a server: they, and the scripts that wait for them, end alike."""

import os
import signal
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from sampled_metrics.study import forks, steps

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="no server is started"),
]

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
    assert list(folder.glob("*.sock"))  # a script can call at once
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


def blocked(server):
    """A script and a child that runs its step: opening the log takes until something reads it."""
    os.mkfifo("exact.log")
    script = start()
    child = forked(server)
    while len(list(Path(f"/proc/{child}/task").iterdir())) < 2:  # the second ends the child
        time.sleep(0.01)
    return script, child


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
    script, child = blocked(server)
    os.kill(child, 9)
    assert ended(script) == (-9, "")


def test_a_killed_script_ends_its_step(server):
    script, child = blocked(server)
    script.kill()
    ended(script)
    wait_until_gone(child)


ANSWERED = """
import socket
from sampled_metrics.study import forks
script, connection = socket.socketpair()
connection.send(bytes(1))
if {is_read}:
    script.recv(1)
script.close()
forks._end_with_script(connection)
"""


@pytest.mark.parametrize("is_read", [True, False])
def test_a_step_ends_with_a_script_that_may_not_have_read_its_answer(is_read):
    code = ANSWERED.format(is_read=is_read)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, b"")


def test_a_group_that_is_terminated_leaves_no_socket(server):
    """The server ends when its input is closed, as by the end of the process that started it."""
    script, child = blocked(server)
    for process in (server._process.pid, child, script.pid):
        os.kill(process, signal.SIGTERM)
    ended(script)
    wait_until_gone(child)


def test_a_script_without_its_server_runs_the_step(server):
    server._process.kill()
    server._process.wait()
    assert ended(start()) == (0, "")
    Path(next(Path().glob("*.sock"))).unlink()


@pytest.mark.usefixtures("folder")
def test_a_socket_of_a_killed_run_is_replaced(monkeypatch):
    monkeypatch.setenv(forks._VARIABLE, "")
    stale = f"steps-{os.getpid()}.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(stale)
    server = forks.Server(Path())
    assert Path(stale).stat().st_mode & 0o077 == 0
    script = start()
    forked(server)
    assert ended(script) == (0, "")
    server.stop()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("received", [0, 10])
def test_a_server_that_fails_leaves_the_step_to_the_script(monkeypatch, received):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("failing.sock")
        listener.listen()
        monkeypatch.setenv(forks._VARIABLE, "failing.sock")
        script = start()
        connection, _ = listener.accept()
        connection.recv(received)
        connection.close()
        assert ended(script) == (0, "")
    assert len(made()) == 2


@pytest.mark.parametrize("error", ["ImportError", "EOFError"])
def test_an_import_that_fails_is_an_error_of_the_step(folder, monkeypatch, error):
    Path("sitecustomize.py").write_text(f"""
import sys

class Broken:
    def find_spec(self, name, path=None, target=None):
        if name == "sampled_metrics.study.steps":
            raise {error}(name)
sys.meta_path.insert(0, Broken())
""")
    search = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(search))
    monkeypatch.setenv(forks._VARIABLE, "")
    server = forks.Server(Path())
    status, printed = ended(start())
    server.stop()
    assert status == 1
    assert f"{error}: sampled_metrics.study.steps" in printed


def test_a_server_ends_with_a_process_that_is_killed(folder):
    code = "import sampled_metrics.study.forks as f, time; f.Server(f.Path()); time.sleep(60)"
    parent = subprocess.Popen([sys.executable, "-c", code])
    while not (started := children(parent.pid)):
        time.sleep(0.01)
    parent.kill()
    parent.wait()
    wait_until_gone(int(started[0]))
    assert not list(folder.glob("*.sock"))


def test_without_sockets_scripts_run_the_steps(folder, monkeypatch):
    monkeypatch.setenv(forks._VARIABLE, "")
    server = forks.Server(folder / ("long" * 30))  # a name that no socket can have
    assert server._process is None
    assert not os.environ[forks._VARIABLE]
    server.stop()


def test_no_folder_of_matplotlib_is_left(folder, monkeypatch):
    Path("file").touch()
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(folder / "file"))  # nothing can be written below
    monkeypatch.delenv("MPLCONFIGDIR", raising=False)
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv(forks._VARIABLE, "")
    server = forks.Server(Path())
    while not list(folder.glob("matplotlib-*")):
        time.sleep(0.01)
    server.stop()
    assert not list(folder.glob("matplotlib-*"))

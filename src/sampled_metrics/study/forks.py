"""Steps in processes that fork from one which has imported what they need.

Imports take most steps about as long as their work. On one machine the workflow starts a server,
which imports the modules of all steps while the first of them run. The script of a job passes its
step on to a child of the server, waits, and exits as the child does. If one of the two is killed,
the other ends as well. Where no child starts, the script runs the step itself: on clusters, in
containers and in conda environments, and if the server has failed.

What a script imports from here loads no package.
"""

import atexit
import gc
import importlib
import logging
import os
import pickle
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, NoReturn

from sampled_metrics.study.job import Job

_VARIABLE = "SAMPLED_METRICS_STEPS"  # has the address for the scripts
_STEP = 16  # bytes before a pickled job, which have the name of its step
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # Memory of arrays up to 32 MB is used again; else the system clears it for each anew.
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
}

# Modules to import before a step forks, beside those of the steps above it.
_MODULES = {
    "fetch": (
        "snakemake.iocontainers",
        "snakemake.io",
        "sampled_metrics.study.steps",
        "sampled_metrics.study.datasets.fetch",
    ),
    "split": (
        "sampled_metrics.study.datasets.archives",
        "sampled_metrics.study.datasets.split",
    ),
    "rank": (
        "sampled_metrics.study.pieces",
        "sampled_metrics.study.recommenders.external",
        "implicit.cpu.als",
        "pyarrow.parquet",
    ),
    "theory": (
        "sampled_metrics.study.tables",
        "sampled_metrics.study.curves",
        "sampled_metrics.study.figures",
        "matplotlib.backends.backend_agg",
        "matplotlib.backends.backend_pdf",
        "matplotlib.backends.backend_svg",
        "matplotlib.pyplot",  # which Matplotlib imports to find its backend
        "sampled_metrics.study.printed",
        "tabulate",  # pandas imports this and the next three when it writes tables
        "pandas.io.formats.style",
        "pandas.io.formats.csvs",
        "pyarrow.pandas_compat",
    ),
    "ranges": ("sampled_metrics.study.against_samples",),
    "scorecard": (
        "sampled_metrics.study.scorecard",
        "sampled_metrics.study.claims",
        "sampled_metrics.study.starts",
    ),
    "page": ("sampled_metrics.study.page",),
}


class Server:
    """The process that steps fork from; it ends with the process that started it."""

    _process: "subprocess.Popen[bytes] | None" = None

    def __init__(self, folder: Path) -> None:
        address = folder / f"steps-{os.getpid()}.sock"
        with socket.socket(socket.AF_UNIX) as listener:
            previous = os.umask(0o077)  # only the owner may send steps
            try:
                address.unlink(missing_ok=True)  # of a killed run that had the same number
                listener.bind(str(address))
                listener.listen()
            except OSError:  # not every file system takes sockets; then scripts run the steps
                return
            finally:
                os.umask(previous)
            # From here on a script can call, though the server answers later.
            number = listener.fileno()
            command = [sys.executable, "-m", __name__, str(address), str(number)]
            environment = {**os.environ, **_ENVIRONMENT}
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, env=environment, pass_fds=[number]
            )
        os.environ[_VARIABLE] = str(address)

    def stop(self) -> None:
        """End the server, after the steps that it runs."""
        if self._process:
            self._process.communicate()


def run(job: Job) -> None:
    """Run the step of a job in a child of the server, or else in this process."""
    status = _status_of_child(job) if job.threads == 1 else None
    if status is None:
        _run_here(job)
    elif status:
        os._exit(status[0])  # at once: it takes time to take down what Snakemake imported
    else:
        os.kill(os.getpid(), signal.SIGKILL)  # as the child was


def _status_of_child(job: Job) -> bytes | None:
    """Exit status of the step of a job, empty if it was killed, None if no child started."""
    address = os.environ.get(_VARIABLE)
    if address is None:
        return None
    header = job.params.step.ljust(_STEP).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(address)
            socket.send_fds(connection, [header], [1, 2])
            connection.sendall(pickle.dumps(job))
            started = connection.recv(1)
        except OSError:  # the server could not start, or is gone
            return None
        if not started:
            return None
        try:
            return connection.recv(1)
        except ConnectionError:
            return b""


def _run_here(job: Job) -> None:
    from sampled_metrics.study import steps

    gc.disable()  # a step is short, and little of what it makes is garbage before its end,
    steps.run(job)
    gc.freeze()  # nor is it worth a search then


class _Request(NamedTuple):
    """What a script asks for: a step, in a child that has the script's output."""

    connection: socket.socket
    step: str
    outputs: list[int]


class _Queue:
    """Requests of scripts, and the steps for which modules are still to be imported."""

    def __init__(self, listener: socket.socket) -> None:
        self.listener = listener
        self.missing = set(_MODULES)
        self.requests: list[_Request] = []

    def serve(self, timeout: float | None) -> bool:
        """Fork a child for every request that can be met; false if stdin was closed."""
        while True:
            ready, _, _ = select.select([self.listener, sys.stdin], [], [], timeout)
            if sys.stdin in ready:
                return False
            if ready:
                self._receive()
            for request in self.requests.copy():
                if request.step not in self.missing:
                    self.requests.remove(request)
                    self._fork(request)
            if not ready:
                return True

    def _receive(self) -> None:
        connection, _ = self.listener.accept()
        header, outputs, _, _ = socket.recv_fds(connection, _STEP, 2)
        if header:  # else the script has been killed
            self.requests.append(_Request(connection, header.decode().rstrip(), outputs))

    def _fork(self, request: _Request) -> None:
        if os.fork() == 0:
            self.listener.close()
            for other in self.requests:
                other.connection.close()
            _run_child(request)
        request.connection.close()
        for output in request.outputs:
            os.close(output)
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass


def _serve(address: Path, listener: socket.socket) -> None:
    """Import the modules of all steps, and serve requests until stdin is closed."""
    for ending in (signal.SIGINT, signal.SIGTERM):  # which the whole group gets
        signal.signal(ending, signal.SIG_IGN)
    gc.disable()
    with listener, suppress(Exception):  # the scripts run the steps then, and say what is wrong
        _import_and_serve(_Queue(listener))
    address.unlink(missing_ok=True)
    with suppress(ChildProcessError):
        while True:
            os.wait()


def _import_and_serve(queue: _Queue) -> None:
    for step, modules in _MODULES.items():
        for module in modules:
            if not queue.serve(timeout=0):
                return
            with suppress(ImportError):  # a step that needs it says so
                importlib.import_module(module)
        queue.missing.remove(step)
    with suppress(ImportError):
        from sampled_metrics._base.arrays import one_thread

        with one_thread():  # looks for the libraries with threads, which takes as long as an import
            pass
    if queue.serve(timeout=0):
        queue.serve(timeout=None)


def _run_child(request: _Request) -> NoReturn:
    """Run the step of a job with the output of its script, send its exit status, and exit."""
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for descriptor, output in enumerate(request.outputs, start=1):
            os.dup2(output, descriptor)
        with request.connection.makefile("rb") as stream:
            job = pickle.load(stream)  # noqa: S301 - from the own script
        request.connection.send(b"\0")  # from here on the script runs nothing itself
        threading.Thread(target=_end_with_script, args=[request.connection], daemon=True).start()
        status = _status_of_step(job)
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        with suppress(OSError):  # the script is gone
            request.connection.send(bytes([status & 255]))
        os._exit(status & 255)


def _status_of_step(job: Job) -> int:
    """Run a step; return the exit status that Python would have."""
    try:
        _run_here(job)
    except SystemExit as end:
        if isinstance(end.code, str):
            sys.stderr.write(f"{end.code}\n")
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def _end_with_script(connection: socket.socket) -> None:
    with suppress(ConnectionError):  # of a script that went before it read the answer
        connection.recv(1)  # returns when the script is gone
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), socket.socket(fileno=int(sys.argv[2])))
    atexit._run_exitfuncs()  # a folder of Matplotlib, where the home directory is read-only
    os._exit(0)

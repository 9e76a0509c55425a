import logging
import os
import runpy
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).parents[1]

# Tests and their subprocesses do not depend on the settings of the developer.
SETTINGS = (
    "PYTHON",
    "PIP_",
    "OPENBLAS_",
    "OMP_",
    "MKL_",
    "MPL",
    "SNAKEMAKE_",
    "PYTEST_ADDOPTS",
)
COLOURS = (
    "FORCE_COLOR",
    "NO_COLOR",
    "CLICOLOR",
    "TTY_",
    "GITHUB_ACTIONS",
    "COLORTERM",
)
for variable in list(os.environ):
    if variable.startswith(SETTINGS + COLOURS):
        del os.environ[variable]
# Each core runs one worker, so that threads of linear algebra would only compete.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["COLUMNS"] = "80"
if (ROOT / "src").is_dir():  # absent where the wheel is tested
    os.environ["PYTHONPATH"] = f"{ROOT / 'src'}"

import pytest
from hypothesis import settings

from sampled_metrics.cli import main

# Use the same examples every time, without a deadline on a busy machine.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

# These run in interpreters of their own or when imported, or need packages that the tests do not.
collect_ignore_glob = ["examples/*.py"]


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def archive() -> Path:
    """Return the path of the MovieLens 1M archive, or skip the test."""
    path = os.environ.get("MOVIELENS_ARCHIVE")
    if not path:
        pytest.skip("MOVIELENS_ARCHIVE does not name a MovieLens 1M archive")
    return Path(path)


def write_archive(path: Path, ratings: bytes, member: str = "ml-1m/ratings.dat") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr(member, ratings)
    return path


class Files(list):
    """Files of a job as Snakemake passes them: a list, with names for some of them."""

    def __init__(self, **named):
        super().__init__()
        for name, files in named.items():
            setattr(self, name, files)
            self += [files] if isinstance(files, str) else files


def run_script(name, log, inputs, outputs, **params):
    """Run a script of the workflow as its rule does, with input and output files by name."""
    job = SimpleNamespace(
        input=Files(**inputs),
        output=Files(**outputs),
        params=SimpleNamespace(**params),
        log=[str(log)],
        threads=1,
        wildcards={},
    )
    runpy.run_path(str(ROOT / f"workflow/scripts/{name}.py"), {"snakemake": job})


@pytest.fixture
def run(monkeypatch, capfd):
    """Run the command in this process; return its exit status and what it writes."""

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["sampled-metrics", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_info:
            main()
        out, err = capfd.readouterr()
        return SimpleNamespace(returncode=exit_info.value.code or 0, stdout=out, stderr=err)

    yield command
    for handler in logging.getLogger().handlers[:]:
        if type(handler) in (logging.StreamHandler, logging.FileHandler):
            logging.getLogger().removeHandler(handler)
            handler.close()


@pytest.fixture
def refusal_line(run):
    """Run the command, which must be refused, and return its one line."""

    def command(*arguments):
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        lines = done.stderr.splitlines()
        assert len(lines) == 1
        return lines[0]

    return command

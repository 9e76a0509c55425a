"""The README's commands under each Python of this machine, as a new user runs them.

    python -m tests.pythons [OUTCOMES]

Interpreters are those of pyenv and of the search path, the newest of each minor version from 3.11
on. For each, the files of the project are copied to a new folder, in which `make reproduce` (oldest
and newest Python) and `make test` are run with nothing in the environment but HOME, PATH and, where
it is set, MOVIELENS_ARCHIVE. In the folder OUTCOMES, pytest leaves the outcomes of its tests.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OLDEST = (3, 11)  # requires-python of pyproject.toml
PROJECT = Path(__file__).resolve().parents[1]


def candidates():
    """Paths that may be interpreters, from pyenv and from the search path."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from root.glob("versions/3.*/bin/python3")
    for minor in range(OLDEST[1], 100):
        path = shutil.which(f"python3.{minor}")
        if path:
            yield Path(path)


def version_of(path):
    """The version that an interpreter prints; None for previews and for shims of nothing."""
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    version = re.match(r"Python (\d+)\.(\d+)\.(\d+)\s*$", done.stdout)
    return version and tuple(map(int, version.groups()))


def interpreters():
    """The newest interpreter of each minor version, oldest first."""
    paths = {}
    for path in candidates():
        version = version_of(path)
        if version and version >= OLDEST:
            paths.setdefault(version, path)
    newest = {version[:2]: version for version in sorted(paths)}
    return {f"{major}.{minor}": paths[version] for (major, minor), version in newest.items()}


def copy_to(folder):
    """Copy the files of the project, committed or not, that Git does not ignore."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, names.split("\0")):
        source, copy = PROJECT / name, folder / name
        if source.exists() or source.is_symlink():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy, follow_symlinks=False)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    subprocess.run(["git", "add", "--all"], cwd=folder, check=True)


def bare_environment(python):
    """HOME and PATH, on which `python3` is this interpreter, and the archive."""
    others = os.environ["PATH"].split(os.pathsep)
    folders = [str(python.parent), *(name for name in others if ".venv" not in name)]
    environment = {"HOME": os.environ["HOME"], "PATH": os.pathsep.join(folders)}
    if "MOVIELENS_ARCHIVE" in os.environ:
        environment["MOVIELENS_ARCHIVE"] = str(Path(os.environ["MOVIELENS_ARCHIVE"]).resolve())
    return environment


def make(target, python, folder, environment):
    """Run `make TARGET`; return its seconds and the command that repeats it if it fails."""
    words = ["make", target]
    beside = python.parent / "python3"
    if not beside.exists() or version_of(beside) != version_of(python):
        words.insert(1, f"PYTHON={python}")
    began = time.monotonic()
    done = subprocess.run(words, cwd=folder, env=environment, check=False)
    command = f'env -i HOME="$HOME" PATH="{python.parent}:$PATH" {" ".join(words)}'
    return time.monotonic() - began, command if done.returncode else ""


def run(outcomes=None):
    """Run all; yield the name, the seconds and the failed command of each."""
    pythons = interpreters()
    if not pythons:
        sys.exit("no Python from 3.11 on, of pyenv or of the search path")
    versions = list(pythons)
    for version, python in pythons.items():
        with tempfile.TemporaryDirectory(prefix="python.") as name:
            folder = Path(name)
            copy_to(folder)
            for target in (
                ["reproduce", "test"] if version in (versions[0], versions[-1]) else ["test"]
            ):
                environment = bare_environment(python)
                if outcomes and target == "test":
                    report = Path(outcomes).resolve() / f"python{version}.xml"
                    environment["PYTEST_ADDOPTS"] = f"--junitxml={report}"
                print(f"== Python {version}: make {target}", flush=True)
                seconds, failed = make(target, python, folder, environment)
                yield f"Python {version}: make {target}", seconds, failed


def main(arguments):
    rows = []
    for name, seconds, failed in run(*arguments):
        rows.append((name, seconds, failed))
        print(f"== {name}: {seconds:.0f} s, {f'FAILED: {failed}' if failed else 'passed'}")
    sys.exit(any(failed for _, _, failed in rows))


if __name__ == "__main__":
    main(sys.argv[1:])

"""The README's commands under each Python that is found on this machine.

    python -m tests.pythons [--newest] [TARGET ...]

Interpreters are those of pyenv and of the search path, the newest of each minor version from 3.11
on; by `--newest` only the last. In a copy of the files for each, the targets of the Makefile are
made: `reproduce` and `test`, unless others are named.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

LEAST = (3, 11)
TARGETS = ["reproduce", "test"]
PROJECT = Path(__file__).resolve().parents[1]


def candidates():
    """Paths that may be interpreters, from pyenv and from the search path."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from root.glob("versions/3.*/bin/python")
    for minor in range(LEAST[1], 100):
        path = shutil.which(f"python3.{minor}")
        if path:
            yield Path(path)


def interpreters():
    """The newest interpreter of each minor version, oldest first."""
    found = {}
    for path in candidates():
        asked = subprocess.run(
            [path, "--version"], capture_output=True, text=True, check=False
        )
        version = re.match(r"Python (\d+)\.(\d+)\.(\d+)\s*$", asked.stdout)
        if (
            version
        ):  # shims of versions that are not installed print none, previews a letter
            numbers = tuple(map(int, version.groups()))
            if numbers >= LEAST:
                found[numbers] = path
    newest = {numbers[:2]: numbers for numbers in sorted(found)}
    return {
        f"{major}.{minor}": found[newest[major, minor]] for major, minor in newest
    }


def copy_to(folder):
    """Copy the files of the project, committed or not, that Git does not ignore."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(
        listed, cwd=PROJECT, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, names.split("\0")):
        source, copy = PROJECT / name, folder / name
        if source.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    subprocess.run(["git", "add", "--all"], cwd=folder, check=True)


def main(arguments):
    found = interpreters()
    if not found:
        sys.exit("no Python from 3.11 on, of pyenv or of the search path")
    if "--newest" in arguments:
        found = dict(list(found.items())[-1:])
        if f"{sys.version_info.major}.{sys.version_info.minor}" in found:
            return  # whose tests have run
    targets = [
        argument for argument in arguments if argument != "--newest"
    ] or TARGETS
    for version, path in found.items():
        print(f"== Python {version}: make {' '.join(targets)}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            copy_to(Path(folder))
            made = subprocess.run(
                ["make", f"PYTHON={path}", *targets], cwd=folder, check=False
            )
        if made.returncode:
            sys.exit(
                f"Python {version}: make {' '.join(targets)} ended with {made.returncode}"
            )


if __name__ == "__main__":
    main(sys.argv[1:])

"""Make the exports of RecTools and RecBole again, and compare them with those of the tests.

`python -m benchmarks.archive.exports` installs each package (PyTorch) in an environment of its own
and writes to results/exports.
"""

import subprocess
import sys
from pathlib import Path

from benchmarks.environments import python_with

ROOT = Path(__file__).resolve().parents[3]
HERE = Path(__file__).parent
REQUIREMENTS = {
    "rectools": HERE / "rectools.txt",
    "recbole": ROOT / "tests/recbole/requirements.txt",
}


def main() -> None:
    """Make and compare the exports of both packages."""
    for name, requirements in REQUIREMENTS.items():
        python = python_with(name, "--requirement", str(requirements))
        made_folder = ROOT / "results/exports" / name
        expected = ROOT / "tests/golden/libraries" / name
        subprocess.run([python, str(HERE / f"export_{name}.py"), str(made_folder)], check=True)
        compare = [sys.executable, str(HERE / "compare.py"), str(made_folder), str(expected)]
        subprocess.run(compare, check=True)


if __name__ == "__main__":
    main()

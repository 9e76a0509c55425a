"""Run parts of `make test-all`, and print a table of their seconds and outcomes.

    python -m tests.parts [pythons] [PART ...]

A part PART is the target test-PART of tests/parts.mk; `pythons` stands for tests/pythons.py. All
parts are run, whatever the outcome of those before them. A part that failed is shown with the
command that repeats it. Last, a test that was skipped in every part that has it is a failure, too:
nothing would notice if it broke.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from xml.etree import ElementTree

from tests import pythons


def make(part, reports):
    """Make the target of a part; return its seconds and the command that repeats it if it fails."""
    print(f"== make test-{part}", flush=True)
    environment = os.environ | {"PYTEST_ADDOPTS": f"--junitxml={reports / part}.xml"}
    command = ["make", "--no-print-directory", f"test-{part}"]
    began = time.monotonic()
    done = subprocess.run(command, cwd=pythons.PROJECT, env=environment, check=False)
    return time.monotonic() - began, f"make test-{part}" if done.returncode else ""


def outcomes(report):
    """The tests of a report of pytest, and those of them that were skipped."""
    cases = list(ElementTree.parse(report).iter("testcase"))  # noqa: S314 - written by pytest
    names = {f"{case.get('classname')}::{case.get('name')}": case for case in cases}
    return set(names), {
        name for name, case in names.items() if case.find("skipped") is not None
    }


def skipped_everywhere(reports):
    """Tests that every report which has them says were skipped."""
    run, skipped = set(), set()
    for report in sorted(reports.glob("*.xml")):
        all_names, skipped_names = outcomes(report)
        run |= all_names - skipped_names
        skipped |= skipped_names
    return sorted(skipped - run)


def run(parts, reports):
    """Run parts; yield the name, the seconds and the failed command of each."""
    for part in parts:
        if part == "pythons":
            yield from pythons.run(reports)
        else:
            yield f"make test-{part}", *make(part, reports)


def main(parts):
    with tempfile.TemporaryDirectory(prefix="reports.") as folder:
        rows = list(run(parts, Path(folder)))
        skipped = skipped_everywhere(Path(folder))
    width = max(len(name) for name, _, _ in rows)
    print(f"\n{'part':{width}}  seconds  outcome")
    for name, seconds, failed in rows:
        print(
            f"{name:{width}}  {seconds:7.0f}  {f'FAILED: {failed}' if failed else 'passed'}"
        )
    print(f"{'all':{width}}  {sum(seconds for _, seconds, _ in rows):7.0f}")
    for name in skipped:
        print(f"FAILED: {name} was skipped wherever it could have run")
    sys.exit(bool(skipped) or any(failed for _, _, failed in rows))


if __name__ == "__main__":
    main(sys.argv[1:])

"""Run parts of `make test-all`, and print a table of their seconds and outcomes.

    python -m tests.parts [--no-skips] [pythons] [PART ...]

PART is made by the target test-PART of tests/parts.mk; `pythons` stands for tests/pythons.py. All
parts are run, whatever the outcome of those before them. A part that failed is shown with the
command that repeats it. Tests that were skipped in every part that has them are listed with the
reason; with `--no-skips` they are failures, as nothing would notice if they broke.
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


def run(parts, reports):
    """Run parts; yield the name, the seconds and the failed command of each."""
    for part in parts:
        if part == "pythons":
            yield from pythons.run(reports)
        else:
            yield f"make test-{part}", *make(part, reports)


def skipped_everywhere(reports):
    """Tests that every report of pytest which has them says were skipped, and why."""
    run, reasons = set(), {}
    for report in reports:
        for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314 - ours
            name = f"{case.get('classname')}::{case.get('name')}"
            skipped = case.find("skipped")
            if skipped is None:
                run.add(name)
            else:
                reasons[name] = skipped.get("message")
    return {name: reasons[name] for name in sorted(reasons.keys() - run)}


def main(arguments):
    with tempfile.TemporaryDirectory(prefix="reports.") as folder:
        parts = [word for word in arguments if word != "--no-skips"]
        rows = list(run(parts, Path(folder)))
        skipped = skipped_everywhere(sorted(Path(folder).glob("*.xml")))
    width = max(len(name) for name, _, _ in rows)
    print(f"\n{'part':{width}}  seconds  outcome")
    for name, seconds, failed in rows:
        outcome = f"FAILED: {failed}" if failed else "passed"
        print(f"{name:{width}}  {seconds:7.0f}  {outcome}")
    print(f"{'all':{width}}  {sum(seconds for _, seconds, _ in rows):7.0f}")
    for name, reason in skipped.items():
        print(f"skipped in all parts: {name}: {reason}")
    is_refused = bool(skipped) and "--no-skips" in arguments
    sys.exit(is_refused or any(failed for _, _, failed in rows))


if __name__ == "__main__":
    main(sys.argv[1:])

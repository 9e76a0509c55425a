"""How tests run: without settings of the developer, and none skipped in every part."""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.parts import skipped_everywhere

PRINT = "import json, os, tests.conftest; print(json.dumps(dict(os.environ)))"


@pytest.mark.long
def test_developer_settings_are_ignored():
    names = ("PYTHONUNBUFFERED", "PIP_FIND_LINKS", "OPENBLAS_CORETYPE", "FORCE_COLOR")
    changed = {"PYTHONWARNINGS": "ignore", **dict.fromkeys(names, "1")}
    environment = os.environ | changed | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", PRINT],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert changed.keys() & json.loads(done.stdout).keys() == set()


CASE = '<testcase classname="tests.a" name="{}">{}</testcase>'
SKIPPED = '<skipped message="no torch"/>'


def test_tests_skipped_in_all_parts_are_listed(tmp_path):
    reports = []
    for part, runs in {"long": [0, 0, 1], "engines": [0, 1, 0]}.items():
        cases = [CASE.format(f"test_{i}", "" if runs[i] else SKIPPED) for i in range(3)]
        reports.append(tmp_path / f"{part}.xml")
        text = "".join(cases)
        reports[-1].write_text(f"<testsuites><testsuite>{text}</testsuite></testsuites>")
    assert skipped_everywhere(reports) == {"tests.a::test_0": "no torch"}


@pytest.mark.parametrize("part", ["long", "robustness", "wheel", "lowest", "engines", "recbole"])
def test_every_run_of_pytest_writes_its_own_report(part):
    """Else the second overwrites what the first skipped, and nobody learns whether it ran."""
    environment = os.environ | {"PYTEST_ADDOPTS": "--junitxml=report.xml"}
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", f"test-{part}"],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    commands = done.stdout.replace("\\\n", " ").splitlines()
    runs = [line for line in commands if re.search(r"\bpytest +(-|\$)", line)]
    named = [re.findall(r"--junitxml=(\S+\.xml)", line) for line in runs]
    reports = [names[0] if names else "report.xml" for names in named]
    assert len(reports) >= 1
    assert len(set(reports)) == len(reports)

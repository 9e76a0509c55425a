"""How many files of the package a reader of a call visits; ceilings that may only fall."""

import re
import subprocess
import sys

from tests.conftest import ROOT

CEILINGS = {"Ranks": 12, "array": 15, "lists": 15, "samples": 22, "command": 28}


def test_walks_get_no_longer():
    script = ROOT / "benchmarks/walk.py"
    run = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True
    )
    found = re.findall(r"^(\w+): .* in all, (\d+) files", run.stdout, re.MULTILINE)
    assert [name for name, _ in found] == list(CEILINGS)
    for name, files in found:
        assert 0 < int(files) <= CEILINGS[name], f"python benchmarks/walk.py {name}"

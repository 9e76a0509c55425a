"""How many moves between files a reader of a call has to follow; ceilings that may only fall."""

import re
import subprocess
import sys

from tests.conftest import ROOT

CEILINGS = {"array": 32, "lists": 46, "samples": 25}


def test_walks_to_the_ranks_get_no_longer():
    script = ROOT / "benchmarks/walk.py"
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    found = dict(re.findall(r"^(\w+): (\d+) moves to its ranks", run.stdout, re.MULTILINE))
    assert found.keys() == CEILINGS.keys()
    for name, moves in found.items():
        assert 0 < int(moves) <= CEILINGS[name], f"python benchmarks/walk.py {name}"

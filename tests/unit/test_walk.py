"""How many moves between files a reader of a call has to follow; ceilings that may only fall.

Moves until the call has ranks, and files that it comes back to.
"""

import re
import subprocess
import sys

from tests.conftest import ROOT

CEILINGS = {"array": (30, 12), "lists": (46, 13), "samples": (25, 15)}


def test_walks_get_no_longer():
    script = ROOT / "benchmarks/walk.py"
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    line = r"^(\w+): (\d+) moves to its ranks.* (\d+) of them again$"
    found = re.findall(line, run.stdout, re.MULTILINE)
    assert [name for name, _, _ in found] == list(CEILINGS)
    for name, moves, again in found:
        most_moves, most_again = CEILINGS[name]
        assert 0 < int(moves) <= most_moves, f"python benchmarks/walk.py {name}"
        assert 0 < int(again) <= most_again, f"python benchmarks/walk.py {name}"

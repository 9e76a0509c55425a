"""Tokens of each room of the package and in all; ceilings that may only fall."""

import re
import subprocess
import sys

from tests.conftest import ROOT

CEILINGS = {
    "_base": 7_300,
    "budget": 13_400,
    "cli": 5_700,
    "estimators": 3_900,
    "evaluation": 17_700,
    "inputs": 18_800,
    "intervals": 10_200,
    "metrics": 5_700,
    "pages": 8_800,
    "printed": 10_200,
    "ranks": 9_200,
    "sampling": 6_000,
    "study": 43_800,  # with what was in benchmarks: claims, audit, reference, ncf
    "top": 1_200,
    "all": 160_300,
}
DENSEST = 12.7  # tokens a line of any file; claims/run.py came from benchmarks


def test_rooms_get_no_larger():
    script = ROOT / "benchmarks/size.py"
    run = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True
    )
    rows = re.findall(
        r"^(\w+) +([\d,]+) +[\d,]+ +[\d.]+  ([\d.]+)", run.stdout, re.MULTILINE
    )
    assert [room for room, *_ in rows] == list(CEILINGS)
    for room, tokens, density in rows:
        assert int(tokens.replace(",", "")) <= CEILINGS[room], (
            f"{room} is too large\n{run.stdout}"
        )
        assert float(density) <= DENSEST, run.stdout

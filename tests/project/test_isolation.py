"""What tests do not take over from who runs them."""

import json
import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

PRINT = "import json, os, tests.conftest; print(json.dumps(dict(os.environ)))"


@pytest.mark.parametrize(
    "variable",
    [
        "PYTHONWARNINGS",
        "PYTHONUNBUFFERED",
        "PIP_FIND_LINKS",
        "OPENBLAS_CORETYPE",
        "FORCE_COLOR",
    ],
)
def test_settings_of_the_developer_are_left_out(variable):
    environment = os.environ | {variable: "1", "PYTHONPATH": str(ROOT / "src")}
    if variable == "PYTHONWARNINGS":
        environment[variable] = "ignore"
    done = subprocess.run(
        [sys.executable, "-c", PRINT],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert variable not in json.loads(done.stdout)

"""A plugin of pytest: tell coverage which test runs a line, and write down how long tests take."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from coverage import Coverage

from tests.mutants import SETUP

seconds: Counter[str] = Counter()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    Coverage.current().switch_context(SETUP + item.nodeid.split("::")[0])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    Coverage.current().switch_context(_name(item.nodeid))


def pytest_runtest_logreport(report):
    seconds[_name(report.nodeid)] += report.duration


def pytest_sessionfinish():
    Path(os.environ["SECONDS"]).write_text(json.dumps(seconds))


def _name(nodeid):
    """Name of a test without its parameters."""
    return nodeid.split("[")[0]

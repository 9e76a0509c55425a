"""Fixtures for the tests of the study."""

import logging

import pytest

from sampled_metrics_study.tables import read_published
from tests.conftest import ROOT

REFERENCE = ROOT / "results/reference"
# The cells of the paper's tables.
PUBLISHED = read_published(ROOT / "config/paper/tables.csv")


@pytest.fixture(autouse=True)
def handlers():
    """Close the logs that scripts open."""
    yield
    for handler in logging.getLogger().handlers[:]:
        if type(handler) in (logging.StreamHandler, logging.FileHandler):
            logging.getLogger().removeHandler(handler)
            handler.close()

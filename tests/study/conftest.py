"""Fixtures for the tests of the study."""

import logging

import pytest


@pytest.fixture(autouse=True)
def handlers():
    """Close the logs that scripts open."""
    yield
    for handler in logging.getLogger().handlers[:]:
        if type(handler) in (logging.StreamHandler, logging.FileHandler):
            logging.getLogger().removeHandler(handler)
            handler.close()

"""The sentence about the conditions of a measurement."""

import os
import platform

import numpy as np


def conditions() -> str:
    """Return versions and processors in one line."""
    versions = f"Python {platform.python_version()}, numpy {np.__version__}"
    return f"{versions}, {os.cpu_count()} processors.\n"

"""The sentence on the conditions of a measurement."""

import os
import platform

import numpy as np


def conditions() -> str:
    """Return the versions and the machine, one line."""
    versions = f"Python {platform.python_version()}, numpy {np.__version__}"
    return f"{versions}, {os.cpu_count()} processors.\n"

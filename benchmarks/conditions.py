"""The sentence on the conditions of a measurement."""

import os
import platform
import subprocess
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]


def conditions() -> str:
    """Return the commit, the versions and the machine, one line."""
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=7", "--exclude=*"]
    described = subprocess.run(git, capture_output=True, text=True)
    commit = described.stdout.strip() or "unknown"
    versions = f"Python {platform.python_version()}, numpy {np.__version__}"
    return f"Commit {commit}, {versions}, {os.cpu_count()} processors.\n"

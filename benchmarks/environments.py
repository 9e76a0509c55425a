"""Environments of packages that cannot share one with this project."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def python_with(name: str, *requirements: str) -> str:
    """Return the interpreter of `.venv-peers/NAME`; create the environment if it is missing."""
    folder = ROOT / ".venv-peers" / name
    python = folder / "bin/python"
    stamp = folder / ".installed"
    if not stamp.exists():
        print(f"installing {name} in {folder}", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", *requirements]
        subprocess.run(install, check=True)
        stamp.touch()
    return str(python)

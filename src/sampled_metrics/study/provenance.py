"""The provenance of a run: data, settings, versions and machine."""

import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import sampled_metrics
from sampled_metrics._base.files import read_json

_PACKAGES = ("numpy", "scipy", "implicit", "pandas", "pyarrow", "snakemake", "matplotlib")


def provenance(records: Sequence[Path], study: Mapping[str, Any]) -> dict[str, Any]:
    """Collect the provenance of a run.

    Parameters
    ----------
    records
        JSON files of earlier steps, each kept under its file's stem.
    study
        Source of the ranks, hash of the configuration and seeds, see `Study.identity`.
    """
    return {
        "ranks": study.get("ranks"),
        **{path.stem: read_json(path) for path in records},
        **study,
        "versions": _versions(),
        "host": {
            "system": platform.system(),
            "machine": platform.machine(),
            "processors": os.cpu_count(),
        },
    }


def _versions() -> dict[str, str]:
    found = {
        "python": platform.python_version(),
        "sampled-metrics": sampled_metrics.__version__,
    }
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found

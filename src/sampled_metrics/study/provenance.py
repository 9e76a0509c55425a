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
    """Collect JSON files of earlier steps by stem, `Study.identity`, versions and machine."""
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
    versions = {"python": platform.python_version(), "sampled-metrics": sampled_metrics.__version__}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions

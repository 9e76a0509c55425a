"""Where the numbers of a run come from: its data, settings, versions and machine."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sampled_metrics import __version__
from sampled_metrics._base.files import read_json
from sampled_metrics._base.text import listed
from sampled_metrics.study.datasets.catalogue import CATALOGUE

PACKAGES = ("numpy", "scipy", "implicit", "pandas", "pyarrow", "snakemake", "matplotlib")
_KINDS = {"als": "matrix factorisation", "itemknn": "neighbours of items"}
_OF_MACHINE = ("archive", "cache", "path")  # settings of the dataset that are not shown


def provenance(ranks: str, origin: Sequence[Path], identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `provenance.json` says of a run: data, settings, versions, machine.

    `origin` are the records of earlier steps, or of the run that the ranks are from.
    """
    versions = {name: version(name) for name in PACKAGES}
    # The workflow runs the package of its checkout, which need not be installed.
    return {
        "ranks": ranks,
        **{path.stem: read_json(path) for path in origin},
        **identity,
        "versions": {
            "python": platform.python_version(),
            "sampled-metrics": __version__,
            **versions,
        },
        "host": {
            "system": platform.system(),
            "machine": platform.machine(),
            "processors": os.cpu_count(),
        },
    }


def who_ranked(names: Sequence[str], config: Mapping[str, Any]) -> str:
    """Name the recommenders with their kinds."""
    kinds = [
        f"{entry['name']} ({_KINDS.get(entry['kind'], entry['kind'])})"
        for entry in config.get("recommenders", [])
    ]
    return listed(kinds or names)


def title_of_dataset(run: Mapping[str, Any]) -> str:
    """Name the dataset of a run, of which `run` is the provenance; empty if it is not known."""
    name: str = run.get("source", {}).get("dataset", "")
    if name in CATALOGUE:
        return CATALOGUE[name].title
    return name


def settings_in_words(config: Mapping[str, Any]) -> str:
    """Write a configuration as JSON, without folders of this machine."""
    dataset = {**config.get("dataset", {})}
    for name in _OF_MACHINE:
        dataset.pop(name, None)
    return json.dumps({**config, "dataset": dataset}, indent=2, ensure_ascii=False)

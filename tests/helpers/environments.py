"""Environments with some installed packages and their requirements, without downloads."""

import venv
from importlib.metadata import distribution

from packaging.requirements import Requirement


def required_distributions(names):
    """The named distributions and all that they require, without extras."""
    distributions, remaining = {}, [Requirement(name).name for name in names]
    while remaining:
        name = remaining.pop().lower().replace("_", "-")
        if name not in distributions:
            distributions[name] = distribution(name)
            needs = map(Requirement, distributions[name].requires or ())
            remaining += [
                need.name
                for need in needs
                if not need.marker or need.marker.evaluate({"extra": ""})
            ]
    return distributions


def make_environment(folder, names):
    """Make an environment with these distributions and their requirements; return its Python."""
    venv.create(folder, with_pip=False)
    (site,) = folder.glob("lib/python*/site-packages")
    for package in required_distributions(names).values():
        for name in {file.parts[0] for file in package.files if not file.parts[0].startswith(".")}:
            # Old versions of pip list files of the source as well.
            is_installed = package.locate_file(name).exists()
            link = site / name
            if name not in ("..", "__pycache__") and is_installed and not link.exists():
                link.symlink_to(package.locate_file(name))
    return folder / "bin/python"

"""Environments that hold some of the installed packages and what these need, without a download."""

import venv
from importlib.metadata import distribution

from packaging.requirements import Requirement


def closure(names):
    """The distributions that some need, extras left out."""
    found, left = {}, [Requirement(name).name for name in names]
    while left:
        name = left.pop().lower().replace("_", "-")
        if name not in found:
            found[name] = distribution(name)
            needs = map(Requirement, found[name].requires or ())
            left += [
                need.name
                for need in needs
                if not need.marker or need.marker.evaluate({"extra": ""})
            ]
    return found


def make_environment(folder, names):
    """Make an environment of these distributions and what they need; return its Python."""
    venv.create(folder, with_pip=False)
    (site,) = folder.glob("lib/python*/site-packages")
    for package in closure(names).values():
        for name in {
            file.parts[0]
            for file in package.files
            if not file.parts[0].startswith(".")
        }:
            if name not in ("..", "__pycache__") and not (site / name).exists():
                (site / name).symlink_to(package.locate_file(name))
    return folder / "bin/python"

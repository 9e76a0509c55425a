"""Packages that are imported where one of their names is first used.

Arrays are ranked and evaluated with numpy and scipy alone, so the others may be missing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sampled_metrics._base.errors import InputError


class _Package:
    """Stands for a package until it is used.

    Examples
    --------
    >>> _Package("fractions").Fraction(1, 2)
    Fraction(1, 2)
    >>> _Package("no_such_package").name
    Traceback (most recent call last):
    sampled_metrics.InputError: this needs the package no_such_package: pip install no_such_package
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        """Import the package, and keep the attribute."""
        try:
            package = import_module(self._name)
        except ModuleNotFoundError as error:
            name = self._name
            raise InputError(f"this needs the package {name}: pip install {name}") from error
        value = getattr(package, attribute)
        setattr(self, attribute, value)
        return value


if TYPE_CHECKING:
    import clarabel
    import pyarrow
    from pyarrow import _compute as kernels
    from pyarrow import csv as pyarrow_csv
else:
    clarabel = _Package("clarabel")
    pyarrow = _Package("pyarrow")
    kernels = _Package("pyarrow._compute")  # pyarrow.compute, without what wraps its functions
    pyarrow_csv = _Package("pyarrow.csv")

__all__ = ["clarabel", "kernels", "pyarrow", "pyarrow_csv"]

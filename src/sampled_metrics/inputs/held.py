"""Types of what people hold, as arguments of the public functions have it; see `recognise`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from numpy.typing import ArrayLike

from sampled_metrics.ranks import Ranks, SampledRanks


class Frame(Protocol):
    """A DataFrame of pandas or polars, or a table of pyarrow."""

    @property
    def columns(self) -> Any:
        """Columns, or their names."""


class Sparse(Protocol):
    """A sparse matrix of scipy."""

    def tocsr(self) -> Any:
        """Return the matrix by rows."""


# Items or scores of users: a file, an array, rows, a dictionary by user, a table or a matrix.
OfUsers: TypeAlias = Path | ArrayLike | Sequence[Any] | Mapping[Any, Any] | Frame | Sparse
Data: TypeAlias = OfUsers | Ranks | SampledRanks

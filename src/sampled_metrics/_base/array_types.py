"""Types of arrays and data in signatures."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Float: TypeAlias = NDArray[np.float64]
Floats: TypeAlias = NDArray[np.floating[Any]]  # single or double precision
Int: TypeAlias = NDArray[np.int64]
Codes: TypeAlias = NDArray[np.int32]  # positions of ids in a table of ids, from 0
Bool: TypeAlias = NDArray[np.bool_]
Ids: TypeAlias = NDArray[np.integer] | NDArray[np.str_]
RowSelection: TypeAlias = Int | NDArray[np.bool_] | slice  # anything that indexes an array

# An array of numpy or of another library, maybe on a device: these have no common type.
AnyArray: TypeAlias = Any
# Rankings of one recommender: Ranks, SampledRanks, scores, lists, a table or a file.
Data: TypeAlias = Any
# Items by user: a table, a file, a dictionary, an array or a sparse matrix.
ItemsByUser: TypeAlias = Any

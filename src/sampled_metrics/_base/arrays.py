"""Types of the arrays that rooms hand each other."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Float: TypeAlias = NDArray[np.float64]
Int: TypeAlias = NDArray[np.int64]
Ids: TypeAlias = NDArray[np.integer] | NDArray[np.str_]

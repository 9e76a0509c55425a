"""Signs of a mistake in valid data: pure functions that yield an argument and what is suspicious.

There is a file for each canonical form that data is read into. `warn_all` warns of the signs, where
the form has been read. The thresholds keep chance from raising a warning, and balance warnings
about sound data, which docs/measured/warnings.md counts, against mistakes that raise none.
"""

from collections.abc import Iterator
from typing import TypeAlias

Signs: TypeAlias = Iterator[tuple[str, str]]  # each an argument, and what is suspicious about it

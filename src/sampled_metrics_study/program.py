"""How a module of the study ends that is run as a program."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.standard_output import standard_output


@contextmanager
def program() -> Iterator[None]:
    """Run a program of the study; invalid input, or a full disk, is one line and exit status 2."""
    try:
        with standard_output():
            yield
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)

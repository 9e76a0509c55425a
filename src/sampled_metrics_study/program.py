"""Error handling for modules of the study that are run as programs."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.standard_output import standard_output


@contextmanager
def program() -> Iterator[None]:
    """Run a program; invalid input or a full disk prints one line and gives exit status 2."""
    try:
        with standard_output():
            yield
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)

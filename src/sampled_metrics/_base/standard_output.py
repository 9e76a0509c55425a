"""Standard output that is full, or that nobody reads any more."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sampled_metrics._base.errors import InputError

# Of a stream; writers of files name their file.
_NOT_WRITTEN = {errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC, errno.EPIPE}


@contextmanager
def standard_output() -> Iterator[None]:
    """Write all that was printed before the block ends; raise InputError if that fails.

    Without this, Python writes the rest of its buffer when it ends, where a full disk is reported
    after the last chance to handle it, with exit status 120. A reader who has left is no error:
    the program ends with status 1, without a word.
    """
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in _NOT_WRITTEN:
            _end(error)
        raise
    finally:
        if sys.stdout is not None:  # as it is if it was closed before Python started
            try:
                sys.stdout.flush()
            except OSError as error:
                _discard()
                _end(error)


def _end(error: OSError) -> None:
    if isinstance(error, BrokenPipeError):
        sys.exit(1)
    raise InputError(f"standard output: cannot be written ({error.strerror})") from error


def _discard() -> None:
    """Send what is left in the buffer to nowhere, or Python tries to write it once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)

"""Standard output that cannot be written, because a disk is full or nobody reads it any more."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sampled_metrics._base.errors import InputError

# Errors of a stream. Errors about a file carry its name, and their writers report it.
_STREAM_ERRORS = {errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC, errno.EPIPE}


@contextmanager
def standard_output() -> Iterator[None]:
    """Write out all that was printed before the block ends; raise InputError if that fails.

    Without this, Python writes the rest of its buffer when it exits. A full disk is then reported
    too late to be handled, with exit status 120. If the reader of a pipe has left, the program
    ends silently with status 1.
    """
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno in _STREAM_ERRORS:
            _end(error)
        raise
    finally:
        if sys.stdout is not None:  # None if it was closed before Python started
            try:
                sys.stdout.flush()
            except OSError as error:
                _discard_buffer()
                _end(error)


def _end(error: OSError) -> None:
    if isinstance(error, BrokenPipeError):
        sys.exit(1)
    raise InputError(f"standard output: cannot be written ({error.strerror})") from error


def _discard_buffer() -> None:
    """Send the rest of the buffer to the null device, or Python would try to write it again."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)

"""The errors that a user of the package can mend."""


class InputError(ValueError):
    """Something given from outside is not what it must be.

    The message is one line: what was found, where, and what is allowed.
    """

    __module__ = "sampled_metrics"  # its public place, which tracebacks show


class UnreachableError(InputError):
    """The publisher's server could not be reached, so nothing can be said of the data."""

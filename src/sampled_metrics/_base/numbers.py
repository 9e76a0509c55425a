"""Checking a number given as a setting."""

from sampled_metrics._base.errors import InputError


def check_number(
    name: str,
    value: float,
    *,
    above: float | None = None,
    least: int | None = None,
    within: tuple[float, float] | None = None,
) -> None:
    """Raise InputError unless a setting is a number in its range.

    `least` asks for a whole number of at least that; `above` for a finite number above that;
    `within` for a finite number from the first to the second, which may be infinite.
    """
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if least is not None and not (is_number and isinstance(value, int) and value >= least):
        raise InputError(f"{name} is {value!r}; allowed: a whole number of at least {least}")
    if above is not None and not (is_number and above < value < float("inf")):
        raise InputError(f"{name} is {value!r}; allowed: a finite number above {above:g}")
    if within is not None and not (
        is_number and within[0] <= value <= within[1] and value < float("inf")
    ):
        allowed = f"from {within[0]:g} to {within[1]:g}"
        if within[1] == float("inf"):
            allowed = f"of at least {within[0]:g}"
        raise InputError(f"{name} is {value!r}; allowed: a finite number {allowed}")

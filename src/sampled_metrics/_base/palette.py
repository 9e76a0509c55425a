"""Colours and dashes by name: of recommenders, of estimators and of verdicts.

Figures, plots and pages all read them here, so that a name looks the same everywhere. Nothing is
shared between the three. Colours of lines have a contrast of at least 4.5 with their page; those
that look alike to colour-blind readers differ in dashes or markers.
"""

from collections.abc import Iterable, Mapping
from itertools import cycle
from typing import NamedTuple

DASHES: tuple[tuple[float, ...], ...] = ((), (4, 1.2), (1.2, 0.9), (5, 1.2, 1.2, 1.2))


class Look(NamedTuple):
    """How one name is drawn."""

    light: str  # colour on light pages
    dark: str  # colour on dark pages
    dashes: tuple[float, ...] = ()  # lengths of dashes and gaps in widths of the line; () is solid
    marker: str = "o"

    @property
    def linestyle(self) -> str | tuple[float, tuple[float, ...]]:
        """The dashes as Matplotlib takes them."""
        return (0, self.dashes) if self.dashes else "-"


# X, Y and Z are the paper's; A, B and C those of its toy example.
RECOMMENDERS = {
    "X": Look("#0072b2", "#4fb0ea", DASHES[0]),
    "Y": Look("#a06000", "#f0ae3c", DASHES[1]),
    "Z": Look("#007a5a", "#2fc99e", DASHES[2]),
    "A": Look("#7d2b1d", "#e39a8c", DASHES[0]),
    "B": Look("#006d77", "#5cc4cf", DASHES[1]),
    "C": Look("#7a5c00", "#d6bd5a", DASHES[2]),
}
OTHER_RECOMMENDERS = (
    Look("#6b6f00", "#c9cf4a", DASHES[3]),
    Look("#b84a00", "#ff8a4c", DASHES[0]),
    Look("#00707f", "#39c7d6", DASHES[3]),
    Look("#1d3a8a", "#93a5ff", DASHES[2]),
    Look("#8a2f2f", "#e88080", DASHES[3]),
    Look("#2f5d1e", "#8fce6e", DASHES[1]),
    Look("#4a5d78", "#9db4d6", DASHES[2]),
)
ESTIMATORS = {
    "likely": Look("#c0207a", "#ff7fbf", DASHES[0], "o"),
    "sampled": Look("#6e6e6e", "#a8a8a8", DASHES[1], "D"),
    "rank-estimate": Look("#5b3df0", "#a79bff", DASHES[0], "v"),
    "cls": Look("#9e1b45", "#ff8fab", DASHES[1], "P"),
    "bv:1": Look("#3d1f6d", "#cbb8e8", DASHES[3], "<"),
    "bv:0.1": Look("#7a4fb0", "#b48fe0", DASHES[0], "^"),
    "bv:0.01": Look("#a946c2", "#f0b0ff", DASHES[1], "s"),
    "bv:0.001": Look("#bf3fa0", "#f57fd6", DASHES[2], ">"),
    "em": Look("#8c5a86", "#cfa0c8", DASHES[2], "X"),
}
OTHER_ESTIMATORS = (
    Look("#9b3f6b", "#e88ab5", DASHES[3], "p"),
    Look("#6b3fa0", "#c3a6ea", DASHES[2], "h"),
    Look("#55305f", "#b48fbf", DASHES[3], "d"),
)
VERDICTS = {  # grounds of cells
    "exact": Look("#9fd8ac", "#1d5a30"),
    "within noise": Look("#b9d3f0", "#23507f"),
    "explained": Look("#f3d77c", "#6b5615"),
    "differs": Look("#f0a59c", "#85352c"),
    "none": Look("#e9ebee", "#2c3238"),
}


def recommender_looks(names: Iterable[str]) -> dict[str, Look]:
    """Return the looks of recommenders: known names have their own, others the next free one.

    A name such as "ALS 16 (X)", which ends with a known one in brackets, has the look of X.

    Examples
    --------
    >>> looks = recommender_looks(["mine", "ALS 16 (X)"])
    >>> looks["ALS 16 (X)"] == RECOMMENDERS["X"], looks["mine"] == OTHER_RECOMMENDERS[0]
    (True, True)
    """
    keys = {name: name.rpartition("(")[2].removesuffix(")") for name in names}
    return _assign_looks(keys, RECOMMENDERS, OTHER_RECOMMENDERS)


def estimator_looks(names: Iterable[str]) -> dict[str, Look]:
    """Return the looks of estimators by their names or labels, such as `bv:0.1` or `BV 0.1`."""
    keys = {}
    for name in names:
        key = name.lower()
        keys[name] = key.replace("bv ", "bv:").replace(" ", "-")
    return _assign_looks(keys, ESTIMATORS, OTHER_ESTIMATORS)


def _assign_looks(
    keys: Mapping[str, str], known: Mapping[str, Look], others: tuple[Look, ...]
) -> dict[str, Look]:
    """Return the look of each name: the known one of its key, or the next of the others in turn."""
    next_other = cycle(others)
    return {name: known[key] if key in known else next(next_other) for name, key in keys.items()}


_PAPER_LOOKS = tuple(RECOMMENDERS.values())[:3]  # of X, Y and Z
_TOY_LOOKS = tuple(RECOMMENDERS.values())[3:]
_SLOTS = (*_PAPER_LOOKS, *OTHER_RECOMMENDERS, *_TOY_LOOKS)  # looks, as `stylesheet` numbers them
_CSS_PIXELS = 3  # of the width of a line, by which dashes are multiplied


def slots(names: Iterable[str]) -> list[int]:
    """Return the number of the look of each recommender, as in the variables of `stylesheet`."""
    looks = recommender_looks(names)
    return [_SLOTS.index(look) for look in looks.values()]


def stylesheet() -> str:
    """Return the palette as variables of CSS: --c0, --d0 and so on by slot, and the verdicts."""
    dashes = {}
    for slot, look in enumerate(_SLOTS):
        lengths = " ".join(f"{_CSS_PIXELS * length:g}" for length in look.dashes)
        dashes[f"--d{slot}"] = lengths or "none"
    light = _css_rule({**_css_colours("light"), **dashes})
    dark = _css_rule(_css_colours("dark"))
    return f"{light}\n@media screen and (prefers-color-scheme: dark) {{ {dark} }}"


def _css_colours(scheme: str) -> dict[str, str]:
    """Return the colours of slots and of verdicts on `light` or `dark` pages, by variable."""
    colours = {f"--c{slot}": getattr(look, scheme) for slot, look in enumerate(_SLOTS)}
    for verdict, look in VERDICTS.items():
        colours[f"--{verdict.replace('within ', '')}"] = getattr(look, scheme)
    return colours


def _css_rule(value_by_variable: Mapping[str, str]) -> str:
    definitions = " ".join(f"{name}: {value};" for name, value in value_by_variable.items())
    return f":root {{ {definitions} }}"

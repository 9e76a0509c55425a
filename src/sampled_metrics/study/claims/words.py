"""Numbers and orders in words."""

from collections.abc import Iterable, Mapping


def ranked(values: Mapping[str, float], equal: float = 0.0) -> str:
    """Write names from best to worst; neighbours that differ by at most `equal` are equal.

    Examples
    --------
    >>> ranked({"A": 0.1, "C": 0.3004, "B": 0.3}, equal=0.001)
    'B = C > A'
    """
    groups: list[list[str]] = []
    for name in sorted(values, key=lambda name: -values[name]):
        if groups and values[groups[-1][-1]] - values[name] <= equal:
            groups[-1].append(name)
        else:
            groups.append([name])
    return " > ".join(" = ".join(sorted(group)) for group in groups)


def listed(values: Mapping[str, float], decimals: int = 2) -> str:
    """Write names from best to worst with their values.

    Examples
    --------
    >>> listed({"X": 7.6, "Z": 9.42})
    'Z 9.42, X 7.60'
    """
    names = sorted(values, key=lambda name: -values[name])
    return ", ".join(f"{name} {values[name]:.{decimals}f}" for name in names)


def by_metric(parts: Mapping[str, str]) -> str:
    """Join what was measured for each metric.

    Examples
    --------
    >>> by_metric({"AP": "A > B", "AUC": "B > A"})
    'AP: A > B; AUC: B > A'
    """
    return "; ".join(f"{name}: {text}" for name, text in parts.items())


def joined(words: Iterable[str], none: str = "none") -> str:
    """Join words by commas, or say that there are none.

    Examples
    --------
    >>> joined(["AUC of X", "AUC of Y"]), joined([])
    ('AUC of X, AUC of Y', 'none')
    """
    return ", ".join(words) or none

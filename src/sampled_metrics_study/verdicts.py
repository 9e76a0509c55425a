"""Verdicts on the published numbers and the phrases for them.

This module does not import pandas, so that the summary of a run starts fast.
"""

from collections.abc import Mapping

NOT_COMPARABLE = "not comparable"
VERDICT_PHRASES = {
    "exact": "must match and do",
    "within noise": "fit the noise (3 standard errors)",
    "explained": "follow from choices that the paper leaves open",
    "differs": "differ",
    NOT_COMPARABLE: "not comparable",
}
VERDICTS = tuple(VERDICT_PHRASES)


def verdict_line(counts: Mapping[str, int]) -> str:
    """Return the sentence on published numbers, from how many have each verdict.

    Numbers that are not comparable are named only if there are any.

    Examples
    --------
    >>> verdict_line({"exact": 2, "explained": 1, "not comparable": 1})
    '4 published numbers: 2 must match and do, 0 fit the noise (3 standard errors), 1 follow from \
choices that the paper leaves open, 0 differ, 1 not comparable.'
    """
    parts = [
        f"{counts.get(verdict, 0)} {phrase}"
        for verdict, phrase in VERDICT_PHRASES.items()
        if verdict != NOT_COMPARABLE or counts.get(verdict, 0)
    ]
    return f"{sum(counts.values())} published numbers: {', '.join(parts)}."

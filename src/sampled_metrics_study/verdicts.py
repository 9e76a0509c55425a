"""Verdicts on the published cells and the phrases for them.

This module does not import pandas, so that the summary of a run starts fast.
"""

NOT_COMPARABLE = "not comparable"
VERDICT_PHRASES = {
    "exact": "with the same digits",
    "within noise": "within noise",
    "explained": "explained",
    "differs": "differ",
    NOT_COMPARABLE: "not comparable",
}
VERDICTS = tuple(VERDICT_PHRASES)

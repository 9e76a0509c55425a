"""Verdicts on the published cells, and how they are put in words. Without pandas, to start fast."""

NOT_COMPARABLE = "not comparable"
VERDICT_PHRASES = {
    "exact": "with the same digits",
    "within noise": "within noise",
    "explained": "explained",
    "differs": "differ",
    NOT_COMPARABLE: "not comparable",
}
VERDICTS = tuple(VERDICT_PHRASES)

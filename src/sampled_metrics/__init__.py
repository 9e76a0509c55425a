"""Metrics of item recommendation under sampling, and their correction.

Reference implementation of W. Krichene and S. Rendle, "On Sampled Metrics for Item
Recommendation", KDD 2020, https://doi.org/10.1145/3394486.3403226. Equation and section
numbers in this package are those of that paper.
"""

__version__ = "0.1.0"

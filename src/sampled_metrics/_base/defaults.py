"""What holds where nothing else is asked for, in Python and on the command line.

Apart, for the command line prints its help without importing what computes.
"""

METRICS = ("recall@10", "ndcg@10", "ap", "auc")
ESTIMATORS = ("sampled", "cls", "bv:0.1")
CONFIDENCE = 0.95  # nominal coverage of an interval
PROBABILITY = 0.95  # wanted of the right order
LARGEST = 1000  # negatives looked at in planning

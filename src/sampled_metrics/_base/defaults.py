"""Default options, in Python and on the command line.

They have their own module because the command line prints its help without importing numpy.
"""

METRICS = ("recall@10", "ndcg@10", "ap", "auc")
ESTIMATORS = ("sampled", "cls", "bv:0.1")
CONFIDENCE = 0.95  # nominal coverage of an interval
PROBABILITY = 0.95  # required of the right order
LARGEST = 1000  # number of negatives that planning tries

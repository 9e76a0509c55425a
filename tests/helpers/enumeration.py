"""Samples of negatives, and distributions of sampled ranks, by enumeration."""

from fractions import Fraction
from itertools import combinations, product

from sampled_metrics.ranks import Sampling

WITHOUT, WITH, DISTINCT = Sampling


def all_samples(others, m, sampling):
    """Return all samples of the letters in `others`, each as often as it is probable."""
    if sampling is WITHOUT:
        return combinations(others, m)
    places = product(range(len(others)), repeat=m)
    samples = places if sampling is WITH else map(set, places)
    return ([others[place] for place in sample] for sample in samples)


def enumerated_distribution(n, better, tied, m, *, sampling, ties):
    """Return the distribution of the sampled rank over all samples and places among the ties."""
    others = "b" * better + "t" * tied + "w" * (n - 1 - better - tied)
    samples = list(all_samples(others, m, sampling))
    probability = [Fraction(0)] * (m + 1)
    for sample in samples:
        above, equal = sample.count("b"), sample.count("t")
        places = {
            "random": range(equal + 1),
            "paper": range(max(equal, 1)),
            "optimistic": [0],
            "pessimistic": [equal],
        }[ties]
        for place in places:
            probability[above + place] += Fraction(1, len(samples) * len(places))
    return [float(value) for value in probability]

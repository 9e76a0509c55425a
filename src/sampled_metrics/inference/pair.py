"""Two recommenders to be compared by an evaluation with negatives."""

from dataclasses import dataclass

import numpy as np

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.outlook import Outlook
from sampled_metrics.inference.population import Population
from sampled_metrics.ranks import Sampling


@dataclass(frozen=True)
class Pair:
    """Two recommenders whose true ranks are known or assumed, to be evaluated with negatives.

    Attributes
    ----------
    a, b
        Their users by true rank.
    n_users
        Users of the evaluation.
    drawn
        Whether users are drawn anew from the populations, so that they vary too; otherwise only
        the negatives do, which both recommenders draw independently.
    paired
        Whether user i of one is user i of the other, so that what they share cancels.
    sampling
        How negatives are drawn.
    """

    a: Population
    b: Population
    n_users: int
    drawn: bool = False
    paired: bool = False
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT

    def __post_init__(self) -> None:
        object.__setattr__(self, "sampling", Sampling(self.sampling))
        if self.n_users < 1:
            raise InputError(f"n_users is {self.n_users}; it must be at least 1")

    @property
    def n_items(self) -> int:
        """Mean number of candidates over users of both, rounded."""
        means = [each.share @ each.ranks.n_candidates for each in (self.a, self.b)]
        return round(float(np.mean(means)))

    @property
    def most_negatives(self) -> int:
        """The most that every user has candidates for."""
        return int(min(each.ranks.n_candidates.min() for each in (self.a, self.b))) - 1

    def difference(self, vectors: Float, of_b: Float | None = None) -> tuple[Float, Float]:
        """Calculate the expected difference b - a of the estimates and its standard deviation.

        For vectors of shape (..., m + 1), two arrays of shape (...). If b is estimated by other
        vectors than a, they are `of_b`.
        """
        a = self.a.outlook(vectors, self.sampling)
        return self.difference_of(
            a, self.b.outlook(vectors if of_b is None else of_b, self.sampling)
        )

    def difference_of(self, a: Outlook, b: Outlook) -> tuple[Float, Float]:
        """Calculate the same from the moments of both recommenders' estimates."""
        variance = a.within + b.within
        if self.drawn and self.paired and self.a.kind is not None and self.b.kind is not None:
            users = b.by_kind[..., self.b.kind] - a.by_kind[..., self.a.kind]
            variance = variance + users.var(axis=-1)
        elif self.drawn:
            variance = a.total + b.total
        return b.mean - a.mean, np.sqrt(variance / self.n_users)

"""Recommender X: matrix factorisation by implicit alternating least squares (section 9)."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.sparse import csr_array, csr_matrix

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.settings import Count, Settings
from sampled_metrics.recommenders.base import register
from sampled_metrics.recommenders.factors import Factors


class ALSSettings(Settings):
    """Hyper-parameters in the paper's terms."""

    d: Count = 16
    """Dimensions of the user and item vectors."""
    lambda_: Annotated[float, Field(gt=0, alias="lambda")] = 10.0
    """Weight of the squared norm of all parameters."""
    alpha: Annotated[float, Field(gt=0)] = 0.2
    """Weight of the squared scores of all user-item pairs."""
    iterations: Count = 15
    """Sweeps over all users and all items (not in the paper)."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the random initialisation (not in the paper)."""
    start: Annotated[float, Field(gt=0)] = 0.01
    """The initial item vectors are uniform from 0 to this (not in the paper)."""


@register("als")
class ALS(Factors):
    """Scores are inner products of a user's and an item's vector.

    The paper's loss, with H the training pairs and y(u, i) the score,

        sum_H (y - 1)^2 + alpha sum_UxI y^2 + lambda ||V||^2,

    is, up to a constant, alpha times the loss that `implicit` minimises,

        sum_UxI c (p - y')^2 + lambda' ||V'||^2,    c = 1 + 1/alpha and p = 1 on H, c = 1 and
        p = 0 elsewhere,    y' = (1 + alpha) y,    lambda' = lambda (1 + alpha) / alpha,

    divided by (1 + alpha)^2: completing the square on H moves the target from 1 to
    1/(1 + alpha), and scaling all vectors by sqrt(1 + alpha) moves it back. `fit` scales the
    vectors so that `score` returns the paper's y.
    """

    Settings = ALSSettings

    def fit(self, train: csr_array, threads: int = 1) -> Self:
        """Minimise the loss by `iterations` sweeps from a random start, in float64.

        Exact solves (Cholesky) rather than conjugate gradients, BLAS held to one thread, so that
        the result does not depend on the number of threads.
        """
        for _ in self.stages(train, [self.settings.iterations], threads):
            pass
        return self

    def stages(
        self, train: csr_array, iterations: Sequence[int], threads: int = 1
    ) -> Iterator[int]:
        """Train up to each of these increasing numbers of sweeps in turn, and yield the number.

        At each, the recommender is that of `fit` with so many `iterations`.
        """
        from implicit.cpu.als import AlternatingLeastSquares
        from implicit.recommender_base import ModelFitError
        from threadpoolctl import threadpool_limits

        settings = self.settings
        confidence = csr_matrix(train, dtype=np.float32)
        confidence.data[:] = 1 + 1 / settings.alpha
        with threadpool_limits(1, user_api="blas"):
            model = AlternatingLeastSquares(
                factors=settings.d,
                regularization=settings.lambda_ * (1 + settings.alpha) / settings.alpha,
                alpha=1.0,
                dtype=np.float64,
                use_cg=False,
                num_threads=threads,
            )
        model.user_factors = np.zeros((train.shape[0], settings.d))  # solved for first
        model.item_factors = _start(settings, train.shape[1])
        scale = np.sqrt(1 + settings.alpha)
        for before, sweeps in pairwise([0, *iterations]):
            model.iterations = sweeps - before
            try:
                with threadpool_limits(1, user_api="blas"):
                    model.fit(confidence, show_progress=False)
            except (ModelFitError, ValueError) as error:
                raise InputError(
                    f"{self.KIND}: the vectors cannot be solved for with alpha "
                    f"{settings.alpha:g} and lambda {settings.lambda_:g}; use larger ones"
                ) from error
            self.user_vectors = model.user_factors / scale
            self.item_vectors = model.item_factors / scale
            yield sweeps


def _start(settings: ALSSettings, items: int) -> NDArray[np.float64]:
    """Draw random item vectors; with `start` = 0.01 as `implicit` draws them."""
    rng = np.random.default_rng(np.random.SeedSequence(settings.seed))
    return rng.uniform(0.0, settings.start, (items, settings.d))

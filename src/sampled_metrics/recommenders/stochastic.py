"""Factor models that `implicit` trains by gradient steps on sampled negatives: BPR and LMF.

A step reads what the steps before it wrote, and each thread samples negatives of its own, so the
result depends on the number of threads: one trains, however many there are.
"""

from abc import abstractmethod
from contextlib import suppress
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field
from scipy.sparse import csr_array, csr_matrix

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.settings import Count, Settings
from sampled_metrics.recommenders.base import register
from sampled_metrics.recommenders.factors import Factors

Rate = Annotated[float, Field(gt=0)]
Weight = Annotated[float, Field(ge=0)]


class BPRSettings(Settings):
    """Hyper-parameters of BPR, named and set by default as in `implicit`, there d is `factors`."""

    d: Count = 100
    """Dimensions of the user and item vectors, biases not counted."""
    learning_rate: Rate = 0.01
    """Length of a step."""
    regularization: Weight = 0.01
    """Weight of the squared norm of the parameters."""
    iterations: Count = 100
    """Sweeps over all training events."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the random start and of the negatives."""


class LMFSettings(BPRSettings):
    """Hyper-parameters of LMF, named and set by default as in `implicit`, there d is `factors`."""

    d: Count = 30
    """Dimensions of the user and item vectors, biases not counted."""
    learning_rate: Rate = 1.0
    """Length of a step."""
    regularization: Weight = 0.6
    """Weight of the squared norm of the parameters."""
    iterations: Count = 30
    """Sweeps over all training events."""


class Stochastic(Factors):
    """A factor model of `implicit`; trained in float32, biases among their dimensions."""

    @abstractmethod
    def _model(self) -> Any: ...

    def fit(self, train: csr_array, threads: int = 1) -> Self:  # noqa: ARG002 - see the module
        """Train with one thread, BLAS held to one too.

        Raises
        ------
        InputError
            The vectors are not finite.
        """
        from implicit.recommender_base import ModelFitError
        from threadpoolctl import threadpool_limits

        settings = self.settings
        with threadpool_limits(1, user_api="blas"):
            model = self._model()(
                factors=settings.d,
                learning_rate=settings.learning_rate,
                regularization=settings.regularization,
                iterations=settings.iterations,
                num_threads=1,
                random_state=settings.seed,
            )
            with suppress(ModelFitError):  # checked below, also where `implicit` does not
                model.fit(csr_matrix(train, dtype=np.float32, copy=True), show_progress=False)
        self.user_vectors = model.user_factors.astype(np.float64)
        self.item_vectors = model.item_factors.astype(np.float64)
        if not (np.isfinite(self.user_vectors).all() and np.isfinite(self.item_vectors).all()):
            raise InputError(
                f"{self.KIND}: vectors are not finite after training with learning_rate "
                f"{settings.learning_rate:g}; use a smaller one"
            )
        return self


@register("bpr")
class BPR(Stochastic):
    """Bayesian personalised ranking (Rendle et al., UAI 2009, arXiv:1205.2618).

    Negatives are drawn as often as they occur in training, items of the user left out.
    """

    Settings = BPRSettings

    def _model(self) -> Any:
        from implicit.cpu.bpr import BayesianPersonalizedRanking

        return BayesianPersonalizedRanking


@register("lmf")
class LMF(Stochastic):
    """Logistic matrix factorisation (Johnson, NIPS 2014 workshop).

    `implicit` 0.7 draws at most d + 2 negatives per user and sweep, because it takes the width of
    the item vectors for their number. Its option `neg_prop` has no effect and is not offered.
    """

    Settings = LMFSettings

    def _model(self) -> Any:
        from implicit.cpu.lmf import LogisticMatrixFactorization

        return LogisticMatrixFactorization

"""Factor models that `implicit` trains by gradient steps on sampled negatives: BPR and LMF.

A step reads what the steps before it wrote, and each thread samples negatives of its own, so the
result depends on the number of threads: one trains, however many there are.
"""

from contextlib import suppress
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from pydantic import Field
from scipy.sparse import csr_array, csr_matrix

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.settings import Settings
from sampled_metrics.recommenders.factors import Factors

Positive = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(gt=0)]
Weight = Annotated[float, Field(ge=0)]


class BPRSettings(Settings):
    """Hyper-parameters of BPR, named and set by default as in `implicit`, there d is `factors`."""

    d: Positive = 100
    """Dimensions of the user and item vectors, biases not counted."""
    learning_rate: Rate = 0.01
    """Length of a step."""
    regularization: Weight = 0.01
    """Weight of the squared norm of the parameters."""
    iterations: Positive = 100
    """Sweeps over all training events."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the random start and of the negatives."""


class LMFSettings(BPRSettings):
    """Hyper-parameters of LMF, named and set by default as in `implicit`, there d is `factors`."""

    d: Positive = 30
    """Dimensions of the user and item vectors, biases not counted."""
    learning_rate: Rate = 1.0
    """Length of a step."""
    regularization: Weight = 0.6
    """Weight of the squared norm of the parameters."""
    iterations: Positive = 30
    """Sweeps over all training events."""


class Stochastic(Factors):
    """A factor model of `implicit`; trained in float32, biases among their dimensions."""

    KIND: ClassVar[str]

    def __init__(self, settings: BPRSettings) -> None:
        super().__init__(settings.d)
        self.settings = settings

    def fit(self, train: csr_array, threads: int = 1) -> Self:  # noqa: ARG002 - see the module
        """Train with one thread, also in BLAS; diverging vectors are an InputError."""
        from implicit.recommender_base import ModelFitError
        from threadpoolctl import threadpool_limits

        chosen = self.settings
        with threadpool_limits(1, user_api="blas"):
            model = self._model()(
                factors=chosen.d,
                learning_rate=chosen.learning_rate,
                regularization=chosen.regularization,
                iterations=chosen.iterations,
                num_threads=1,
                random_state=chosen.seed,
            )
            with suppress(ModelFitError):  # the vectors are checked below
                model.fit(csr_matrix(train, dtype=np.float32, copy=True), show_progress=False)
        self.user_vectors = model.user_factors.astype(np.float64)
        self.item_vectors = model.item_factors.astype(np.float64)
        self._require_finite()
        return self

    def _model(self) -> Any:
        raise NotImplementedError

    def _require_finite(self) -> None:
        if not (np.isfinite(self.user_vectors).all() and np.isfinite(self.item_vectors).all()):
            raise InputError(
                f"{self.KIND}: vectors are not finite after training with learning_rate "
                f"{self.settings.learning_rate:g}; use a smaller one"
            )


class BPR(Stochastic):
    """Bayesian personalised ranking (Rendle et al., UAI 2009, arXiv:1205.2618).

    Negatives are drawn as often as they occur in training, items of the user left out.
    """

    KIND: ClassVar[str] = "bpr"
    Settings: ClassVar[type[BPRSettings]] = BPRSettings

    def _model(self) -> Any:
        from implicit.cpu.bpr import BayesianPersonalizedRanking

        return BayesianPersonalizedRanking


class LMF(Stochastic):
    """Logistic matrix factorisation (Johnson, NIPS 2014 workshop).

    `implicit` 0.7 draws at most d + 2 negatives for a user and sweep (it takes the width of the
    item vectors for their number), so its option `neg_prop` has no effect and is left out here.
    """

    KIND: ClassVar[str] = "lmf"
    Settings: ClassVar[type[LMFSettings]] = LMFSettings

    def _model(self) -> Any:
        from implicit.cpu.lmf import LogisticMatrixFactorization

        return LogisticMatrixFactorization

"""Factor models that `implicit` trains by gradient steps on sampled negatives: BPR and LMF.

A step reads what the steps before it wrote, and each thread samples negatives of its own, so the
result depends on the number of threads: one trains, however many there are.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array, csr_matrix

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.numbers import check_number
from sampled_metrics.recommenders.factors import Factors


@dataclass(frozen=True)
class StochasticSettings:
    """Hyper-parameters in the terms of `implicit`, there d is `factors`.

    Attributes
    ----------
    d
        Dimensions of the user and item vectors, biases not counted.
    learning_rate
        Length of a step.
    regularization
        Weight of the squared norm of the parameters.
    iterations
        Sweeps over all training events.
    seed
        Seed of the random start and of the negatives.

    >>> BPRSettings(learning_rate=0)
    Traceback (most recent call last):
    sampled_metrics.InputError: bpr: learning_rate is 0; allowed: a finite number above 0
    """

    KIND: ClassVar[str]

    d: int
    learning_rate: float
    regularization: float
    iterations: int
    seed: int = 0

    def __post_init__(self) -> None:
        check_number(f"{self.KIND}: d", self.d, least=1)
        check_number(f"{self.KIND}: learning_rate", self.learning_rate, above=0.0)
        check_number(f"{self.KIND}: regularization", self.regularization, within=(0.0, np.inf))
        check_number(f"{self.KIND}: iterations", self.iterations, least=1)
        check_number(f"{self.KIND}: seed", self.seed, least=0)


@dataclass(frozen=True)
class BPRSettings(StochasticSettings):
    """Settings of BPR; defaults are those of `implicit`."""

    KIND: ClassVar[str] = "bpr"

    d: int = 100
    learning_rate: float = 0.01
    regularization: float = 0.01
    iterations: int = 100


@dataclass(frozen=True)
class LMFSettings(StochasticSettings):
    """Settings of LMF; defaults are those of `implicit`."""

    KIND: ClassVar[str] = "lmf"

    d: int = 30
    learning_rate: float = 1.0
    regularization: float = 0.6
    iterations: int = 30


class Stochastic(Factors):
    """A factor model of `implicit`; trained in float32, biases among their dimensions."""

    KIND: ClassVar[str]

    def __init__(self, settings: StochasticSettings) -> None:
        super().__init__(settings.d)
        self.settings = settings

    def fit(self, train: csr_array, threads: int = 1) -> Self:  # noqa: ARG002 - see the module
        """Train with one thread, BLAS held to one too.

        Raises
        ------
        InputError
            The vectors grow beyond all numbers.
        """
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
            with suppress(ModelFitError):  # the vectors tell, also where `implicit` does not look
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
                f"{self.KIND}: training with learning_rate {self.settings.learning_rate} gives "
                "vectors that are not finite; allowed: a rate small enough to converge"
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
    item vectors for their number), so its option `neg_prop` changes nothing and is none here.
    """

    KIND: ClassVar[str] = "lmf"
    Settings: ClassVar[type[LMFSettings]] = LMFSettings

    def _model(self) -> Any:
        from implicit.cpu.lmf import LogisticMatrixFactorization

        return LogisticMatrixFactorization

"""Matrix factorisation: recommender X by alternating least squares (section 9), and BPR."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Self

import numpy as np
import scipy
from pydantic import Field

from sampled_metrics import InputError
from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.threads import one_thread
from sampled_metrics_study.recommenders.base import Recommender, register
from sampled_metrics_study.validation import Count, Positive, Seed, Settings


class Factors(Recommender):
    """Scores are inner products of user vectors and item vectors, float64."""

    LEARNT = ("user_vectors", "item_vectors")
    user_vectors: Float  # shape (users, d)
    item_vectors: Float  # shape (items, d)

    @property
    def scorer(self) -> tuple[Float, Float]:
        """The vectors of users and items."""
        return self.user_vectors, self.item_vectors

    def score(self, users: Int) -> Float:
        """Return inner products, summed one by one.

        The last bits of a matrix product would depend on the users that are scored together.
        """
        return np.einsum("uf,if->ui", self.user_vectors[users], self.item_vectors)


class ALSSettings(Settings):
    """Hyper-parameters in the paper's terms; the last three are not in the paper."""

    d: Count = 16
    """Dimensions of the user and item vectors."""
    lambda_: float = Field(10.0, gt=0, alias="lambda")
    """Weight of the squared norm."""
    alpha: Positive = 0.2
    """Weight of the squared scores of all pairs."""
    iterations: Count = 15
    """Sweeps over all users and all items."""
    seed: Seed = 0
    """Seed of the random initialisation."""
    start: Positive = 0.01
    """Initial item vectors are uniform from 0 to this divided by sqrt(1 + alpha)."""


@register("als")
class ALS(Factors):
    """Matrix factorisation by alternating least squares (section 9), through `implicit`.

    The paper's loss, with H the events and y(u, i) the inner product,

        sum_H (y - 1)^2 + alpha sum_UxI y^2 + lambda ||V||^2,

    is, up to a constant, alpha times the loss that `implicit` minimises,

        sum_UxI c (p - y')^2 + lambda' ||V'||^2,    c = 1 + 1/alpha and p = 1 on H, c = 1 and
        p = 0 elsewhere,    y' = (1 + alpha) y,    lambda' = lambda (1 + alpha) / alpha,

    divided by (1 + alpha)^2: completing the square on H moves the target from 1 to
    1/(1 + alpha), and scaling all vectors by sqrt(1 + alpha) moves it back.

    Item vectors start uniform between 0 and `start` / sqrt(1 + alpha), which `implicit` sees as
    between 0 and `start`. All is float64, least squares are solved exactly and BLAS uses one
    thread, so the number of threads does not change the result.
    """

    Settings = ALSSettings

    def fit(self, train: scipy.sparse.csr_array, threads: int = 1) -> Self:
        """Minimise the loss by `iterations` sweeps from a random start."""
        stages = self.stages(train, [self.settings.iterations], threads)
        self.user_vectors, self.item_vectors = next(stages)
        return self

    def stages(
        self, train: scipy.sparse.csr_array, iterations: Sequence[int], threads: int = 1
    ) -> Iterator[tuple[Float, Float]]:
        """Train like `fit`; yield the vectors after each of these increasing numbers of sweeps.

        A further call of `model.fit` continues from the vectors of the one before.
        """
        from implicit.cpu.als import AlternatingLeastSquares
        from implicit.recommender_base import ModelFitError

        settings = self.settings
        alpha = settings.alpha
        # The paper's loss: (y - 1)^2 + alpha y^2 on H, alpha y^2 elsewhere, and lambda ||V||^2.
        # That of `implicit`: c (y' - 1)^2 on H, y'^2 elsewhere, and lambda' ||V'||^2. They are
        # proportional if V' = sqrt(1 + alpha) V; c = 1 + 1/alpha are the values of its matrix.
        confidence = scipy.sparse.csr_matrix(train, dtype=np.float32)
        confidence.data[:] = 1 + 1 / alpha
        n_users, n_items = confidence.shape
        with one_thread():
            model = AlternatingLeastSquares(
                factors=settings.d,
                regularization=settings.lambda_ * (1 + alpha) / alpha,
                alpha=1.0,
                dtype=np.float64,
                use_cg=False,
                num_threads=threads,
            )
        model.user_factors = np.zeros((n_users, settings.d))  # the first sweep solves for them
        # `implicit` would draw the same with `start` = 0.01.
        rng = np.random.default_rng(np.random.SeedSequence(settings.seed))
        model.item_factors = rng.uniform(0.0, settings.start, (n_items, settings.d))
        scale = np.sqrt(1 + alpha)
        for before, after in pairwise([0, *iterations]):
            model.iterations = after - before
            try:
                with one_thread():
                    model.fit(confidence, show_progress=False)
            except (ModelFitError, ValueError) as error:
                values = f"alpha {alpha:g} and lambda {settings.lambda_:g}"
                raise InputError(f"als: no solution with {values}; use larger ones") from error
            yield model.user_factors / scale, model.item_factors / scale


class BPRSettings(Settings):
    """Hyper-parameters of BPR, with the names and defaults of `implicit` (d is `factors` there)."""

    d: Count = 100
    """Dimensions of the vectors, biases not counted."""
    learning_rate: Positive = 0.01
    """Length of a step."""
    regularization: float = Field(0.01, ge=0)
    """Weight of the squared norm."""
    iterations: Count = 100
    """Sweeps over all training events."""
    seed: Seed = 0
    """Seed of the random start and of the negatives."""


@register("bpr")
class BPR(Factors):
    """Bayesian personalised ranking (Rendle et al., UAI 2009, arXiv:1205.2618).

    Negatives are drawn in proportion to their training events, without the user's own items.
    Vectors are trained in float32; one dimension is the bias of an item.
    """

    Settings = BPRSettings

    def fit(self, train: scipy.sparse.csr_array, threads: int = 1) -> Self:  # noqa: ARG002 - see below
        """Train with one thread, because each thread would sample its own negatives."""
        from implicit.cpu.bpr import BayesianPersonalizedRanking
        from implicit.recommender_base import ModelFitError

        settings = self.settings
        with one_thread():
            model = BayesianPersonalizedRanking(
                factors=settings.d,
                learning_rate=settings.learning_rate,
                regularization=settings.regularization,
                iterations=settings.iterations,
                num_threads=1,
                random_state=settings.seed,
            )
            with suppress(ModelFitError):  # the check below finds more cases
                model.fit(
                    scipy.sparse.csr_matrix(train, dtype=np.float32, copy=True), show_progress=False
                )
        self.user_vectors = model.user_factors.astype(np.float64)
        self.item_vectors = model.item_factors.astype(np.float64)
        if not (np.isfinite(self.user_vectors).all() and np.isfinite(self.item_vectors).all()):
            raise InputError("bpr: vectors are not finite; use a smaller learning_rate")
        return self

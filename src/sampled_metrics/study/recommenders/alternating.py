"""Matrix factorisation by alternating least squares, with the paper's loss (section 9)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import scipy  # `scipy.sparse` takes long to import, so only where it is used

from sampled_metrics._base.arrays import Float, one_thread
from sampled_metrics._base.errors import InputError


def factors(
    events: scipy.sparse.csr_array,
    sweeps: Sequence[int],
    *,
    dimensions: int,
    alpha: float,
    penalty: float,
    seed: int,
    start: float = 0.01,
    threads: int = 1,
) -> Iterator[tuple[Float, Float]]:
    """Yield the vectors of users and of items after each of these increasing numbers of sweeps.

    The paper's loss, with H the events and y(u, i) the inner product,

        sum_H (y - 1)^2 + alpha sum_UxI y^2 + penalty ||V||^2,

    is, up to a constant, alpha times the loss that `implicit` minimises,

        sum_UxI c (p - y')^2 + penalty' ||V'||^2,    c = 1 + 1/alpha and p = 1 on H, c = 1 and
        p = 0 elsewhere,    y' = (1 + alpha) y,    penalty' = penalty (1 + alpha) / alpha,

    divided by (1 + alpha)^2: completing the square on H moves the target from 1 to
    1/(1 + alpha), and scaling all vectors by sqrt(1 + alpha) moves it back.

    Vectors of items start uniform from 0 to `start` / sqrt(1 + alpha), that is, from 0 to `start`
    in the terms of `implicit`. In float64; solves are exact and BLAS has one
    thread, so the number of threads changes no bit.
    """
    from implicit.cpu.als import AlternatingLeastSquares
    from implicit.recommender_base import ModelFitError

    confidence = scipy.sparse.csr_matrix(events, dtype=np.float32)
    confidence.data[:] = 1 + 1 / alpha
    n_users, n_items = confidence.shape
    with one_thread():
        model = AlternatingLeastSquares(
            factors=dimensions,
            regularization=penalty * (1 + alpha) / alpha,
            alpha=1.0,
            dtype=np.float64,
            use_cg=False,
            num_threads=threads,
        )
    model.user_factors = np.zeros((n_users, dimensions))  # solved for first
    # With `start` = 0.01 as `implicit` draws them.
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    model.item_factors = rng.uniform(0.0, start, (n_items, dimensions))
    scale = np.sqrt(1 + alpha)
    for before, after in pairwise([0, *sweeps]):
        model.iterations = after - before
        try:
            with one_thread():
                model.fit(confidence, show_progress=False)
        except (ModelFitError, ValueError) as error:
            values = f"alpha {alpha:g} and lambda {penalty:g}"
            raise InputError(f"als: no solution with {values}; use larger ones") from error
        yield model.user_factors / scale, model.item_factors / scale

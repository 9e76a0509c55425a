"""The paper's loss, written out, under what `implicit` does."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from sampled_metrics.recommenders.als import ALS, ALSSettings

TRAIN = (np.random.default_rng(0).random((40, 25)) < 0.2).astype(float)
SETTINGS = {"d": 4, "lambda_": 0.7, "alpha": 0.3}


def paper_loss(model, lambda_, alpha):
    """sum_H (y - 1)^2 + alpha sum_UxI y^2 + lambda ||V||^2, section 9, and its gradient."""
    users, items = model.user_vectors, model.item_vectors
    y = users @ items.T
    loss = (TRAIN * (y - 1) ** 2).sum() + alpha * (y**2).sum()
    loss += lambda_ * ((users**2).sum() + (items**2).sum())
    by_score = 2 * TRAIN * (y - 1) + 2 * alpha * y
    gradient = [by_score @ items + 2 * lambda_ * users, by_score.T @ users + 2 * lambda_ * items]
    return loss, np.concatenate(gradient)


def fitted(**settings):
    return ALS(ALSSettings(**{**SETTINGS, **settings})).fit(csr_array(TRAIN))


def test_gradient_of_the_oracle_is_that_of_its_loss():
    model = fitted(iterations=1)
    _, gradient = paper_loss(model, 0.7, 0.3)
    step = 1e-6
    for row, column in [(0, 0), (17, 3), (40, 1), (64, 2)]:
        vectors = model.user_vectors if row < 40 else model.item_vectors
        place = (row % 40, column)
        losses = []
        for shift in (step, -2 * step):
            vectors[place] += shift
            losses.append(paper_loss(model, 0.7, 0.3)[0])
        vectors[place] += step
        assert gradient[row, column] == pytest.approx(
            (losses[0] - losses[1]) / (2 * step), abs=1e-6
        )


def test_every_sweep_lowers_the_papers_loss():
    losses = [paper_loss(fitted(iterations=sweeps), 0.7, 0.3)[0] for sweeps in range(1, 30)]
    assert (np.diff(losses) <= 1e-9).all()
    assert losses[0] - losses[-1] > 0.1


@pytest.mark.parametrize(("lambda_", "alpha"), [(0.7, 0.3), (0.2, 0.05), (1.5, 2.0)])
def test_gradient_of_the_papers_loss_vanishes_at_convergence(lambda_, alpha):
    model = fitted(lambda_=lambda_, alpha=alpha, iterations=4000)
    loss, gradient = paper_loss(model, lambda_, alpha)
    # confidences are float32 in `implicit`: 1 + 1/alpha carries a relative error up to 6e-8
    assert abs(gradient).max() < 1e-5
    if alpha < 1:  # else all vectors are zero at the minimum
        assert loss < TRAIN.sum()
        assert abs(model.user_vectors).max() > 0.1


def test_another_mapping_would_leave_a_gradient():
    model = fitted(iterations=4000)
    for lambda_, alpha in [(0.7 * 1.1, 0.3), (0.7, 0.3 * 1.1)]:
        assert abs(paper_loss(model, lambda_, alpha)[1]).max() > 1e-2


def test_threads_do_not_change_a_bit():
    settings = ALSSettings(**SETTINGS)
    one, two = (ALS(settings).fit(csr_array(TRAIN), threads) for threads in (1, 2))
    np.testing.assert_array_equal(one.user_vectors, two.user_vectors)
    np.testing.assert_array_equal(one.item_vectors, two.item_vectors)


def test_seeds_differ():
    one, two = (fitted(seed=seed).item_vectors for seed in (0, 1))
    assert abs(one - two).max() > 1e-3


def test_stages_are_those_of_single_trainings():
    model = ALS(ALSSettings(**SETTINGS))
    sweeps = []
    for number in model.stages(csr_array(TRAIN), [1, 4, 6]):
        sweeps.append(number)
        once = fitted(iterations=number)
        np.testing.assert_array_equal(model.user_vectors, once.user_vectors)
        np.testing.assert_array_equal(model.item_vectors, once.item_vectors)
    assert sweeps == [1, 4, 6]


def test_scale_of_the_start_matters_until_convergence():
    few = [fitted(iterations=2, start=start).user_vectors for start in (0.01, 1.0)]
    assert abs(few[0] - few[1]).max() > 1e-3
    scores = [
        model.user_vectors @ model.item_vectors.T
        for model in (fitted(iterations=4000, start=start) for start in (0.01, 1.0))
    ]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-5)

"""Estimates of 1 / rank from random draws of candidates, for users of an audit."""

import numpy as np

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics.budget.constants import (
    FIRST_TURN_BETTER,
    NEGLIGIBLE_PROBABILITY,
    TURN_GROWTH,
    TURNS,
)
from sampled_metrics.budget.counts import StratumCounts


class ReciprocalRankDraws:
    """Estimates of 1 / rank from random draws, for users with enough better candidates known.

    Put the unscored candidates and the known better ones into a random order. The position of the
    first better one, divided by one more than their number, is unbiased for 1 / rank. Only unscored
    candidates cost scores; over the positions of the known ones the mean is taken. After some draws
    the estimate is `known_part + factor * (1 / rank)`: `factor` is 0 once a better candidate was
    drawn, and before that further draws may follow.

    Draws come in `TURNS` turns. The first one is expected to find `FIRST_TURN_BETTER` better ones,
    each further one is `TURN_GROWTH` times as long, and the last one draws all that are left.

    Attributes
    ----------
    known_part, factor
        Known part of 1 / rank, and factor of the unknown part; shape (rows,).
    """

    def __init__(self, counts: StratumCounts, rng: np.random.Generator) -> None:
        n_rows = counts.above.size
        self.known_part = np.zeros(n_rows)
        self.factor = np.ones(n_rows)
        self._counts = counts
        self._rng = rng
        self._better_at_start = np.zeros(n_rows, np.int64)  # known before the first draws
        self._turns = np.zeros(len(counts.n_scored), np.int64)  # that each user has had
        self._tie_probability = rng.random(n_rows)  # probability that a tied candidate is better

    def plan_draws(self, users: Int, expected_reciprocal_rank: Float) -> Int:
        """Return how many candidates to draw next from each stratum; shape (users, strata).

        About (1 / rank) times the candidates left have to be drawn until the first better one, so
        turn t = 0, 1, ... of a user draws

            FIRST_TURN_BETTER * TURN_GROWTH^t * (1 / rank) * candidates left,

        for the lowest of the user's held-out items, and the last turn draws all that are left.

        Parameters
        ----------
        users
            Users to draw for; shape (users,).
        expected_reciprocal_rank
            Expected 1 / rank of all held-out rows; shape (rows,).
        """
        strata = self._counts.strata
        least_expected = strata.reduce_by_user(expected_reciprocal_rank, np.minimum)[users]
        n_left = self._counts.n_left[users]
        total_left = n_left.sum(1)
        turn = self._turns[users]
        wanted = np.ceil(FIRST_TURN_BETTER * TURN_GROWTH**turn * least_expected * total_left)
        is_last_turn = turn >= TURNS - 1
        n_draws = np.where(is_last_turn, total_left, np.clip(wanted, 1, total_left))
        return draw_from_strata(n_left, n_draws.astype(np.int64), self._rng)

    def update(self, users: Int, n_draws: Int, better_before: Int, tied_before: Int) -> None:
        """Update `known_part` and `factor` of the held-out rows of some users by their last draws.

        1 / rank = known_part + factor * (1 / rank) holds in expectation, also for the new draws
        alone; inserting one equation into the other adds factor times the new known part, and
        multiplies the factors.

        Parameters
        ----------
        users, n_draws
            Users, and how many candidates were drawn for each; shape (users,).
        better_before, tied_before
            Better and tied candidates known before the draws, of all held-out rows; shape (rows,).
        """
        # All arrays below have one element per held-out row of these users.
        index_of_user, row = self._counts.strata.rows_of_users(users)
        is_first_turn = self._turns[users][index_of_user] == 0
        n_better = better_before[row] + self._draw_better_of_tied(row, tied_before[row])
        n_better_at_start = np.where(is_first_turn, n_better, self._better_at_start[row])
        self._better_at_start[row] = n_better_at_start
        n_found = (self._counts.known_better - better_before)[row]
        n_found += self._draw_better_of_tied(row, (self._counts.n_tied - tied_before)[row])
        n_left_before = self._counts.n_left.sum(1)[users] + n_draws
        known_part, factor = split_reciprocal_rank(
            n_left=n_left_before[index_of_user],
            n_better=n_better_at_start,
            n_draws=n_draws[index_of_user],
            n_found=n_found,
        )
        self.known_part[row] += self.factor[row] * known_part
        self.factor[row] *= factor
        self._turns[users] += 1

    def _draw_better_of_tied(self, row: Int, n_tied: Int) -> Int:
        """Draw how many of the tied candidates are better."""
        return self._rng.binomial(n_tied, self._tie_probability[row])


def split_reciprocal_rank(
    n_left: Int, n_better: Int, n_draws: Int, n_found: Int
) -> tuple[Float, Float]:
    """Return the known part of 1 / rank and the factor of the rest, see `ReciprocalRankDraws`.

    Let T be the position of the first better candidate, and n one more than the number of
    candidates. Then E[T] / n = 1 / rank, and E[T] is the sum over t >= 0 of P(T > t), where

        P(T > t + 1) = P(T > t) * (L - t) / (L - t + B) * (D - t - F) / (D - t)

    with L candidates left, B known better ones, and F better ones among D draws: the next
    candidate in the order is none of the B, and then none of the F. The known part sums over the t
    that the draws reach. If no better candidate was drawn, the rest is P(none among the draws)
    (n - D) / n times 1 / rank again.

    Parameters
    ----------
    n_left, n_better
        Candidates unscored before the draws, and better ones known before; shape (rows,).
    n_draws, n_found
        Candidates drawn, and better ones among them; shape (rows,).

    Returns
    -------
    known_part, factor
        Both of shape (rows,).

    Examples
    --------
    All of three candidates are drawn and one of them is better: the rank is 2.

    >>> split_reciprocal_rank(np.array([3]), np.array([0]), np.array([3]), np.array([1]))[0]
    array([0.5])
    """
    n = n_left + n_better + 1.0
    expected_position = np.ones(n.size)
    probability = np.ones(n.size)  # P(T > t)
    open_rows = np.arange(n.size)
    for t in range(int(n_draws.max(initial=0))):
        has_draws = n_draws[open_rows] > t
        is_open = has_draws & (probability[open_rows] > NEGLIGIBLE_PROBABILITY)
        open_rows = open_rows[is_open]
        still_left = n_left[open_rows] - t
        still_drawn = n_draws[open_rows] - t
        probability[open_rows] *= still_left / (still_left + n_better[open_rows])
        probability[open_rows] *= (still_drawn - n_found[open_rows]) / still_drawn
        expected_position[open_rows] += probability[open_rows]
    probability_of_none = np.where(n_found == 0, probability, 0.0)
    known_part = (expected_position - probability_of_none) / n
    factor = probability_of_none * (n - n_draws) / n
    return known_part, factor


def draw_from_strata(n_left: Int, n_draws: Int, rng: np.random.Generator) -> Int:
    """Draw without replacement from all unscored candidates, and count the draws by stratum.

    Stratum by stratum, the draws that fall into it are hypergeometric among those that are left.

    Parameters
    ----------
    n_left
        Unscored candidates; shape (users, strata).
    n_draws
        Draws of each user; shape (users,).

    Returns
    -------
    ndarray
        Shape (users, strata).
    """
    drawn = np.zeros_like(n_left)
    n_in_later_strata = n_left.sum(1)
    n_draws_left = n_draws
    for stratum in range(n_left.shape[1]):
        n_here = n_left[:, stratum]
        n_in_later_strata = n_in_later_strata - n_here
        drawn[:, stratum] = rng.hypergeometric(n_here, n_in_later_strata, n_draws_left)
        n_draws_left = n_draws_left - drawn[:, stratum]
    return drawn

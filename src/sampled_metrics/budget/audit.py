"""Audit of the model: users drawn with known probabilities, of whom more and more is scored.

In each phase some of the users still in the audit are drawn, and the next part of their candidates
is scored: in the proxy's order until enough better ones are known, and from there on in random
order, for the average precision. The last phase scores all that is left. The cost of a phase is
known in advance, so the scores left decide how many users are drawn.

The sum over phases of the change in a user's value, divided by the probability of reaching the
phase, is an unbiased estimate of the model's error whatever the model says, and so is its estimated
variance. To allow for rare errors that the audit missed, the variance is at least what the model,
with a floor, expects of the users drawn, and at least what one more user with the worst possible
error would add.
"""

from collections.abc import Generator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from sampled_metrics._base.arrays import Float, Int, ranges
from sampled_metrics.budget.keyed import Words, hashed, permuted, stream, uniform
from sampled_metrics.budget.model import Asked, Counts, Model, View

FLOOR = 0.001  # share of the squared greatest value added to the variance a model states
PHASES, FIRST = 4, 16  # of scanning in the proxy's order; scores of a user in the first, at least
SHARES = (0.3, 0.4, 0.5)  # of the scores left that the first phases may spend
FOUND, GROWTH, TURNS = 3.0, 8.0, 3  # better ones expected of random draws; growth; turns
LEAST_SHARE = 0.5  # of the errors assumed for two recommenders, in their difference
RESOLUTION = 0.3  # users; standard deviation added, as an audit cannot see a fraction of one
DISAGREEMENT = 1.0 / 3.0  # of half an interval, between audit and model
LEAST_FREEDOM, MOST_FREEDOM = 3.0, 1e6


class Estimate(NamedTuple):
    """Estimate of a metric, or of the difference of two recommenders.

    Attributes
    ----------
    value
        To rank by: the model's mean, moved by its estimated error beyond one standard deviation;
        but `centre`, within the interval, if audit and model of a recommender disagree.
    low, high
        Interval around `centre`, widened by what is unknown of audited users that cost too much.
    centre
        The model's mean plus its estimated error; unbiased where no audited user cost too much.
    std_error, freedom
        Standard deviation of `centre`, and its degrees of freedom by Satterthwaite.
    model
        Posterior mean.
    """

    value: float
    low: float
    high: float
    centre: float
    std_error: float
    freedom: float
    model: float

    @property
    def disagrees(self) -> bool:
        """Whether audit and model differ by more than a share of the interval's half-width."""
        return abs(self.centre - self.model) > DISAGREEMENT * (self.high - self.low) / 2.0


class Phase(NamedTuple):
    """Users drawn in a phase; arrays of shape (users,) or (metrics, users)."""

    users: Int
    change: Float  # of the value
    variance: Float  # that the model expects, with a floor
    drawn: Float  # probability of being drawn in this phase, for those still in the audit
    reached: Float  # probability of having been drawn in this phase and all before
    random: NDArray[np.bool_]  # whether the value of a metric without cutoff rests on random draws


class Audited(NamedTuple):
    """What the audit of a recommender found."""

    before: View
    phases: list[Phase]  # empty ones included
    slack: Float  # possible error of users that cost too much, below and above; (2, metrics)
    sums: list[int]  # metrics without a cutoff


def audit(model: Model, scores_left: int, look: int) -> Generator[Asked, Float, Audited]:
    """Ask for at most `scores_left` scores phase by phase, and return what was found.

    `look` numbers the audits of an evaluation that may stop early; each draws users anew.
    """
    counts, sums, seed = model.counts, model.sums, model.counts.frame.seed
    key, draws = stream(seed, f"audit {look} users"), stream(seed, f"audit {look} draws")
    first_places = FirstPlaces(counts, draws)
    rates = model.posterior @ model.share  # of better ones in each stratum, before the audit
    before = now = model.view()
    value, reached = before.mean.copy(), np.ones(counts.m.shape[0])
    slack = np.zeros((2, len(model.measures)))
    phases: list[Phase] = []
    users = np.flatnonzero(_unfinished(model, first_places))
    while users.size:
        number, random = len(phases), ~model.live[users]
        more = _scan(model, rates, users, number)
        if random.any():
            more[random] = first_places.next(users[random], now.row_mean[sums[0]], number)
        within = more.sum(1) <= scores_left
        costly = users[~within]
        least, most = model.limits()[:, :, costly]
        distance = np.maximum([value[:, costly] - least, most - value[:, costly]], 0.0)
        slack += (distance / reached[costly]).sum(2)
        users, more, random = users[within], more[within], random[within]
        if not users.size:
            break
        cost, expected = more.sum(1), now.variance[:, users] + FLOOR * now.top[:, users] ** 2
        worth = expected.copy()
        worth[sums] += now.mean[sums][:, users] ** 2 * random  # draws tell 1 / rank roughly
        weight = np.sqrt(model.priority @ worth / cost) / reached[users]
        share = SHARES[number] if number < len(SHARES) else 1.0
        spend = max(int(share * scores_left), int(cost.max()))
        taken, drawn = _drawn(uniform(key, users, number), weight, cost, spend)
        users, more, random = users[taken], more[taken], random[taken]
        scores_left -= int(more.sum())
        known, tied = counts.known, counts.tied.sum(1)
        full = np.zeros_like(counts.m)
        full[users] = more
        yield from counts.ask(full)
        first_places.update(users[random], more[random].sum(1), known, tied)
        now = model.view()
        found = now.mean[:, users]
        for index in sums:  # without a cutoff by random draws, the rest by the model
            rows = first_places.known + first_places.factor * now.row_mean[index]
            found[index] = counts.frame.by_user(rows * model.scale[index])[users]
        reached[users] *= drawn
        change, value[:, users] = found - value[:, users], found
        phases.append(Phase(users, change, expected[:, taken], drawn, reached[users], random))
        users = users[_unfinished(model, first_places)[users]]
    return Audited(before, phases, slack, sums)


def _unfinished(model: Model, first_places: "FirstPlaces") -> NDArray[np.bool_]:
    """Users of whom some metric is not known."""
    if not model.sums:
        return model.live
    unknown = model.counts.frame.by_user((first_places.factor > 0).astype(np.float64)) > 0
    return unknown & (model.counts.left.sum(1) > 0)


def _scan(model: Model, rates: Float, users: Int, number: int) -> Int:
    """Scores of each stratum, in the proxy's order, until enough better ones are expected."""
    frame, left = model.counts.frame, model.counts.left[users]
    if number >= PHASES - 1:
        return left
    place, row = frame.rows_of(users)
    known, expected = np.full(users.size, model.depth), np.ones(left.shape)
    np.minimum.at(known, place, model.counts.known[row])
    np.minimum.at(expected, place, rates[row])
    missing = (model.depth - known + 1)[:, np.newaxis]  # one more than is needed
    hits, ahead = np.cumsum(left * expected, axis=1), np.cumsum(left, axis=1) - left
    stratum = (hits >= missing).argmax(1)[:, np.newaxis]
    beyond, rate, start = (
        np.take_along_axis(table, stratum, axis=1)
        for table in (hits - left * expected, expected, ahead)
    )
    length = start + np.ceil((missing - beyond) / np.maximum(rate, 1e-9))
    length[hits[:, -1:] < missing] = 0  # they never are
    n = max(int(frame.order.n.max()), FIRST + 1)
    length = np.ceil(np.maximum(length, FIRST * (n / FIRST) ** (number / (PHASES - 1.0))))
    return np.clip(length - ahead, 0, left).astype(np.int64)


def _drawn(at: Float, weight: Float, cost: Int, limit: int) -> tuple[Int, Float]:
    """Draw users, with weights, until their cost reaches a limit; their places, probabilities."""
    at = at / weight  # the first that does not fit gives the threshold of the others
    order = np.argsort(at, kind="stable")
    count = int(np.searchsorted(np.cumsum(cost[order]), limit, side="right"))
    taken = np.sort(order[:count])
    if count == at.size:
        return taken, np.ones(count)
    return taken, np.minimum(1.0, weight[taken] * at[order[count]])


class FirstPlaces:
    """Estimates of 1 / rank from random draws, for users with enough better candidates known.

    Put the unscored candidates and the known better ones into a random order. The place of the
    first better one, divided by one more than their number, is unbiased for 1 / rank. Only the
    unscored ones cost scores; over the places of the known ones the mean is taken. After some
    draws the expectation is `known + factor * (1 / rank)`; `factor` is 0 where a better one was
    drawn, elsewhere the draws may go on.
    """

    def __init__(self, counts: Counts, key: int) -> None:
        rows = counts.better.shape[0]
        self._counts, self._key = counts, key
        self.known, self.factor = np.zeros(rows), np.ones(rows)
        self._better = np.full(rows, -1)  # known when the draws began
        self._turns = np.zeros(counts.m.shape[0], np.int64)
        self._coin = uniform(key, np.arange(rows), 1)  # probability that a tied one is better

    def next(self, users: Int, mean: Float, number: int) -> Int:
        """Scores to ask next of each stratum; `mean` is the expected 1 / rank of all rows."""
        place, row = self._counts.frame.rows_of(users)
        least = np.ones(users.size)
        np.minimum.at(least, place, mean[row])
        left, turns = self._counts.left[users], self._turns[users]
        total = left.sum(1)
        draws = np.clip(np.ceil(FOUND * GROWTH**turns * least * total), 1, total)
        draws = np.where(turns >= TURNS - 1, total, draws).astype(np.int64)
        return random_draws(left, draws, hashed(self._key + number, users))

    def update(self, users: Int, draws: Int, known: Int, tied: Int) -> None:
        """Count draws; `known` and `tied` are those of all rows before."""
        place, row = self._counts.frame.rows_of(users)
        if not row.size:
            return
        coin, turn = self._coin[row], self._turns[users][place]
        start = known[row] + _binomial(uniform(self._key, row, 2), tied[row], coin)
        self._better[row] = np.where(self._better[row] < 0, start, self._better[row])
        ties = self._counts.tied.sum(1)[row] - tied[row]
        found = self._counts.known[row] - known[row]
        found += _binomial(uniform(self._key, row, 3, turn), ties, coin)
        left = (self._counts.left.sum(1)[users] + draws)[place]
        value, factor = after_draws(left, self._better[row], draws[place], found)
        self.known[row] += self.factor[row] * value
        self.factor[row] *= factor
        self._turns[users] += 1


def after_draws(left: Int, better: Int, draws: Int, found: Int) -> tuple[Float, Float]:
    """Known part and factor of 1 / rank, given how many draws are better; see `FirstPlaces`.

    Examples
    --------
    >>> after_draws(np.array([3]), np.array([0]), np.array([3]), np.array([1]))[0]
    array([0.5])
    """
    n = left + better + 1.0
    total, product = np.ones(n.size), np.ones(n.size)
    rows = np.arange(n.size)
    for drawn in range(int(draws.max(initial=0))):
        rows = rows[(draws[rows] > drawn) & (product[rows] > 1e-15)]
        # Probability that no better candidate, known or new, comes before the next draw.
        product[rows] *= (left[rows] - drawn) / (left[rows] + better[rows] - drawn)
        product[rows] *= (draws[rows] - drawn - found[rows]) / (draws[rows] - drawn)
        total[rows] += product[rows]
    going_on = found == 0
    known = (total - np.where(going_on, product, 0.0)) / n
    return known, np.where(going_on, product * (n - draws) / n, 0.0)


def random_draws(left: Int, draws: Int, keys: Words) -> Int:
    """Numbers of draws from each stratum, without replacement from all that is unscored."""
    bounds = np.cumsum(left, axis=1)
    place = np.repeat(np.arange(draws.size), draws)
    spot = permuted(ranges(0, draws), bounds[place, -1], keys[place])
    stratum = (bounds[place] <= spot[:, np.newaxis]).sum(1)
    cells = np.bincount(place * left.shape[1] + stratum, minlength=left.size)
    return cells.reshape(left.shape)


def _binomial(at: Float, count: Int, probability: Float) -> Int:
    """Quantiles of binomial distributions."""
    drawn = np.zeros(count.size, np.int64)
    some = np.flatnonzero(count)
    if some.size:
        from scipy.stats import binom  # slow to import

        drawn[some] = binom.ppf(at[some], count[some], probability[some]).astype(np.int64)
    return drawn


class Errors:
    """Estimated errors of a model, and what is assumed of their variance, summed over users.

    Phases are rows: `change` has shape (phases, metrics, users), probabilities (phases, users),
    with 1 for users that are not in a phase.
    """

    def __init__(self, audited: Audited, n_phases: int) -> None:
        self.mean, self.slack, top = audited.before.mean, audited.slack, audited.before.top
        n_metrics, n_users = self.mean.shape
        self.change = np.zeros((n_phases, n_metrics, n_users))
        self.noise = np.zeros((n_metrics, n_users))  # of random draws, not part of the design
        self.inside = np.zeros((n_phases, n_users), bool)
        self.drawn, self.reached = np.ones((2, n_phases, n_users))
        self.assumed = np.zeros((2, n_metrics))  # by the model; for one more of the worst errors
        for number, phase in enumerate(audited.phases):
            at = number, phase.users
            self.change[number][:, phase.users] = phase.change
            self.inside[at], self.drawn[at], self.reached[at] = True, phase.drawn, phase.reached
            for index in audited.sums:
                noise = phase.change[index] / np.sqrt(phase.reached) * phase.random
                self.noise[index, phase.users] += noise
            factor = (1.0 - phase.drawn) / phase.reached**2
            self.assumed[0] += (phase.variance * factor).sum(1)
            if number == 0 and phase.users.size:
                mean = self.mean[:, phase.users]
                worst = np.maximum(mean, top[:, phase.users] - mean)
                self.assumed[1] += (worst**2 * factor).mean(1)
        self.shift = (self.change / self.reached[:, np.newaxis]).sum(0)
        self.variance = covariance(self, self) + self.noise**2


def covariance(a: Errors, b: Errors) -> Float:
    """Unbiased covariance of the sums of two recommenders, by user; shape (metrics, users)."""
    total, joint = np.zeros(a.mean.shape), np.ones(a.mean.shape[1])
    for phase in range(len(a.inside)):
        joint = joint * np.minimum(a.drawn[phase], b.drawn[phase])
        # The later phase is that of b, then that of a.
        for first, second, start in ((a, b, phase), (b, a, phase + 1)):
            for later in range(start, len(a.inside)):
                both = np.flatnonzero(first.inside[phase] & second.inside[later])
                further = second.reached[later, both] / second.reached[phase, both]
                p, q = first.reached[phase, both], second.reached[later, both]
                change = first.change[phase][:, both] * second.change[later][:, both]
                total[:, both] += change * (1.0 / (p * q) - 1.0 / (joint[both] * further))
    return total


def estimates(
    audited: Sequence[Audited], bounds: Float, confidence: float
) -> tuple[list[list[Estimate]], dict[tuple[int, int], list[Estimate]]]:
    """Estimate the metrics of recommenders, and the differences b - a of all pairs (a, b).

    `bounds` are the least and greatest values that the scores allow, shape (2, recommenders,
    metrics); intervals do not go beyond them.
    """
    n_phases = max(len(result.phases) for result in audited)
    errors = [Errors(result, n_phases) for result in audited]
    least, most = bounds
    single = [
        _settled(_estimates(x.mean, x.shift, x.variance, x.assumed, x.slack, limits, confidence))
        for x, *limits in zip(errors, least, most, strict=True)
    ]
    pairs = {}
    for i, j in combinations(range(len(errors)), 2):
        a, b = errors[i], errors[j]
        variance = a.variance + b.variance - 2.0 * (covariance(a, b) + a.noise * b.noise)
        # Errors that the audit did not see are assumed to cancel as far as those that it saw.
        seen = variance.sum(1) / np.maximum((a.variance + b.variance).sum(1), 1e-30)
        assumed = np.clip(seen, LEAST_SHARE, 1.0) * (a.assumed + b.assumed)
        slack, limits = b.slack + a.slack[::-1], [least[j] - most[i], most[j] - least[i]]
        parts = b.mean - a.mean, b.shift - a.shift, variance, assumed, slack, limits
        pairs[i, j] = _estimates(*parts, confidence)
    return single, pairs


def _estimates(
    mean: Float,
    shift: Float,
    variance: Float,
    assumed: Float,
    slack: Float,
    limits: Any,
    level: float,
) -> list[Estimate]:
    n_users = variance.shape[1]
    total = np.max([variance.sum(1), *assumed], axis=0) + RESOLUTION**2
    squares = np.maximum((variance**2).sum(1), 1e-30)
    freedom = np.clip(total**2 / squares, LEAST_FREEDOM, MOST_FREEDOM)
    deviation = np.sqrt(total) / n_users
    model, error, (below, above) = mean.sum(1) / n_users, shift.sum(1) / n_users, slack / n_users
    up, down = error - deviation - below, error + deviation + above
    half = stdtrit(freedom, 0.5 + level / 2.0) * deviation
    centre = model + error
    low, high = np.clip([centre - half - below, centre + half + above], *limits)
    value = np.clip(model + np.maximum(up, 0.0) + np.minimum(down, 0.0), low, high)
    columns = (value, low, high, centre, deviation, freedom, model)
    return [Estimate(*map(float, row)) for row in np.transpose(columns)]


def _settled(rows: list[Estimate]) -> list[Estimate]:
    """Take the audit's values if it disagrees with a recommender's model in any metric."""
    if not any(x.disagrees for x in rows):
        return rows
    return [x._replace(value=min(max(x.centre, x.low), x.high)) for x in rows]

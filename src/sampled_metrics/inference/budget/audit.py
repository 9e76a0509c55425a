"""Audit of the model: users drawn with known probabilities whose metrics are found without it.

Users are drawn with probability proportional to the square root of what knowing them is worth per
score, by permanent random numbers and the same users for all recommenders. Users are admitted in
cohorts, by forecasts of their costs, and whoever is admitted is finished: what a user costs,
which depends on its rank, has no influence on whether it is counted. Where the scores run out
before, the users left over count with the range of values that their scores allow.
"""

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.inference.budget.counts import Frame
from sampled_metrics.inference.budget.purse import Purse
from sampled_metrics.inference.budget.resolve import resolve
from sampled_metrics.inference.budget.runs import Audited, Run, limits
from sampled_metrics.inference.budget.shuffle import stream, uniform
from sampled_metrics.inference.budget.together import Batches, alone, together
from sampled_metrics.inference.budget.values import Tables
from sampled_metrics.inference.budget.walk import FIRST_TURN

FLOOR = 0.01  # share of the squared largest value added to the variance a model states
MISS_SHARE = 0.05  # of the candidates that a user counts as costing at least, in its weight
PSEUDO = 0.5  # users surprised as badly as can be that are added to the audited ones
FEW, PSEUDO_OF_FEW = 10, 3.5  # the same where fewer than FEW are ranked fully: none among m drawn
# users leaves 3.7 / m possible at 97.5 %, and 3.7 is 1.96 times the square root of 3.5
TAIL_SHARE = 0.2  # of the money, for users of whom only the average precision is open
COHORTS = (0.6, 1.0)  # share of the money left that a cohort may be forecast to cost
LEAST_FACTOR = 0.8  # of cost to forecast that later cohorts count on
SURPRISE = 0.02  # share of users that may turn out to be hits against the model, in forecasts
CAUTION = 2.0  # standard deviations of the forecast kept in hand


class Audit:
    """Draws users, finds their metrics and keeps the books.

    Parameters
    ----------
    runs
        Recommenders, all on one frame.
    scale, offset
        Weight of the held-out rows, (recommenders, metrics, rows); better held-out items of the
        same user for each recommender, (recommenders, rows).
    """

    def __init__(
        self, runs: list[Run], frame: Frame, tables: Tables, scale: Float, offset: Int, money: int
    ) -> None:
        self.runs, self.frame, self.tables = runs, frame, tables
        self.scale, self.offset = scale, offset
        self.money = money
        shape = (len(runs), len(tables.metrics), frame.order.n.size)
        self.error, self.probability = np.zeros(shape), np.ones(shape)
        self.noise = np.zeros((shape[0], shape[2]))
        self.pseudo, self.slack = np.zeros(shape[:2]), np.zeros(shape[:2])
        self._weights = np.array([metric.weight for metric in tables.metrics])
        self._sums = [i for i, metric in enumerate(tables.metrics) if metric.cutoff is None]

    def run(self) -> Batches:
        """Audit until the money is spent; return what was `Audited`."""
        metrics = list(range(len(self.tables.metrics)))
        reserve = int(TAIL_SHARE * self.money) if self._sums else 0
        live = np.stack([run.live for run in self.runs])
        rest = np.stack([run.open for run in self.runs]) & ~live
        users = np.concatenate(
            (
                yield from together(
                    [
                        self._group(
                            metrics, live, self._worth_of_live(live), Purse(self.money - reserve)
                        ),
                        self._group(self._sums, rest, self._worth_of_rest(rest), Purse(reserve)),
                    ]
                )
            )
        )
        return Audited(self.error, self.probability, self.noise, self.pseudo, self.slack, users)

    def _worth_of_live(self, live: NDArray[np.bool_]) -> tuple[Float, Float, Float]:
        """Inclusion weight, expected cost and its variance for users with an open cutoff metric."""
        left = np.stack([run.counts.left.sum(1) for run in self.runs])
        inside = np.stack([run.inside for run in self.runs])
        likely = inside + SURPRISE * (1.0 - inside)
        miss = 2.0 * self.tables.depth + self._walks()
        cost = live * (left * likely + np.minimum(miss, left) * (1.0 - likely))
        values = np.stack([run.variance + FLOOR * run.top**2 for run in self.runs])
        worth = (live * np.einsum("m,kmu->ku", self._weights, values)).sum(0)
        least = live * np.minimum(MISS_SHARE * self.frame.order.n, left)
        weight = np.sqrt(worth / np.maximum(np.maximum(cost, least).mean(0), 1.0))
        spread = live * left * np.sqrt(likely * (1.0 - likely))
        return weight, cost.sum(0), spread.sum(0) ** 2

    def _worth_of_rest(self, rest: NDArray[np.bool_]) -> tuple[Float, Float, Float]:
        """The same for users of whom only the average precision is open: T / n costs n / rank."""
        mean = np.stack([run.mean[self._sums].sum(0) for run in self.runs]) * rest
        cost = rest * self._walks()
        total = cost.sum(0).astype(np.float64)
        return np.sqrt(mean.mean(0)), total, total**2

    def _walks(self) -> Float:
        """Expected cost of T / n, shape (recommenders, users): a turn, and n / rank."""
        if not self._sums:
            return np.zeros((len(self.runs), 1))
        tail = [self.frame.by_user(run.posterior.tail) for run in self.runs]
        ranks: Float = np.stack(tail) * self.frame.order.n
        return FIRST_TURN + ranks

    def _group(
        self,
        metrics: list[int],
        member: NDArray[np.bool_],
        worth: tuple[Float, Float, Float],
        purse: Purse,
    ) -> Batches:
        """Audit one group of users in cohorts; return the users that were audited."""
        weight, cost, variance = worth
        key = stream(self.frame.seed, "audit")
        able = np.flatnonzero(weight > 0)
        draw = uniform(key, able) / weight[able]
        order = able[np.argsort(draw, kind="stable")]
        draw.sort()
        done, factor, forecast, spent = 0, 1.0, 0.0, 0.0
        for share in COHORTS:
            money = share * purse.left
            ahead = factor * np.cumsum(cost[order[done:]])
            ahead += CAUTION * factor * np.sqrt(np.cumsum(variance[order[done:]]))
            cohort = slice(done, done + int(np.searchsorted(ahead, money, side="right")))
            before = purse.left
            if cohort.stop == cohort.start or purse.cut < done:
                break
            yield from self._cohort(order[cohort], done, metrics, member, purse)
            spent += before - purse.left
            forecast += cost[order[cohort]].sum()
            factor = max(spent / max(forecast, 1.0), LEAST_FACTOR)
            done = cohort.stop
        probability = np.ones(weight.size)
        if done < order.size:
            probability = np.minimum(1.0, weight * draw[done])
        self._bound(order[purse.cut : done], metrics, member, probability)
        self._weigh(order[:done], metrics, member, probability)
        return order[:done]

    def _cohort(
        self, drawn: Int, first: int, metrics: list[int], member: NDArray[np.bool_], purse: Purse
    ) -> Batches:
        """Resolve drawn users, of which the first has place `first` in the order of the audit."""
        key = stream(self.frame.seed, "walk")
        owners, tasks = [], []
        for index, run in enumerate(self.runs):
            expected = self._least(run.classes.fit.posterior @ run.classes.fit.share)
            likely = run.inside[drawn] > 0.5
            for part in (~likely, likely):  # short scans need not wait for long ones
                place = np.flatnonzero(part & member[index, drawn])
                users = drawn[place]
                task = resolve(
                    run.counts,
                    users,
                    first + place,
                    self.offset[index],
                    expected[users],
                    self.tables,
                    purse,
                    key,
                )
                owners.append(index)
                tasks.append(alone(task))
        for index, found in zip(owners, (yield from together(tasks)), strict=True):
            self._keep(index, metrics, *found)

    def _least(self, rows: Float) -> Float:
        if self.frame.one_each:
            return rows
        return np.minimum.reduceat(rows, self.frame.first_row[:-1], axis=0)

    def _keep(
        self, index: int, metrics: list[int], rows: Int, values: Float, variance: Float
    ) -> None:
        """Store the errors of the model for resolved rows."""
        scale = self.scale[index][:, rows]
        error = (values - self.runs[index].posterior.mean[:, rows]) * scale
        for metric in metrics:
            np.add.at(self.error[index, metric], self.frame.owner[rows], error[metric])
        if self._sums:
            noise = variance * scale[self._sums[0]] ** 2
            np.add.at(self.noise[index], self.frame.owner[rows], noise)

    def _bound(
        self, users: Int, metrics: list[int], member: NDArray[np.bool_], probability: Float
    ) -> None:
        """Put users that the scores did not suffice for into the middle of their range."""
        for index, run in enumerate(self.runs if users.size else []):
            mine = users[member[index, users]]
            least, largest = limits(run.counts, self.scale[index], self.offset[index], self.tables)[
                :, metrics
            ][:, :, mine]
            middle = (least + largest) / 2.0 - run.mean[metrics][:, mine]
            self.error[np.ix_(np.array([index]), np.array(metrics), mine)] = middle
            self.noise[index, mine] = 0.0
            self.slack[index, metrics] += ((largest - least) / 2.0 / probability[mine]).sum(1)

    def _weigh(
        self, drawn: Int, metrics: list[int], member: NDArray[np.bool_], probability: Float
    ) -> None:
        """Set the inclusion probabilities, and add surprises that the audit may have missed."""
        for index, run in enumerate(self.runs):
            audited = drawn[member[index, drawn]]
            p = probability[audited]
            for metric in metrics:
                self.probability[index, metric, audited] = p
            self.noise[index, audited] /= p
            if not audited.size:  # nothing is known of the model's errors
                self.pseudo[index, metrics] = np.inf if member[index].any() else 0.0
            elif run.live[audited[0]]:
                full = np.count_nonzero(run.counts.left[audited].sum(1) == 0)
                users = PSEUDO if full >= FEW else PSEUDO_OF_FEW
                worst = np.maximum(run.mean, run.top - run.mean)[:, audited] ** 2
                self.pseudo[index] += users * (worst * (1 - p) / p**2).mean(1)

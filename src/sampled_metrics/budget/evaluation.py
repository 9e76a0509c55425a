"""Evaluation on a budget: rounds of scores for the model, then the audit."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import issparse

from sampled_metrics._base.arguments import check_arguments, is_function
from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.defaults import (
    DEFAULT_BUDGET,
    DEFAULT_BUDGET_METRICS,
    DEFAULT_CONFIDENCE,
    Names,
)
from sampled_metrics._base.errors import InputError, collect_warnings, reading, warn_input
from sampled_metrics._base.progress import progress_bar
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.threads import one_thread, with_current_threads
from sampled_metrics.budget.audit import Audit
from sampled_metrics.budget.candidates import Strata, make_proxy
from sampled_metrics.budget.estimates import estimates
from sampled_metrics.budget.model import Model, parse_metrics
from sampled_metrics.budget.problem import Recommender, by_pairs, read_problem
from sampled_metrics.budget.result import LEAST_RANKED, MODEL_SHARE, BudgetResult, n_ranked
from sampled_metrics.budget.strata import MANY, Counts, proxy_helps, question_scores
from sampled_metrics.evaluation.evaluate import are_most_tied
from sampled_metrics.inputs.roles import NamesByRole, naming
from sampled_metrics.metrics import Measure
from sampled_metrics.ranks.data import ItemsByUser

FIRST_STEPS = 30  # expectation maximisation, after the first round
ROUND_STEPS = 6
LAST_STEPS = 40
ROUNDS_PER_E = 3.0  # rounds for every factor e from the first round to the budget
LEAST_ROUNDS = 4
BATCHES = (5, 10, 10, 12, 15, 20)  # fewest scores asked at once of a user in each stratum ...
BATCH = 25  # ... and beyond the sixth
WIDTHS = 0.2, 1.5  # half an interval, as a share of the metric, for a full list; rules of thumb
CONTROLS = 20  # pairs that are scored again
CLOSE = 0.002  # share of a score, and of the range of scores, that rounding explains
_log = logging.getLogger("sampled_metrics")
Scores: TypeAlias = Any  # a function of arrays of users and items, or scores of all items


def evaluate_on_budget(
    recommender: Scores | Mapping[str, Scores],
    metrics: Names = DEFAULT_BUDGET_METRICS,
    *,
    relevant: ItemsByUser,
    seen: ItemsByUser = None,
    candidates: ItemsByUser = None,
    items: ItemsByUser = None,
    proxy: Scores = "popularity",
    budget: float = DEFAULT_BUDGET,
    confidence: float = DEFAULT_CONFIDENCE,
    seed: int = 0,
    batch_size: int | None = None,
    progress: bool | None = None,
    columns: NamesByRole = None,
) -> BudgetResult:
    """Estimate metrics over all candidates from about a hundred scores per user.

    Use it where scores are expensive. A recommender that scores the whole catalogue at once is
    better ranked fully (`rank`), which takes less time and leaves no error; the result says how
    long that would take. Intervals and orders are about the exact metrics of the users given.
    Before the first score a line is logged with the interval to expect of the budget, as a warning
    if the budget is small or exceeds the number of candidates.

    Parameters
    ----------
    recommender
        Function of arrays of users and items that returns a score per pair, larger is better; a
        matrix of scores, users x items; a DataFrame of them with ids as index and columns; or
        several under their names, which are compared on the same users and random numbers.
    metrics
        recall@k, ndcg@k and ap; with one held-out item per user also hr@k, mrr, mrr@k and map@k.
    relevant, seen
        Held-out items, and items that are no candidates. Both as tables of `user_id` and `item_id`
        (files, DataFrames, or dictionaries of a list per user), whose ids functions then get. Or
        by position: `seen` as a matrix, users x items, or a list of columns per user, and the
        column of each user's held-out item, -1 for none, a list of them per user, or a matrix.
    candidates
        Items that are ranked for each user, in the forms of `seen`, by default all; seen items are
        taken out of them, and the held-out items need not be among them. With them `seen` may be
        left out, if the proxy is given as scores.
    items
        Table of all items (`item_id`), if some are in no other table; by position their number,
        where no matrix says it.
    proxy
        Cheap scores that tell where to look: `popularity`, or scores of all items, larger is
        better: a matrix, a DataFrame with ids, or by position a pair of vectors of users and items
        or a function of users, as `rank` takes them.
    budget
        Scores per user and recommender, a bound on their mean; held-out items are not counted.
        Twenty of all are pairs that are scored again, to see that scores depend on the pair alone.
    confidence, seed
        Coverage of the intervals; seed of all random numbers.
    batch_size
        Largest number of pairs in one call of a function; does not change the result.
    progress
        Whether a bar shows how many scores were asked; by default on a terminal, if tqdm is
        installed.

    columns
        Names of columns of tables by role, see `evaluate`.

    Returns
    -------
    BudgetResult
        Prints as a table; `to_frame()` has the metrics, `compare()` the orders of all pairs.

    Raises
    ------
    InputError
        If the data or an option cannot be used; the message says where, why and what to give.

    See Also
    --------
    evaluate : Exact metrics of full rankings.
    plan : What negatives can decide.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random((40, 30))
    >>> held_out = np.arange(40) % 30
    >>> result = evaluate_on_budget(
    ...     lambda users, items: scores[users, items], "HR@5",
    ...     relevant=held_out, seen=np.zeros((40, 30)), budget=29,
    ... )
    >>> exact = np.mean((scores > scores[np.arange(40), held_out, np.newaxis]).sum(axis=1) < 5)
    >>> bool(np.isclose(result.estimates[0][0].value, exact))
    True
    """
    check_arguments(budget=budget, confidence=confidence, seed=seed, batch_size=batch_size)
    is_named = isinstance(recommender, Mapping) and not issparse(recommender)
    given: Mapping[str, Any] = recommender if is_named else {"score": recommender}
    if not given or not all(isinstance(name, str) for name in given):
        raise InputError("recommender has no names; expected at least one, each a text")
    scorers = {
        name: with_current_threads(score) if is_function(score) else score
        for name, score in given.items()
    }
    # Which pairs are scored next depends on sums to the last digit.
    with collect_warnings() as notes, one_thread():
        with naming(columns):
            problem = read_problem(relevant, seen, candidates, items, list(given.values()))
        recommenders = {
            name: Recommender(by_pairs("recommender", scores, problem), problem, batch_size)
            for name, scores in scorers.items()
        }
        frame = Strata(problem, make_proxy(proxy, problem), seed)
        limit = _limit(frame, budget)
        measures = parse_metrics(metrics, single=frame.owner.size == frame.n_candidates.size)
        audits = []
        for name, asked in recommenders.items():
            with (
                progress_bar(limit + frame.owner.size, name, progress) as asked.update,
                reading(name * (len(recommenders) > 1)),
            ):
                model = Model(Counts(frame, asked.score), measures)
                _ask(model, asked, limit)
                audits.append(Audit(model, limit - model.counts.n_asked).run())
                question_scores(model.counts)
                question_ties(model.counts, measures)
    with one_thread():
        single, pairs = estimates(audits, confidence)
    return BudgetResult(
        names=tuple(recommenders),
        metrics=tuple(map(str, measures)),
        estimates=single,
        differences=pairs,
        n_asked=tuple(audit.model.counts.n_asked for audit in audits),
        n_held_out=frame.owner.size,
        n_users=frame.n_candidates.size,
        n_audited=np.unique(np.concatenate([audit.users for audit in audits])).size,
        n_ranked=tuple(map(n_ranked, audits)),
        n_candidates=int(frame.n.sum()),
        confidence=confidence,
        proxy=proxy if isinstance(proxy, str) else "scores",
        proxy_helps=tuple(audit.model.proxy_helps for audit in audits),
        seconds_per_score=tuple(x.seconds / x.n_scored for x in recommenders.values()),
        notes=tuple(notes),
    )


def question_ties(counts: Counts, measures: Sequence[Measure]) -> None:
    """Ask about metrics that ties decide: most items are tied, and both ends are far apart.

    Scores not asked are taken to be better or tied as often as those of the same stratum.
    """
    owner = counts.frame.owner
    n_tied = int(np.count_nonzero(counts.n_tied))
    if owner.size < MANY or not are_most_tied(n_tied, owner.size):
        return
    weight = counts.frame.n[owner] / np.maximum(counts.m[owner], 1)
    best = 1.0 + counts.above + (weight * counts.better).sum(axis=1)
    tied = (weight * counts.tied).sum(axis=1)
    n = counts.frame.n_candidates[owner] + 1
    ends = []
    for measure in measures:
        low, middle, high = (measure.value_at(best + part * tied, n) for part in (1.0, 0.5, 0.0))
        if high.mean() - low.mean() > 4.0 * middle.std() / np.sqrt(owner.size):
            ends.append(str(measure))
    if ends:
        warn_input(
            "recommender",
            f"{n_tied:,} of {owner.size:,} held-out items have the score of others, and metrics "
            f"depend on the order of those, which is taken as random: {', '.join(ends)}; were "
            "scores rounded, or are they of too few bits?",
        )


def _limit(frame: Strata, budget: float) -> int:
    """Return how many scores may be asked, without controls; log the interval to expect."""
    n_users = frame.n_candidates.size
    n_candidates = frame.n_candidates.sum()
    most = int(budget * n_users)
    if most > n_candidates:
        _log.warning(
            f"a budget of {budget:g} scores for each of {n_users:,} users pays for all "
            f"{n_candidates:,} candidates, which are all scored: the metrics will be exact"
        )
    if most >= n_candidates:
        return most
    limit = most - CONTROLS
    first_round = n_users * np.count_nonzero(frame.n.any(0))
    if MODEL_SHARE * limit < first_round:
        needed = np.ceil((first_round / MODEL_SHARE + CONTROLS) / n_users)
        raise InputError(f"budget is {budget:g}; the first round needs {needed:.0f}")
    lists = float(f"{(1.0 - MODEL_SHARE) * most * n_users / n_candidates:.2g}")
    fits, hides = (100.0 * width / np.sqrt(lists) for width in WIDTHS)
    text = (
        f"at most {most:,} scores per recommender; the audit pays for full lists of about "
        f"{lists:,g} users: expect intervals of about ±{fits:.0f} % of a metric where the proxy "
        f"fits, ±{hides:.0f} % where not"
    )
    if lists < LEAST_RANKED:
        _log.warning(f"{text}; with so few lists the result cannot tell which")
    else:
        _log.info(text)
    return limit


def _ask(model: Model, recommender: Recommender, limit: int) -> None:
    """Ask for the scores of the model: for all if they are within the limit, else in rounds."""
    counts = model.counts
    n_unpaid = limit - counts.left.sum()
    if n_unpaid >= 0:
        _question_again(recommender, *counts.ask(counts.left), min(CONTROLS, n_unpaid))
        return
    _question_again(recommender, *counts.ask(np.minimum(1, counts.left)), CONTROLS)
    model.fit(FIRST_STEPS)
    # Without a relation of the orders of proxy and recommender the audit ranks users more fully.
    model.proxy_helps = proxy_helps(counts)
    if model.proxy_helps:
        explore(model, int(MODEL_SHARE * limit))


def _question_again(
    recommender: Recommender, users: Int, items: Int, scores: Float, count: int
) -> None:
    """Ask for the scores of some pairs again, in another order and beside others, and compare."""
    some = generator(0, "budget", "again").choice(users.size, min(count, users.size), replace=False)
    again = recommender.score(users[some], items[some])
    n_others = differing(scores[some], again, scores)
    if n_others:
        warn_input(
            "recommender",
            f"{n_others} of {some.size} pairs have another score when asked again beside other "
            "pairs: are scores normalised within a call, sorted, or random (dropout)? Return the "
            "score of each pair alone, in the order asked",
        )


def differing(before: Float, now: Float, scores: Float) -> int:
    """Count scores that changed by more than rounding explains."""
    finite = scores[np.isfinite(scores)]
    margin = CLOSE * (np.ptp(finite) if finite.size else 0.0)
    return int((~np.isclose(now, before, rtol=CLOSE, atol=margin)).sum())


def explore(model: Model, total: int) -> None:
    """Ask where the metrics vary most, in rounds, at most for `total` scores in all."""
    counts = model.counts
    n_users, n_strata = counts.m.shape
    fewest = np.array([*BATCHES, *[BATCH] * n_strata][:n_strata])
    first = min(counts.n_asked + 3 * n_users, total)
    rounds = max(LEAST_ROUNDS, int(ROUNDS_PER_E * np.log(total / first)))
    for limit in np.geomspace(first, total, rounds).astype(int):
        more = _most_telling(model, fewest, limit - counts.n_asked)
        if more.any():
            counts.ask(more)
            model.fit(ROUND_STEPS)
    model.fit(LAST_STEPS)


def _most_telling(model: Model, fewest: Int, room: int) -> Int:
    """Return how many scores to ask of each user and stratum, where metrics vary most per score."""
    counts = model.counts
    gain = model.gain()
    more = np.minimum(np.maximum(fewest, counts.m), counts.left).ravel()
    ranked = np.argsort(-np.where(more > 0, gain.ravel(), -1.0), kind="stable")
    n_taken = np.cumsum(more[ranked]).searchsorted(room, "right")
    more[ranked[n_taken:]] = 0
    return more.reshape(gain.shape)

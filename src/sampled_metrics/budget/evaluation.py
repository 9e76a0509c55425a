"""Evaluation on a budget: rounds of scores for the model, then the audit.

Each recommender scores pairs in this order:

1. one score in every stratum of each user, which also shows whether the proxy helps;
2. rounds of further scores where the metrics vary most by the model (`model`), up to three quarters
   of the budget; none if the proxy does not help;
3. the audit with the rest (`user_audit`).

Then the estimates of all recommenders and of their differences are computed (`estimates`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sampled_metrics._base.arguments import check_arguments
from sampled_metrics._base.array_types import Float, Int, ItemsByUser
from sampled_metrics._base.calls import (
    IN_RESULT,
    current_call,
    place_of,
    public,
    warn_all,
)
from sampled_metrics._base.defaults import (
    DEFAULT_BUDGET,
    DEFAULT_BUDGET_METRICS,
    DEFAULT_CONFIDENCE,
    Names,
)
from sampled_metrics._base.errors import InputError, format_value
from sampled_metrics._base.progress import progress_bar
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.threads import one_thread, with_current_threads
from sampled_metrics.budget.candidates import read_evaluation_data
from sampled_metrics.budget.constants import (
    BATCH,
    CONTROLS,
    FIRST_BATCHES,
    FIRST_STEPS,
    LAST_STEPS,
    LEAST_RANKED,
    LEAST_ROUNDS,
    MODEL_SHARE,
    RELATIVE_ROUNDING,
    ROUND_STEPS,
    ROUNDS_PER_E,
    WIDTH_WITH_PROXY,
    WIDTH_WITHOUT_PROXY,
)
from sampled_metrics.budget.counts import StratumCounts, does_proxy_help
from sampled_metrics.budget.estimates import estimate_recommenders
from sampled_metrics.budget.model import Model, parse_metrics
from sampled_metrics.budget.result import BudgetResult, count_ranked_users
from sampled_metrics.budget.scorers import (
    PairScorer,
    RecommenderScores,
    TimedScorer,
    pair_scorer,
)
from sampled_metrics.budget.strata import Strata, make_proxy
from sampled_metrics.budget.user_audit import Audit
from sampled_metrics.checks import Signs
from sampled_metrics.checks.metrics import Ends
from sampled_metrics.checks.strata import (
    signs_in_strata,
    signs_of_changed_scores,
    signs_of_ties_in_strata,
)
from sampled_metrics.metrics import Measure
from sampled_metrics.read.kinds import DICTIONARIES, Kind, kind_of
from sampled_metrics.read.roles import NamesByRole, check_roles

_log = logging.getLogger("sampled_metrics")


@public(columns=check_roles, see=IN_RESULT)
def evaluate_on_budget(
    recommender: RecommenderScores | Mapping[str, RecommenderScores],
    metrics: Names = DEFAULT_BUDGET_METRICS,
    *,
    relevant: ItemsByUser,
    seen: ItemsByUser = None,
    candidates: ItemsByUser = None,
    items: ItemsByUser = None,
    proxy: RecommenderScores = "popularity",
    budget: float = DEFAULT_BUDGET,
    confidence: float = DEFAULT_CONFIDENCE,
    seed: int = 0,
    batch_size: int | None = None,
    progress: bool | None = None,
    columns: NamesByRole = None,
) -> BudgetResult:
    """Estimate metrics over all candidates from about a hundred scores per user.

    Use it where scores are expensive. If a recommender scores the whole catalogue at once, rank
    fully instead (`rank`), which takes less time and leaves no error; the result says how long that
    would take. Intervals and orders are about the exact metrics of these users. Before the first
    score the interval to expect is logged, as a warning if the budget is small or exceeds the
    number of candidates.

    Parameters
    ----------
    recommender
        Function of arrays of users and items that returns a score per pair, larger is better; a
        matrix of scores, users x items; a DataFrame of them with ids as index and columns; or
        several under their names, which are compared on the same users and random numbers.
    metrics
        recall@k, ndcg@k and ap; with one held-out item per user also hr@k, mrr, mrr@k and map@k.
    relevant, seen
        Held-out items, and items that are not candidates. Both as tables of `user_id` and `item_id`
        (files, DataFrames, or dictionaries with a list per user); functions are then called with
        these ids. Or by position: `seen` as a matrix, users x items, or a list of columns per user;
        `relevant` as the column of each user's held-out item, -1 for none, a list of columns per
        user, or a matrix. "none" or an empty list as `seen` says that there are none.
    candidates
        Items that are ranked for each user, in the forms of `seen`, by default all. Seen items are
        removed from them, and the held-out items need not be among them. `seen` may then be
        omitted if the proxy is scores.
    items
        Table of all items (`item_id`), if some are in no other table; by position their number,
        where no matrix says it.
    proxy
        Cheap scores that show where scores are worth most: `popularity`, or scores of all items,
        larger is better: a matrix, a DataFrame with ids, or by position a pair of vectors of users
        and items or a function of users, as `rank` accepts them.
    budget
        Scores per user and recommender, a bound on their mean; held-out items are not counted.
        Twenty pairs are scored twice, to check that a score depends on its pair alone.
    confidence, seed
        Coverage of the intervals; seed of all random numbers.
    batch_size
        Largest number of pairs in one call of a function; does not change the result.
    progress
        Whether a bar shows how many pairs were scored; by default on a terminal, if tqdm is
        installed.
    columns
        Mapping from role to column name, see `evaluate`.

    Returns
    -------
    BudgetResult
        Prints as a table; `to_frame()` has the metrics, `compare()` the orders of all pairs.

    Raises
    ------
    InputError
        If the data or an option is invalid; the message says where, why and what to do.

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
    call = current_call()
    check_arguments(budget=budget, confidence=confidence, seed=seed, batch_size=batch_size)
    by_name = _name_recommenders(recommender)
    # Functions keep their threads; all else here runs on one.
    scores_by_name = {name: _with_threads(scores) for name, scores in by_name.items()}
    # Which pairs are scored next depends on sums to the last digit.
    with one_thread():
        data = read_evaluation_data(
            relevant, seen, candidates=candidates, items=items, scores=list(by_name.values())
        )
        call.require_columns()  # before the scores, which are expensive
        pair_scorers = {
            name: pair_scorer("recommender", scores, data)
            for name, scores in scores_by_name.items()
        }
        strata = Strata(data, make_proxy(proxy, data), seed)
        limit = _limit_scores(strata, budget)
        has_single_items = strata.user_of_row.size == strata.n_candidates.size
        measures = parse_metrics(metrics, single=has_single_items)
        audits, seconds_per_score = _audit_recommenders(
            pair_scorers, strata, measures, limit, batch_size=batch_size, progress=progress
        )
        by_recommender, by_pair = estimate_recommenders(audits, confidence)
    return BudgetResult(
        names=tuple(pair_scorers),
        metrics=tuple(str(measure) for measure in measures),
        estimates=by_recommender,
        differences=by_pair,
        n_asked=tuple(audit.model.counts.total_scored for audit in audits),
        n_held_out=strata.user_of_row.size,
        n_users=strata.n_candidates.size,
        n_audited=np.unique(np.concatenate([audit.users for audit in audits])).size,
        n_ranked=tuple(count_ranked_users(audit) for audit in audits),
        n_candidates=int(strata.sizes.sum()),
        confidence=confidence,
        proxy=proxy if isinstance(proxy, str) else "scores",
        proxy_helps=tuple(audit.model.proxy_helps for audit in audits),
        seconds_per_score=tuple(seconds_per_score),
        note_records=tuple(call.all_notes()),
    )


def _name_recommenders(
    recommender: RecommenderScores | Mapping[str, RecommenderScores],
) -> Mapping[str, RecommenderScores]:
    """Return recommenders by name; a single one is called `score`."""
    if kind_of(recommender) not in DICTIONARIES:
        return {"score": recommender}
    if not recommender:
        raise InputError("recommender is an empty dictionary; expected at least one recommender")
    for name in recommender:
        if not isinstance(name, str):
            raise InputError(
                f"found {format_value(name)} as a name of a recommender; expected text"
            )
    return dict(recommender)


def _with_threads(scores: RecommenderScores) -> RecommenderScores:
    """Let a recommender that is a function use as many threads as now."""
    return with_current_threads(scores) if kind_of(scores) is Kind.FUNCTION else scores


def _audit_recommenders(
    pair_scorers: Mapping[str, PairScorer],
    strata: Strata,
    measures: Sequence[Measure],
    limit: int,
    *,
    batch_size: int | None,
    progress: bool | None,
) -> tuple[list[Audit], list[float]]:
    """Audit recommenders one after the other; also return the seconds that each took per score.

    For `limit` see `_limit_scores`; the others are options of `evaluate_on_budget`.
    """
    audits = []
    seconds_per_score = []
    for name, score_pairs in pair_scorers.items():
        name_in_messages = name if len(pair_scorers) > 1 else None
        n_pairs = limit + strata.user_of_row.size  # held-out items are scored too
        with progress_bar(n_pairs, name, progress) as report, place_of(name_in_messages):
            scorer = TimedScorer(score_pairs, strata.data, batch_size, report)
            audits.append(_audit_recommender(scorer, strata, measures, limit))
        seconds_per_score.append(scorer.seconds_per_score)
    return audits, seconds_per_score


def _audit_recommender(
    scorer: TimedScorer, strata: Strata, measures: Sequence[Measure], limit: int
) -> Audit:
    """Spend the scores of one recommender: first on its model, then on the audit.

    For `limit` see `_limit_scores`.
    """
    model = Model(StratumCounts(strata, scorer.score), measures)
    _score_for_model(model, scorer, limit)
    audit = Audit(model, limit - model.counts.total_scored)
    audit.run()
    warn_all(_signs_in_counts(model.counts, measures))
    return audit


def _signs_in_counts(counts: StratumCounts, measures: Sequence[Measure]) -> Signs:
    """Look for scores in no order, and for ties that decide metrics."""
    yield from signs_in_strata(counts)
    n_tied = int(np.count_nonzero(counts.n_tied))
    ends = _ends_of_ties(counts, measures)
    yield from signs_of_ties_in_strata(n_tied, counts.strata.user_of_row.size, ends)


def _ends_of_ties(counts: StratumCounts, measures: Sequence[Measure]) -> Iterator[Ends]:
    """Yield each metric with all ties lost and with all ties won, as means over held-out items.

    Unscored candidates are taken to be better or tied as often as those scored in the same stratum.
    """
    user_of_row = counts.strata.user_of_row
    n_candidates = counts.strata.n_candidates[user_of_row] + 1  # with the held-out item
    # Candidates that each scored one stands for; shape (rows, strata).
    weight = counts.strata.sizes[user_of_row] / np.maximum(counts.n_scored[user_of_row], 1)
    n_tied = (weight * counts.tied).sum(axis=1)
    best_rank = 1.0 + counts.above + (weight * counts.better).sum(axis=1)
    for measure in measures:
        lost = measure.value_at(best_rank + n_tied, n_candidates)
        halved = measure.value_at(best_rank + 0.5 * n_tied, n_candidates)
        won = measure.value_at(best_rank, n_candidates)
        std_error = float(halved.std() / np.sqrt(user_of_row.size))
        yield Ends(str(measure), float(lost.mean()), float(won.mean()), std_error)


def _limit_scores(strata: Strata, budget: float) -> int:
    """Return how many pairs may be scored without controls; log the interval to expect.

    The budget, in scores per user, pays for three things: controls, which are some pairs that are
    scored again; the model, which with `MODEL_SHARE` of the rest scores one candidate of each user
    in each stratum (first round) and then more in further rounds; and the audit, which scores all
    candidates of a few users. A stratum is a part of the candidates of a user, by their positions
    in the proxy's order.

    If the budget pays for all candidates, the result is the whole budget: controls are then paid
    from what is left.

    Raises
    ------
    InputError
        If the model's part does not pay for the first round.
    """
    n_users = strata.n_candidates.size
    n_candidates = strata.n_candidates.sum()
    n_paid = int(budget * n_users)
    if n_paid > n_candidates:
        _log.warning(
            f"a budget of {budget:g} scores for each of {n_users:,} users pays for all "
            f"{n_candidates:,} candidates, which are all scored: the metrics will be exact"
        )
    if n_paid >= n_candidates:
        return n_paid
    limit = n_paid - CONTROLS
    is_stratum_used = strata.sizes.any(axis=0)  # by some user
    n_first_round = n_users * np.count_nonzero(is_stratum_used)
    if MODEL_SHARE * limit < n_first_round:
        needed = np.ceil((n_first_round / MODEL_SHARE + CONTROLS) / n_users)
        raise InputError(f"budget is {budget:g}; the first round needs {needed:.0f}")
    # The audit's part, divided by the n_candidates / n_users scores of a mean full list.
    n_lists = (1.0 - MODEL_SHARE) * n_paid * n_users / n_candidates
    _log_expected_interval(n_paid, n_lists)
    return limit


def _log_expected_interval(n_paid: int, n_lists: float) -> None:
    """Log how wide intervals will be; warn if too few full lists are paid for.

    `n_lists` is the number of users with all candidates scored that the audit's part of `n_paid`
    scores pays for. Widths shrink with its square root.
    """
    rounded_lists = float(f"{n_lists:.2g}")
    percent_with_proxy = 100.0 * WIDTH_WITH_PROXY / np.sqrt(rounded_lists)
    percent_without_proxy = 100.0 * WIDTH_WITHOUT_PROXY / np.sqrt(rounded_lists)
    text = (
        f"at most {n_paid:,} scores per recommender; the audit pays for full lists of about "
        f"{rounded_lists:,g} users: expect intervals of about ±{percent_with_proxy:.0f} % of a "
        f"metric where the proxy fits, ±{percent_without_proxy:.0f} % where not"
    )
    if rounded_lists < LEAST_RANKED:
        _log.warning(f"{text}; with so few lists the result cannot tell which")
    else:
        _log.info(text)


def _score_for_model(model: Model, recommender: TimedScorer, limit: int) -> None:
    """Score all candidates if the limit allows it, else in rounds up to the model's part.

    Some of the first scores are controls: they are computed again and compared. For `limit` see
    `_limit_scores`.
    """
    counts = model.counts
    n_spare = limit - counts.n_left.sum()
    if n_spare >= 0:
        pairs = _ScoredPairs(*counts.score_next(counts.n_left))
        _warn_if_scores_change(recommender, pairs, min(CONTROLS, n_spare))
        return
    # The first round: one candidate of each user in each stratum.
    pairs = _ScoredPairs(*counts.score_next(np.minimum(1, counts.n_left)))
    _warn_if_scores_change(recommender, pairs, CONTROLS)
    model.fit(FIRST_STEPS)
    # If the orders of proxy and recommender are unrelated, the audit gets the rest of the budget.
    model.proxy_helps = does_proxy_help(counts)
    if model.proxy_helps:
        score_in_rounds(model, int(MODEL_SHARE * limit))


class _ScoredPairs(NamedTuple):
    """Pairs by running numbers of users and items, and their scores; each of shape (pairs,)."""

    users: Int
    items: Int
    scores: Float


def _warn_if_scores_change(recommender: TimedScorer, pairs: _ScoredPairs, n_controls: int) -> None:
    """Score some pairs again, in another order and with other pairs, and compare."""
    n_pairs = pairs.users.size
    rng = generator(0, "budget", "again")
    controls = rng.choice(n_pairs, min(n_controls, n_pairs), replace=False)
    again = recommender.score(pairs.users[controls], pairs.items[controls])
    n_changed = count_changed_scores(pairs.scores[controls], again, pairs.scores)
    warn_all(signs_of_changed_scores(n_changed, controls.size))


def count_changed_scores(before: Float, now: Float, scores: Float) -> int:
    """Count scores that changed by more than rounding explains; `scores` show their range."""
    finite = scores[np.isfinite(scores)]
    margin = RELATIVE_ROUNDING * (np.ptp(finite) if finite.size else 0.0)
    return int((~np.isclose(now, before, rtol=RELATIVE_ROUNDING, atol=margin)).sum())


def score_in_rounds(model: Model, total: int) -> None:
    """Score in rounds where the metrics vary most, until `total` pairs are scored in all.

    After each round the model is fitted again. The totals after the rounds grow geometrically, from
    three more scores per user to `total`, by `ROUNDS_PER_E` rounds for each factor e.
    """
    counts = model.counts
    n_users, n_strata = counts.n_scored.shape
    fewest_of_stratum = [*FIRST_BATCHES, *[BATCH] * n_strata]
    fewest = np.array(fewest_of_stratum[:n_strata])
    first_total = min(counts.total_scored + 3 * n_users, total)
    n_rounds = max(LEAST_ROUNDS, int(ROUNDS_PER_E * np.log(total / first_total)))
    totals_after_rounds = np.geomspace(first_total, total, n_rounds).astype(int)
    for total_after_round in totals_after_rounds:
        n_affordable = total_after_round - counts.total_scored
        n_more = _choose_most_informative(model, fewest, n_affordable)
        if n_more.any():
            counts.score_next(n_more)
            model.fit(ROUND_STEPS)
    model.fit(LAST_STEPS)


def _choose_most_informative(model: Model, fewest: Int, n_affordable: int) -> Int:
    """Return how many candidates to score next in each user's strata, where metrics vary most.

    Cells, each a stratum of a user, are chosen from the largest gain per score down, as long as
    `n_affordable` pays for them. A chosen cell gets as many scores as it has, but at least
    `fewest`, or all that are left in it.

    Parameters
    ----------
    model
        The model so far.
    fewest
        Least number of scores at once; shape (strata,).
    n_affordable
        Number of scores that this round may spend.

    Returns
    -------
    ndarray
        Shape (users, strata).
    """
    counts = model.counts
    gain = model.gain()
    cost_of_cell = np.minimum(np.maximum(fewest, counts.n_scored), counts.n_left).ravel()
    gain_of_cell = np.where(cost_of_cell > 0, gain.ravel(), -1.0)  # full cells come last
    best_first = np.argsort(-gain_of_cell, kind="stable")
    total_cost = np.cumsum(cost_of_cell[best_first])
    n_chosen = np.searchsorted(total_cost, n_affordable, "right")  # prefix that costs at most this
    chosen = best_first[:n_chosen]
    n_more = np.zeros_like(cost_of_cell)
    n_more[chosen] = cost_of_cell[chosen]
    return n_more.reshape(gain.shape)

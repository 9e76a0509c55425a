"""Several recommenders: how their data is read, and which of their users are the same."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np

from sampled_metrics._base.array_types import Int
from sampled_metrics._base.calls import place_of, warn_all
from sampled_metrics._base.errors import InputError, format_value
from sampled_metrics._base.units import Units
from sampled_metrics.checks.recommenders import EvaluatedData, signs_in_pair
from sampled_metrics.intervals.groups import common_users
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.read.item_counts import COUNTS, read_item_counts
from sampled_metrics.read.items import RELEVANT, SEEN, has_seen_items, read_item_table
from sampled_metrics.read.options import Reading
from sampled_metrics.read.roles import ITEM, USER
from sampled_metrics.read.tables import Table, as_table

Evaluation = TypeVar("Evaluation", Ranks, SampledRanks)
# For each pair of names, the rows of their common users in both evaluations; None without any.
CommonRows: TypeAlias = dict[tuple[str, str], tuple[Int, Int] | None]


class Paired(NamedTuple, Generic[Evaluation]):
    """Evaluations whose users have ids.

    Attributes
    ----------
    evaluations
        Ranks by name of recommender.
    common
        Rows of the common users of each pair, see `CommonRows`.
    notes
        How users are paired, or how many users of each pair have no partner.
    """

    evaluations: dict[str, Evaluation]
    common: CommonRows
    notes: list[str]


def read_recommenders(
    data: Mapping[str, object], options: Reading
) -> tuple[dict[str, SampledRanks], dict[str, Ranks]]:
    """Read all recommenders as sampled ranks, or all as ranks in full rankings.

    Returns
    -------
    samples, rankings
        Sampled ranks and ranks by name, one of which is empty.

    Raises
    ------
    InputError
        If some data is sampled and some is not, or if it cannot be read.
    """
    data = with_text_names(data)
    forms = {}
    for name, value in data.items():
        with place_of(name):
            forms[name] = _read_table(value, options)
    are_sampled = _require_one_kind(forms, options)
    if are_sampled:
        options.refuse_others("sampled ranks", "n_items", "relevant", "missing")
    else:
        _refuse_unused_options(data, options)
    shared_options = replace(options, **_read_items_once(options))
    samples = {}
    rankings = {}
    for name, form in forms.items():
        with place_of(name), place_of(data[name]):
            if are_sampled:
                samples[name] = shared_options.sampled(form)
            else:
                rankings[name] = shared_options.ranks(form)
    return samples, rankings


def _require_one_kind(forms: Mapping[str, Any], options: Reading) -> bool:
    """Return whether all rankings are sampled; raise InputError if only some are."""
    sampled = [name for name, form in forms.items() if _is_sampled(form, options)]
    full = [name for name in forms if name not in sampled]
    if sampled and full:
        raise InputError(
            f"{full[0]} has full rankings and {sampled[0]} sampled ones; pass rankings of one kind"
        )
    return bool(sampled)


def _refuse_unused_options(data: Mapping[str, object], options: Reading) -> None:
    """Raise InputError for options that do not go with full rankings, or with some of them."""
    if options.sampling is not None:
        raise InputError(
            "sampling (--sampling) is for sampled rankings, but these are full; drop it"
        )
    ranked = [name for name, value in data.items() if isinstance(value, Ranks)]
    others = [name for name in data if name not in ranked]
    if options.relevant is not None and ranked and others:
        raise InputError(
            f"relevant (--relevant) cannot be used with the Ranks of {ranked[0]}; drop it, and "
            f"pass {others[0]} as Ranks as well, such as Ranks.from_scores(scores, relevant)"
        )


def _read_items_once(options: Reading) -> dict[str, Any]:
    """Read the items and counts that all recommenders share; return options to be replaced."""
    read: dict[str, Any] = {}
    if options.counts is not None:
        read[COUNTS] = read_item_counts(options.counts)
    for name, items in ((RELEVANT, options.relevant), (SEEN, options.seen)):
        if has_seen_items(items):
            with place_of(items):
                table = read_item_table(items, name)
            if table is not None:
                read[name] = table
    return read


def _read_table(value: Any, options: Reading) -> Any:
    """Read a table, which says of which kind it is; return other data unchanged."""
    if _has_sampled_options(options) or isinstance(value, Ranks | SampledRanks):
        return value
    table = as_table(value, ranks="rank" if options.relevant is None else None)
    return value if table is None else table


def _has_sampled_options(options: Reading) -> bool:
    """Return whether an option says that data contains sampled rankings."""
    values = (options.positive, options.n_negatives, options.counts)
    return any(value is not None for value in values)


def _is_sampled(form: Any, options: Reading) -> bool:
    """Return whether data contains sampled rankings."""
    if isinstance(form, Ranks | SampledRanks):
        return isinstance(form, SampledRanks)
    if _has_sampled_options(options):
        return True
    if not isinstance(form, Table) or options.complete:
        return False
    return not form.columns.keys().isdisjoint(("sampled_rank", "label"))


def with_text_names(data: Mapping[Any, object]) -> dict[str, object]:
    """Convert whole numbers that name recommenders to text; other names raise InputError."""
    columns = [name for name in (USER, ITEM) if name in data]
    if columns:
        raise InputError(
            f"found columns, such as {columns[0]}, as names of recommenders; pass the data of each "
            "recommender by its name, {'A': data, 'B': other_data}"
        )
    named: dict[str, object] = {}
    for name, value in data.items():
        if not isinstance(name, str | int | np.integer):
            raise InputError(
                f"found {format_value(name)} as a name of a recommender; expected text"
            )
        if str(name) in named:
            raise InputError(f"found two recommenders named {format_value(str(name))}; rename one")
        named[str(name)] = value
    return named


def pair_users(evaluations: Mapping[str, Evaluation]) -> Paired[Evaluation]:
    """Find common users by their ids, or by row if some evaluation has no ids.

    In the result each evaluation has ids: numbers of rows if some evaluation had none.
    """
    _require_same_kind(evaluations)
    are_ids_missing = any(ranks.users is None for ranks in evaluations.values())
    by_row = are_ids_missing or all(ranks.n_rows for ranks in evaluations.values())
    if by_row:
        _require_same_size(evaluations)
    with_ids = dict(evaluations)
    if are_ids_missing:
        with_ids = {
            name: replace(ranks, users=np.arange(len(ranks))) for name, ranks in evaluations.items()
        }
    units = {name: _units(ranks) for name, ranks in with_ids.items()}
    common = {(a, b): common_users(units[a], units[b]) for a, b in combinations(with_ids, 2)}
    if by_row:
        notes = ["Users were paired by row (no user ids given)."]
    else:
        notes = _notes_on_dropped(units, common)
    return Paired(with_ids, common, notes)


def _notes_on_dropped(units: Mapping[str, Units], common: CommonRows) -> list[str]:
    """Write how many users of each pair have no partner; `units` are the users of each name."""
    notes = []
    for (a, b), rows in common.items():
        if rows is None:
            continue
        n_only_a = len(units[a]) - rows[0].size
        n_only_b = len(units[b]) - rows[1].size
        if n_only_a or n_only_b:
            notes.append(
                f"{a}, {b}: {n_only_a:,} users of {a} and {n_only_b:,} of {b} are dropped."
            )
    return notes


def _require_same_kind(evaluations: Mapping[str, Ranks | SampledRanks]) -> None:
    """Raise InputError if some evaluations have visits and others have none."""
    with_visits = {name for name, ranks in evaluations.items() if ranks.visits is not None}
    others = [name for name in evaluations if name not in with_visits]
    if with_visits and others:
        raise InputError(
            f"{min(with_visits)} has ids of visits and {others[0]} has none; pass visit ids, "
            "in a column visit_id or as visits=, for all or for none"
        )


def _require_same_size(evaluations: Mapping[str, Ranks | SampledRanks]) -> None:
    """Raise InputError if evaluations without ids of users differ in length."""
    sizes = {name: ranks.n_rows or len(ranks) for name, ranks in evaluations.items()}
    few = min(sizes, key=sizes.__getitem__)
    many = max(sizes, key=sizes.__getitem__)
    if sizes[few] != sizes[many]:
        raise InputError(
            f"{few} has {sizes[few]:,} users and {many} {sizes[many]:,}, without ids to pair them; "
            "pass ids by users= (sm.rank, sm.Ranks, sm.SampledRanks) or in a column user_id"
        )


def _units(ranks: Ranks | SampledRanks) -> Units:
    """Return each user once, or each visit if users have several."""
    units = ranks.different_units()[0] if isinstance(ranks, SampledRanks) else ranks.units
    return Units(np.arange(len(ranks))) if units is None else units


def warn_about_pairs(paired: Paired[Evaluation]) -> None:
    """Warn about pairs that are probably not evaluated on the same data."""
    evaluated = {name: _data_of(name, ranks) for name, ranks in paired.evaluations.items()}
    for (a, b), rows in paired.common.items():
        warn_all(signs_in_pair(evaluated[a], evaluated[b], rows))


def _data_of(name: str, ranks: Ranks | SampledRanks) -> EvaluatedData:
    """Return what is compared of two evaluations."""
    return EvaluatedData(
        name=name,
        units=_units(ranks),
        n_candidates=_candidates_by_user(ranks),
        mean_candidates=ranks.mean_candidates,
        ranks=_rank_columns(ranks),
    )


def _candidates_by_user(ranks: Ranks | SampledRanks) -> Int | None:
    """Return the number of candidates of each different user; None if one holds for all users."""
    if isinstance(ranks, Ranks):
        return ranks.n_candidates
    if not ranks.n_items.ndim:
        return None
    _, user = ranks.different_units()
    _, first = np.unique(user, return_index=True)
    return ranks.n_items[first]


def _rank_columns(ranks: Ranks | SampledRanks) -> list[Int]:
    """Return the arrays that are equal for equal ranks."""
    if isinstance(ranks, SampledRanks):
        return [ranks.sampled_ranks]
    return [ranks.n_found, ranks.n_better, ranks.n_tied]

"""Roles of the columns of tables, and the names by which each role is recognised.

The argument `columns` of public functions assigns roles to other names, see `Call.columns`.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from sampled_metrics._base.calls import current_call
from sampled_metrics._base.errors import InputError, format_value

NamesByRole: TypeAlias = Mapping[str, str] | None
USER, ITEM, VISIT = "user_id", "item_id", "visit_id"
TYPE_SUFFIX = re.compile(r":(token|float)(_seq)?\Z")  # RecBole adds the type of a column


class Role(NamedTuple):
    """What a column contains, and its names in other libraries.

    Aliases are in lower case without separators; of several in a table the first one counts.
    """

    holds: str
    aliases: tuple[str, ...] = ()


ROLES: Mapping[str, Role] = {
    USER: Role(
        "id of the user, or of the query",
        (
            *("user", "userid", "uid", "useridx", "qid", "queryid", "customerid", "visitorid"),
            *("reviewerid", "indexes", "query"),
        ),
    ),
    ITEM: Role(
        "id of the item",
        (
            *("item", "itemid", "iid", "itemidx", "movie", "movieid", "docid", "docno"),
            *("corpusid", "asin", "parentasin", "videoid", "articleid", "newsid", "trackid"),
            *("songid", "productid", "businessid", "pid"),
        ),
    ),
    "rank": Role("place, 1 is best"),
    "score": Role(
        "score, higher is better",
        ("prediction", "predictions", "pred", "preds", "est", "logit", "logits", "rating"),
    ),
    "label": Role(
        "1 of relevant items, 0 of others",
        ("clicked", "target", "relevant", "isrelevant", "rel"),
    ),
    "relevance": Role("grade of a relevant item"),
    VISIT: Role(
        "id of a visit of a user, such as a session, whose rows belong together",
        (
            *("visit", "session", "sessionid", "impression", "impressionid", "request"),
            *("requestid", "row", "rowid"),
        ),
    ),
    "n_candidates": Role("items of the full ranking"),
    "n_better": Role("candidates above a relevant item"),
    "n_tied": Role("other candidates with the score of a relevant item"),
    "depth": Role("where a ranking ends; relevant items below it have n_better = depth"),
    "sampled_rank": Role("place among the held-out item and its negatives"),
    "repetition": Role("number of a draw of negatives"),
    "n_negatives": Role("negatives of the row"),
    "sampling": Role("how negatives were drawn"),
}
KNOWN_COLUMNS = tuple(ROLES)
# With one of these columns, no column of another name is taken as the score.
_ORDER_COLUMNS = {"score", "rank", "sampledrank", "nbetter", "relevance"}


def normalise_name(name: str) -> str:
    """Return a name in lower case, without separators and without the type that RecBole adds."""
    return re.sub(r"[-_ ]", "", TYPE_SUFFIX.sub("", name.strip()).lower())


def find_roles(names: Sequence[str], roles: Sequence[str] = KNOWN_COLUMNS) -> list[str | None]:
    """Return the role of each column, None for an unknown name.

    Names that the caller assigned by `columns` come first, then the names of this package, then
    their aliases in other libraries. Only `roles` are looked for; several columns of aliases may
    have the role of the user or of the item.

    Examples
    --------
    >>> find_roles(["UserId", "parent_asin", "rank", "title"])
    ['user_id', 'item_id', 'rank', None]
    """
    normalised = [normalise_name(name) for name in names]
    found = _own_roles(names, normalised, roles)
    has_order = not _ORDER_COLUMNS.isdisjoint(normalised)
    for role in ROLES:
        is_superfluous = role == "score" and has_order
        if role in found or role not in roles or is_superfluous:
            continue
        positions = _positions_of_aliases(role, normalised)
        may_repeat = role in (USER, ITEM)  # which is an error of its own
        for position in positions if may_repeat else positions[:1]:
            if found[position] is None and not is_no_id(names[position], names):
                found[position] = role
    return found


def _own_roles(
    names: Sequence[str], normalised: Sequence[str], roles: Sequence[str]
) -> list[str | None]:
    """Return the role of each column that the caller assigned, or that is the name of a role.

    A column is not read by its name if the caller assigned its role to another one.
    """
    assigned = _assigned_roles(names, roles)
    role_by_name = {normalise_name(role): role for role in roles if role not in assigned.values()}
    return [
        assigned.get(name, role_by_name.get(normalised_name))
        for name, normalised_name in zip(names, normalised, strict=True)
    ]


def _positions_of_aliases(role: str, normalised: Sequence[str]) -> list[int]:
    """Return the positions of the columns whose names are aliases of a role, in their order."""
    return [
        position
        for alias in ROLES[role].aliases
        for position, name in enumerate(normalised)
        if name == alias
    ]


def is_no_id(name: str, names: Sequence[str]) -> bool:
    """Return whether a column that is named like an id is none, as another column is the id.

    These are PyTerrier's docid, an internal number beside docno; and the text of a query, beside
    its id.
    """
    names_of_ids = {"docid": {"docno"}, "query": {*ROLES[USER].aliases} - {"query"}}
    better_names = names_of_ids.get(normalise_name(name), set())
    return not better_names.isdisjoint(map(normalise_name, names))


def record_names(names: Sequence[str]) -> None:
    """Record the names of the columns of a table that is read, which `columns` may assign."""
    assigned = current_call().columns
    if assigned is not None:
        assigned.read_names.update(dict.fromkeys(names))


def check_roles(columns: object) -> dict[str, str]:
    """Return the role of each name in the argument `columns` of a public function.

    Examples
    --------
    >>> check_roles({"item": "code"})
    {'code': 'item_id'}
    """
    if not isinstance(columns, Mapping):
        raise InputError(
            f"columns are {format_value(columns)}; expected names by role, {{'item': 'docno'}}"
        )
    role_by_name: dict[str, str] = {}
    for noun, name in columns.items():
        role = _role_named(noun) if isinstance(name, str) else None
        if role is None:
            nouns = ", ".join(each.removesuffix("_id") for each in ROLES)
            raise InputError(
                f"columns (--column) have {format_value(noun)}: {format_value(name)}; expected the "
                f"name of a column for one of the roles {nouns}"
            )
        if role_by_name.setdefault(name, role) != role:
            raise InputError(
                f"columns (--column) name {format_value(name)} for two roles; pass one"
            )
    return role_by_name


def _role_named(noun: object) -> str | None:
    """Return the role of which a noun, such as item, is the name or an alias; None without one."""
    if not isinstance(noun, str):
        return None
    return next((role for role in ROLES if normalise_name(noun) in _all_names(role)), None)


def _all_names(role: str) -> tuple[str, ...]:
    return (normalise_name(role), *ROLES[role].aliases)


def assigned_position(names: Sequence[str], role: str) -> int | None:
    """Return the position of the column that the caller assigned to a role, None without one."""
    assigned = _assigned_roles(names, (role,))
    return next((position for position, name in enumerate(names) if name in assigned), None)


def _assigned_roles(names: Sequence[str], roles: Sequence[str]) -> dict[str, str]:
    """Return the roles that the caller assigned to some of the columns."""
    assigned = current_call().columns
    if assigned is None:
        return {}
    return {
        name: role
        for name, role in assigned.role_by_name.items()
        if name in names and role in roles
    }

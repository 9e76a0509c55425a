"""Roles of the columns of tables, and the names under which they are known.

Other names are given with their roles by `columns`, which the tables of a call are then read with.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeAlias

from sampled_metrics._base.errors import InputError, format_value

NamesByRole: TypeAlias = Mapping[str, str] | None
USER, ITEM, VISIT = "user_id", "item_id", "visit_id"
TYPE_SUFFIX = re.compile(r":(token|float)(_seq)?\Z")  # RecBole adds it to the name of a column


class Role(NamedTuple):
    """What a column holds, and its names in other libraries."""

    holds: str
    aliases: tuple[str, ...] = ()  # in lower case without separators; the first there is taken


ROLES: Mapping[str, Role] = {
    USER: Role(
        "id of the user, or of the query",
        (
            *("user", "userid", "uid", "useridx", "qid", "queryid", "customerid", "visitorid"),
            *("reviewerid",),
        ),
    ),
    ITEM: Role(
        "id of the item",
        (
            *("item", "itemid", "iid", "itemidx", "movie", "movieid", "docid", "docno"),
            *("corpusid", "asin", "parentasin", "videoid", "articleid", "newsid", "trackid"),
            *("songid", "productid", "businessid"),
        ),
    ),
    "rank": Role("place, 1 is best"),
    "score": Role(
        "score, higher is better",
        ("prediction", "predictions", "pred", "est", "logit", "logits", "rating"),
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
    "sampled_rank": Role("place among the held-out item and its negatives"),
    "repetition": Role("number of a draw of negatives"),
    "n_negatives": Role("negatives of the row"),
    "sampling": Role("how negatives were drawn"),
}
KNOWN_COLUMNS = tuple(ROLES)
_MAX_NAMES_LENGTH = 200  # characters of names in a message
_ORDER_COLUMNS = {"score", "rank", "sampledrank", "nbetter", "relevance"}  # nothing else is a score


def normalise_name(name: str) -> str:
    """Return a name in lower case, without separators and the type that RecBole adds."""
    return re.sub(r"[-_ ]", "", TYPE_SUFFIX.sub("", name.strip()).lower())


def find_roles(names: Sequence[str], columns: Sequence[str] = KNOWN_COLUMNS) -> list[str | None]:
    """Return the names of columns here, None where none is known; own names come first.

    Examples
    --------
    >>> find_roles(["UserId", "parent_asin", "rank", "title"])
    ['user_id', 'item_id', 'rank', None]
    """
    bare = [normalise_name(name) for name in names]
    own = {normalise_name(column): column for column in columns}
    found = [own.get(name) for name in bare]
    named = _named_roles(names, columns)
    if named:
        found = [None if role in named.values() else role for role in found]
        for place, name in enumerate(names):
            found[place] = named.get(name, found[place])
    has_order = not _ORDER_COLUMNS.isdisjoint(bare)
    for column, role in ROLES.items():
        if column in found or column not in columns or (column == "score" and has_order):
            continue
        places = [
            place for alias in role.aliases for place, name in enumerate(bare) if name == alias
        ]
        if column not in (USER, ITEM):
            places = places[:1]
        for place in places:
            if found[place] is None and not is_internal_docid(names[place], names):
                found[place] = column
    return found


def is_internal_docid(name: str, names: Sequence[str]) -> bool:
    """Return whether a column is PyTerrier's docid, an internal number beside the id docno."""
    return normalise_name(name) == "docid" and "docno" in map(normalise_name, names)


class _ColumnNaming:
    """Roles that the caller names, and the names of the columns of the tables that are read."""

    def __init__(self, roles: Mapping[str, str]) -> None:
        self.roles = roles  # by the name of a column
        self.names: dict[str, None] = {}


_naming: ContextVar[_ColumnNaming | None] = ContextVar("naming", default=None)


@contextmanager
def naming(columns: NamesByRole) -> Iterator[None]:
    """Read tables with the names that a caller gives to the columns of some roles.

    Raises InputError in the end for a name that no table has. None changes nothing.

    Examples
    --------
    >>> with naming({"item": "code"}):
    ...     record_names(["code", "user"])
    ...     find_roles(["code", "user"])
    ['item_id', 'user_id']
    """
    if columns is None:
        yield
        return
    names = _ColumnNaming(_check_roles(columns))
    token = _naming.set(names)
    try:
        yield
    finally:
        _naming.reset(token)
    for name in names.roles:
        if name not in names.names:
            found = ", ".join(names.names) or "no table"
            raise InputError(
                f"columns (--column) name {format_value(name)}; found {found[:_MAX_NAMES_LENGTH]}"
            )


def record_names(names: Sequence[str]) -> None:
    """Remember the names of the columns of a table that is read."""
    current = _naming.get()
    if current is not None:
        current.names.update(dict.fromkeys(names))


def _check_roles(columns: object) -> dict[str, str]:
    """Return the role of each name that a caller gives."""
    if not isinstance(columns, Mapping):
        found = format_value(columns)
        raise InputError(f"columns are {found}; expected names by role, {{'item': 'docno'}}")
    roles: dict[str, str] = {}
    for role, name in columns.items():
        known = None
        if isinstance(role, str) and isinstance(name, str):
            known = next(
                (own for own in ROLES if normalise_name(role) in _accepted_names(own)), None
            )
        if known is None:
            short = [own.removesuffix("_id") for own in ROLES]
            raise InputError(
                f"columns (--column) have {format_value(role)}: {format_value(name)}; expected the "
                f"name of a column for one of the roles {', '.join(short)}"
            )
        if roles.setdefault(name, known) != known:
            raise InputError(
                f"columns (--column) name {format_value(name)} for two roles; give one"
            )
    return roles


def _accepted_names(own: str) -> tuple[str, ...]:
    return (normalise_name(own), *ROLES[own].aliases)


def named_position(names: Sequence[str], role: str) -> int | None:
    """Return the place of a column that a caller names for a role, None without one."""
    named = _named_roles(names, (role,))
    return next((place for place, name in enumerate(names) if name in named), None)


def _named_roles(names: Sequence[str], columns: Sequence[str]) -> dict[str, str]:
    """Return the roles that a caller names for some of the columns."""
    current = _naming.get()
    if current is None:
        return {}
    return {name: role for name, role in current.roles.items() if name in names and role in columns}

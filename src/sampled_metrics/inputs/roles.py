"""Roles of the columns of tables, and the names under which they are known."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

USER, ITEM, VISIT = "user_id", "item_id", "visit_id"
TYPE = re.compile(r":(token|float)(_seq)?\Z")  # RecBole adds it to the name of a column


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
KNOWN = tuple(ROLES)
_ORDERED = {"score", "rank", "sampledrank", "nbetter", "relevance"}  # nothing else is a score


def bare_name(name: str) -> str:
    """Return a name in lower case, without separators and the type that RecBole adds."""
    return re.sub(r"[-_ ]", "", TYPE.sub("", name.strip()).lower())


def known_names(names: Sequence[str], columns: Sequence[str] = KNOWN) -> list[str | None]:
    """Return the names of columns here, None where none is known; own names come first.

    Examples
    --------
    >>> known_names(["UserId", "parent_asin", "rank", "title"])
    ['user_id', 'item_id', 'rank', None]
    """
    bare = [bare_name(name) for name in names]
    own = {bare_name(column): column for column in columns}
    found = [own.get(name) for name in bare]
    has_order = not _ORDERED.isdisjoint(bare)
    for column, role in ROLES.items():
        if column in found or column not in columns or (column == "score" and has_order):
            continue
        places = [
            place for alias in role.aliases for place, name in enumerate(bare) if name == alias
        ]
        if column not in (USER, ITEM):
            places = places[:1]
        for place in places:
            found[place] = column
    return found

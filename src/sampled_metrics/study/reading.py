"""Reading the ranks of one held-out item per user, and where they come from."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sampled_metrics._base.errors import InputError, reading
from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.data import as_ranks


def read_single(path: Path) -> Ranks:
    """Read ranks of one held-out item per user, fully ranked; anything else raises InputError."""
    ranks = as_ranks(path)
    with reading(path):
        return ranks.single()


def read_by_name(paths: Sequence[Path]) -> dict[str, Ranks]:
    """Read one relevant item per user from several files, named by their stems."""
    names = [path.stem for path in paths]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"duplicate recommender: {name}")
    found = {path.stem: read_single(path) for path in paths}
    for path in paths:
        first = len(found[names[0]])
        here = len(found[path.stem])
        if here != first:
            raise InputError(f"{here} users, but {paths[0].name} has {first}", path=path)
    return found


def fewest_candidates(records: Mapping[str, Ranks]) -> int:
    """Return the least number of candidates that a user of any recommender has."""
    return min(int(ranks.n_candidates.min()) for ranks in records.values())


def sources(texts: Iterable[str]) -> str:
    """Join the sources of several ranks, each once, with semicolons."""
    parts = (part for text in sorted(set(texts)) for part in text.split("; "))
    return "; ".join(dict.fromkeys(parts))

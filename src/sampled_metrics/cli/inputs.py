"""Files of ranks as the commands need them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sampled_metrics._base.errors import InputError, reading

if TYPE_CHECKING:
    from sampled_metrics.inference.population import Population
    from sampled_metrics.ranks import Ranks

_UNIFORM = "uniform"


def full_ranking(ranks: "Ranks", path: Path, n_negatives: int = 1) -> "Ranks":
    """Return ranks read from a file if each user has one item among more than m candidates."""
    with reading(path):
        single = ranks.single()
        few = single.n_candidates <= n_negatives
        if few.any():
            raise InputError(
                f"a ranking has {int(single.n_candidates[few].min())} candidates; "
                f"{n_negatives} negatives need more"
            )
        return single


def item_by_item(ranks: "Ranks", path: Path, n_negatives: int) -> "Ranks":
    """Return ranks read from a file with each held-out item as a user of its own."""
    import numpy as np

    from sampled_metrics.ranks import Ranks

    whole = ranks.ungraded
    if whole.is_complete and not whole.is_single:
        n_candidates = np.repeat(whole.n_candidates, whole.n_found)
        whole = Ranks.trusted(n_candidates, whole.n_better, whole.n_tied, source=whole.source)
    return full_ranking(whole, path, n_negatives)


def population(text: str | None, n: int, n_negatives: int) -> "Population | None":
    """Read the distribution of true ranks that a bias is stated for."""
    from sampled_metrics.inference.population import Population
    from sampled_metrics.ranks import Ranks

    if text is None:
        return None
    if text == _UNIFORM:
        return Population.uniform(n)
    path = Path(text)
    try:
        ranks = Ranks.read(path)
    except InputError:  # plain ranks do not say among how many items
        ranks = Ranks.read(path, n_items=n)
    return Population.of_users(full_ranking(ranks, path, n_negatives))


def names(paths: Sequence[Path]) -> list[str]:
    """Call files by their stems, or by their whole names if two have the same stem."""
    duplicate = next((path for path in paths if paths.count(path) > 1), None)
    if duplicate is not None:
        raise InputError("the same file twice; give different ones", path=duplicate)
    stems = [path.stem for path in paths]
    return stems if len(set(stems)) == len(stems) else list(map(str, paths))


@contextmanager
def naming_files(called: Sequence[str], paths: Sequence[Path]) -> Iterator[None]:
    """Name the files of recommenders in errors, not what the recommenders are called."""
    try:
        yield
    except InputError as error:
        error.path = dict(zip(called, paths, strict=True)).get(str(error.path), error.path)
        raise

"""Files and options of the commands, turned into what the library takes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sampled_metrics._base.errors import InputError

if TYPE_CHECKING:
    from sampled_metrics.inference.population import Population
    from sampled_metrics.inference.sampled_evaluation import SampledRanks
    from sampled_metrics.ranks import Ranks

UNIFORM = "uniform"


@contextmanager
def errors_of(*paths: Path) -> Iterator[None]:
    """Name the files in errors that say what is wrong with what was read from them."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{' and '.join(map(str, paths))}: {error}") from error


def ranking(
    path: Path, n_items: int | None, relevant: Path | None = None, seen: Path | None = None
) -> "Ranks":
    """Read full rankings, or lists cut somewhere."""
    from sampled_metrics.ranks import Ranks

    return Ranks.read(path, n_items=n_items, relevant=relevant, seen=seen)


def sampled(
    path: Path, n_negatives: int, n_items: int | None, sampling: str, per_user: bool
) -> "SampledRanks":
    """Read sampled ranks; a column `n_candidates` prevails over `n_items`."""
    from sampled_metrics.inference.sampled_evaluation import SampledRanks

    return SampledRanks.read(path, n_negatives, n_items, sampling, per_user=per_user)


def records(path: Path, ranking: "Ranks", n_negatives: int = 1) -> "Ranks":
    """Take what was read as full rankings with more candidates than negatives."""
    with errors_of(path):
        found = ranking.single()
        few = found.n_candidates <= n_negatives
        if few.any():
            raise InputError(
                f"{int(found.n_candidates[few].min())} candidates in a ranking; allowed: more than "
                f"the {n_negatives} negatives"
            )
        return found


def population(text: str | None, n: int, n_negatives: int) -> "Population | None":
    """Read the distribution of true ranks that a bias is stated for."""
    from sampled_metrics.inference.population import Population

    if text is None:
        return None
    if text == UNIFORM:
        return Population.uniform(n)
    return Population.of_users(records(Path(text), ranking(Path(text), n), n_negatives))


def names(paths: Sequence[Path]) -> list[str]:
    """Call files by their stems, or by their whole names where two have the same.

    Raises
    ------
    InputError
        A file is given twice.
    """
    twice = [path for path in paths if paths.count(path) > 1]
    if twice:
        raise InputError(f"{twice[0]} is given twice; allowed: different files")
    stems = [path.stem for path in paths]
    return stems if len(set(stems)) == len(stems) else list(map(str, paths))

"""Files and options of the commands, turned into what the library takes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sampled_metrics._base.errors import InputError

if TYPE_CHECKING:
    from sampled_metrics.inference.population import Population
    from sampled_metrics.inference.sampled_evaluation import SampledRanks
    from sampled_metrics.ranks.reading import Ranking
    from sampled_metrics.ranks.records import Ranks

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
) -> "Ranking":
    """Read full rankings, or lists cut somewhere."""
    from sampled_metrics.ranks.reading import read_ranking

    return read_ranking(path, n_items=n_items, relevant=relevant, seen=seen)


def sampled(
    path: Path, n_negatives: int, n_items: int | None, sampling: str, per_user: bool
) -> "SampledRanks":
    """Read sampled ranks; a column `n_candidates` prevails over `n_items`."""
    from sampled_metrics.inference.sampled_evaluation import SampledRanks
    from sampled_metrics.ranks.sampled_tables import read_sampled_ranks

    found = read_sampled_ranks(path, n_negatives, n_items)
    if found.n_candidates is None:
        raise InputError(
            f"--n-items is missing, and {path} has no column n_candidates; it is the number of "
            "candidates of a full ranking, the held-out item included"
        )
    if found.repetition is not None and found.user_ids is None:
        raise InputError(
            f"{path}: found a column repetition but no user_id; allowed: both, so that the rows of "
            "a user are not taken for several users"
        )
    with errors_of(path):
        return SampledRanks(
            found.rank, found.n_candidates, n_negatives, sampling, found.user_ids, per_user
        )


def records(path: Path, ranking: "Ranking", n_negatives: int = 1) -> "Ranks":
    """Take what was read as full rankings with more candidates than negatives."""
    with errors_of(path):
        found = ranking.ranks.records()
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

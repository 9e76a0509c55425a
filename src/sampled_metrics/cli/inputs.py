"""Files of ranks as the commands need them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sampled_metrics._base.errors import InputError, reading
from sampled_metrics.cli.options import ASSUMED
from sampled_metrics.cli.output import Format

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sampled_metrics.inference.compare import Compared
    from sampled_metrics.inference.population import Population
    from sampled_metrics.ranks import Ranks, SampledRanks

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


def population(text: str | None, n: int, n_negatives: int) -> "Population | None":
    """Read the distribution of true ranks that a bias is stated for."""
    from sampled_metrics.inference.population import Population
    from sampled_metrics.ranks import Ranks

    if text is None:
        return None
    if text == _UNIFORM:
        return Population.uniform(n)
    path = Path(text)
    return Population.of_users(full_ranking(Ranks.read(path, n_items=n), path, n_negatives))


def names(paths: Sequence[Path]) -> list[str]:
    """Call files by their stems, or by their whole names if two have the same stem."""
    duplicate = next((path for path in paths if paths.count(path) > 1), None)
    if duplicate is not None:
        raise InputError("the same file twice; give different ones", path=duplicate)
    stems = [path.stem for path in paths]
    return stems if len(set(stems)) == len(stems) else list(map(str, paths))


def sampled_notes(
    results: "Sequence[Compared]",
    samples: "Mapping[str, SampledRanks]",
    shape: str,
    confidence: float,
    form: Format,
) -> list[str]:
    """Put the comparisons of sampled ranks in words: a paragraph for each pair and metric."""
    from sampled_metrics.inference.advice import advice
    from sampled_metrics.inference.verdict import estimate_says

    if form is not Format.TABLE:
        return []
    lines: list[str] = []
    seen: set[tuple[str, str, str]] = set()
    for result in results:
        pair = (result.a, result.b, result.metric)
        if pair not in seen:
            seen.add(pair)
            headline = result.verdict.partition("; ")[0]
            lines.append(f"{result.a}, {result.b}, {result.metric}: {headline}")
            if result.order == "undecided":
                lines.append(f"  {advice(result, samples, shape, confidence)}")
        if result.order == "undecided":
            lines.append(f"  {result.estimator}: {estimate_says(result)}")
    return [*lines, "", f"order: of the exact metrics, {100 * confidence:g} %, {ASSUMED[shape]}."]

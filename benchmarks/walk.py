"""Count the moves between files that one call makes: what a reader of it has to follow.

A move is a call from a function in one file of the package into a function in another, of which the
same pair is counted once. Moves until the ranks of the data are there are also counted apart, and
files that the call comes back to after it has been in others.

    python benchmarks/walk.py            the numbers
    python benchmarks/walk.py lists      also the moves of one call
"""

import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from inspect import CO_GENERATOR
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
from typer.testing import CliRunner

import sampled_metrics as sm
from sampled_metrics.cli import app

PACKAGE = Path(sm.__file__).parent
READERS = {"as_ranks", "as_sampled"}  # functions that return the ranks of data
USERS, ITEMS, LENGTH = 60, 80, 20


class Place(NamedTuple):
    """A function of the package."""

    file: str
    function: str


def place_of(frame: FrameType | None) -> Place | None:
    """Return the innermost function of the package that is running."""
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PACKAGE):
            return Place(str(path.relative_to(PACKAGE)), frame.f_code.co_qualname)
        frame = frame.f_back
    return None


def moves(call: Callable[[], object]) -> tuple[list[tuple[Place, Place]], int]:
    """Return the different moves of a call in order, and how many there are until it has ranks.

    The call is made twice, because the first one loads modules.
    """
    call()
    found: dict[tuple[Place, Place], None] = {}
    until_ranks = 0

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal until_ranks
        if event == "return" and frame.f_code.co_name in READERS:
            until_ranks = len(found)
        is_new = event == "call" and not frame.f_code.co_flags & CO_GENERATOR
        if not is_new or not frame.f_code.co_filename.startswith(str(PACKAGE)):
            return
        here = place_of(frame)
        before = place_of(frame.f_back)
        if here is not None and before is not None and here.file != before.file:
            found[before, here] = None

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(found), until_ranks


def write(path: Path, header: str, *columns: Any) -> str:
    """Write columns as CSV and return the name of the file."""
    rows = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    return str(path)


def calls(folder: Path) -> dict[str, Callable[[], object]]:
    """Return the calls whose moves are counted."""
    rng = np.random.default_rng(0)
    held_out = rng.integers(0, ITEMS, USERS)
    scores = rng.normal(size=(USERS, ITEMS))
    scores[np.arange(USERS), held_out] += 1.5
    best = np.argsort(-scores, axis=1)[:, :LENGTH]
    user = np.arange(USERS)
    own = np.repeat(user, LENGTH)
    lists = write(
        folder / "lists.csv", "user_id,item_id,score", own, best.ravel(), scores[own, best.ravel()]
    )
    test = write(folder / "test.csv", "user_id,item_id", user, held_out)
    sampled_ranks = 1 + rng.binomial(50, rng.beta(0.3, 2.0, USERS))
    samples = write(
        folder / "samples.csv",
        "user_id,n_candidates,n_negatives,sampled_rank",
        user,
        np.full(USERS, 1000),
        np.full(USERS, 50),
        sampled_ranks,
    )
    negatives = rng.normal(size=(USERS, LENGTH))
    among = np.column_stack([rng.normal(1.0, size=USERS), negatives])
    label = np.tile([1, *LENGTH * [0]], USERS)
    rows = np.repeat(user, LENGTH + 1)
    pairs = write(folder / "pairs.csv", "user_id,score,label", rows, among.ravel(), label)
    ranks = sm.rank(scores, None, held_out)
    return {
        "Ranks": lambda: sm.evaluate(ranks, "recall@10"),
        "array": lambda: sm.evaluate(scores, "recall@10", relevant=held_out),
        "lists": lambda: sm.evaluate(lists, "recall@10", relevant=test, n_items=ITEMS),
        "samples": lambda: sm.correct(samples, "recall@10"),
        "command": lambda: run("correct", pairs, "--n-items=1000", "--metric=recall@10"),
    }


def run(*arguments: str) -> None:
    """Run a command in this process, without showing what it prints."""
    CliRunner().invoke(app, arguments, catch_exceptions=False)


def main() -> None:
    """Print the numbers of moves and of files, and the moves of the calls that are named."""
    warnings.simplefilter("ignore", sm.InputWarning)
    with tempfile.TemporaryDirectory() as folder:
        for name, call in calls(Path(folder)).items():
            found, until_ranks = moves(call)
            files = Counter(after.file for _, after in found)
            again = sum(visits > 1 for visits in files.values())
            print(
                f"{name}: {until_ranks} moves to its ranks, {len(found)} in all, "
                f"{len(files)} files, {again} of them again"
            )
            if name in sys.argv[1:]:
                for before, after in found:
                    print(f"    {before.file} {before.function} -> {after.file} {after.function}")


if __name__ == "__main__":
    main()

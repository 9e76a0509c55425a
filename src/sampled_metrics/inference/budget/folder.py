"""An evaluation on a budget whose scores come as files: its state, kept in a folder.

The folder holds the problem and the proxies as they were at the start, and in `state.npz` the
scores told so far with the pairs that wait for theirs. Each file is written as a whole, so an
interrupted step leaves the state before it or the one after it.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.defaults import BUDGET, CONFIDENCE
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics._base.files import read_arrays, read_json, replacing, write_json
from sampled_metrics._base.settings import Settings as Model
from sampled_metrics.inference.budget.evaluation import Batch, Settings
from sampled_metrics.inference.budget.problem import Problem
from sampled_metrics.inference.budget.proxy_files import keep_proxy, kept_proxy
from sampled_metrics.inference.budget.result import BudgetResult
from sampled_metrics.inference.budget.session import Answers, Prepared, Session
from sampled_metrics.inference.budget.told import Asked
from sampled_metrics.inference.budget.values import parse_metrics

SETTINGS, PROBLEM, STATE = "evaluation.json", "problem.npz", "state.npz"
_PAIRS = tuple(f"pending_{name}" for name in Batch._fields)


class Options(Model):
    """What an evaluation depends on besides its data, its proxies and the scores."""

    names: Annotated[list[str], Field(min_length=1)]
    metrics: list[str]
    budget: Annotated[float, Field(gt=0.0)] = BUDGET
    method: Literal["adaptive", "scan"] = "adaptive"
    confidence: Annotated[float, Field(gt=0.0, lt=1.0)] = CONFIDENCE
    seed: Annotated[int, Field(ge=0)] = 0
    until_decided: bool = False
    half_width: Annotated[float, Field(gt=0.0)] | None = None

    def settings(self) -> Settings:
        """Return the options that the method itself takes."""
        return Settings(
            tuple(self.names),
            parse_metrics(self.metrics),
            self.budget,
            self.method,
            self.confidence,
            self.until_decided,
            self.half_width,
        )


class _Record(Model):
    """What is written down at the start."""

    options: Options
    proxies: list[str]
    checksums: dict[str, str]


class Folder:
    """The folder of an evaluation.

    Attributes
    ----------
    options, problem
        As given to `create`.
    answers
        Scores told so far.
    n_held_out
        How many of them are of held-out items, which do not count against the budget.
    pending
        Pairs that wait for scores; None when the evaluation is complete.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if not (path / SETTINGS).is_file():
            problem = "no evaluation on a budget; `sampled-metrics budget start` makes one"
            raise InputError(problem, path=path)
        self._record = _Record.of(read_json(path / SETTINGS), str(path / SETTINGS))
        self.options = self._record.options
        for name, checksum in self._record.checksums.items():
            if not (path / name).is_file() or _checksum(path / name) != checksum:
                raise InputError("missing or changed since the start; start anew", path=path / name)
        self.problem = Problem.load(path / PROBLEM)
        self.answers, self.n_held_out, self.pending = _read_state(path / STATE)

    @classmethod
    def create(
        cls, path: Path, problem: Problem, proxies: Sequence[str | Path], options: Options
    ) -> "Folder":
        """Make the folder of a new evaluation, all or nothing.

        Proxies are `popularity`, `als` or files, see `proxy_files`; of several, a pilot takes one.
        """
        with _creating(path) as folder:
            problem.write(folder / PROBLEM)
            names = [
                keep_proxy(proxy, number, problem, options.seed, folder)
                for number, proxy in enumerate(proxies)
            ]
            kept = sorted(one.name for one in folder.iterdir())
            record = _Record(
                options=options,
                proxies=names,
                checksums={name: _checksum(folder / name) for name in kept},
            )
            write_json(folder / SETTINGS, record.model_dump())
            session = Session(_prepared(folder, problem, record), options.settings())
            _write_state(folder / STATE, session, 0)
        return cls(path)

    @property
    def asked(self) -> Asked:
        """The pairs of this round."""
        if self.pending is None:
            raise InputError(
                "complete: no scores are wanted; `budget result` prints the result", path=self.path
            )
        return Asked(self.pending, self.problem, tuple(self.options.names))

    @property
    def n_told(self) -> int:
        """Scores told so far that count against the budget."""
        return sum(scores.size for scores in self.answers.scores) - self.n_held_out

    @property
    def n_allowed(self) -> int:
        """Scores that the budget allows, of all recommenders together."""
        candidates = int(self.problem.candidates().n_others.sum())
        budget = int(self.options.budget * self.problem.user_ids.size)
        return min(budget, candidates) * len(self.options.names)

    def tell(self, paths: Sequence[Path]) -> Session:
        """Take the scores of the pairs asked from files; return the evaluation so far."""
        asked = self.asked
        scores = asked.scores(paths)
        session = self._session()
        session.tell(scores)
        n_held_out = self.n_held_out + asked.n_held_out
        _write_state(self.path / STATE, session, n_held_out)
        self.answers, self.n_held_out, self.pending = session.answers, n_held_out, session.ask()
        return session

    def result(self) -> BudgetResult:
        """Return the result of a complete evaluation."""
        if self.pending is not None:
            raise InputError(
                f"not complete: {self.pending.users.size:,} pairs wait for scores; `budget ask` "
                "writes them",
                path=self.path,
            )
        return self._session().finished()

    def _session(self) -> Session:
        prepared = _prepared(self.path, self.problem, self._record)
        with reading(self.path / STATE):
            return Session(prepared, self.options.settings(), self.answers)


def _prepared(folder: Path, problem: Problem, record: _Record) -> Prepared:
    proxies = tuple(
        kept_proxy(name, number, problem, folder) for number, name in enumerate(record.proxies)
    )
    return Prepared(problem.candidates(), proxies, record.options.seed)


def _write_state(path: Path, session: Session, n_held_out: int) -> None:
    arrays: dict[str, Any] = {f"scores{i}": x for i, x in enumerate(session.answers.scores)}
    arrays["checks"] = np.array(session.answers.checks, np.int64)
    arrays["n_held_out"] = np.array(n_held_out)
    batch = session.ask()
    if batch is not None:
        arrays |= dict(zip(_PAIRS, batch, strict=True))
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, **arrays)


def _read_state(path: Path) -> tuple[Answers, int, Batch | None]:
    what = "the state of an evaluation on a budget"
    arrays = read_arrays(path, what, ("checks", "n_held_out"))
    checks = arrays["checks"].tolist()
    scores: list[Float] = [arrays[f"scores{number}"] for number in range(len(checks))]
    pending = Batch(*(arrays[name] for name in _PAIRS)) if _PAIRS[0] in arrays else None
    return Answers(scores, checks), int(arrays["n_held_out"]), pending


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _creating(path: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `path`; on success it takes its place, else it is removed."""
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise InputError("exists already; name a folder that is new or empty", path=path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    try:
        yield temporary
        temporary.chmod(0o755)
        temporary.replace(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)

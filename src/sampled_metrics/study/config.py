"""The configuration of a study, validated, and what the rules read from it."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.settings import Settings
from sampled_metrics.datasets.settings import (
    DatasetSettings,
    FileName,
    FilterSettings,
    SplitSettings,
    check_given,
)
from sampled_metrics.study.beyond.settings import BeyondSettings
from sampled_metrics.study.entries import Entry, Recommender
from sampled_metrics.study.settings import (
    REFERENCE,
    ExactSettings,
    ExperimentSettings,
    RankingSettings,
    ResultsFolder,
    ScorecardSettings,
    ToySettings,
)

ALL_TABLES, TABLES_OF_DATA = (1, 2, 3, 4), (3, 4)
ALL_FIGURES, FIGURES_OF_DATA = (1, 2, 3, 4, 5, 6), (5, 6)


class Study(Settings):
    """The whole configuration."""

    ranks: Literal["trained", "reference"]
    """Train from the archive, or start from the rank records of the reference run."""
    results: ResultsFolder
    """Folder of all outputs."""
    dataset: DatasetSettings
    """The interactions."""
    filters: FilterSettings
    """Events to leave out before the split, in this order."""
    split: SplitSettings
    """Which events are held out, and which of them is evaluated: one per user."""
    recommenders: Annotated[list[Recommender], Field(min_length=1)]
    """Recommenders, in the order of the tables."""
    ranking: RankingSettings
    """Full ranking of all candidates; none of this changes a result."""
    exact: ExactSettings
    """The exact metrics of results/tables/exact.csv."""
    toy: ToySettings
    """The toy recommenders of Tables 1 and 2."""
    experiment: ExperimentSettings
    """Sampled and corrected metrics: Tables 3 and 4, Figures 5 and 6."""
    scorecard: ScorecardSettings
    """Comparison with the published tables."""
    beyond: BeyondSettings = BeyondSettings()
    """Methods compared by price, error and order: Tables 5 and 6, Figures 7 and 8."""
    negatives: FileName | None = None
    """Negatives that somebody else drew, a table of user_id and item_id; results/negatives and the
    page then have what they say of each recommender, and of themselves."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name in self.names:
            if self.names.count(name) > 1:
                raise InputError(f"recommenders: duplicate name {name}")
        for name in (name for pair in self.beyond.pairs or () for name in pair):
            if name not in self.names:
                raise InputError(f"beyond.pairs: no recommender {name}")
        if self.split.method == "given":
            check_given(self.dataset, self.filters)
        elif not self.dataset.is_movielens and self.dataset.path is None:
            raise InputError("dataset.path is missing; format table needs it")
        if self.ranks == "reference" and not self.is_papers_data:
            raise InputError(
                "ranks is reference but the reference run is of ml-1m, leave-last-out, all users; "
                "set ranks: trained"
            )
        return self

    def check_files(self, own: Callable[[str], str] = str) -> None:
        """Raise an InputError if files to start from are missing or no results can be written.

        `own` says where a file is that comes with the workflow.
        """
        if Path(self.results).exists() and not Path(self.results).is_dir():
            raise InputError(f"results: {self.results} is a file; name a folder", path="config")
        files = [
            ("dataset.path", self.dataset.path, ""),
            ("split.train", self.split.train, ""),
            ("split.test", self.split.test, ""),
            *(
                (f"recommender {entry.name}", entry.settings.path, f"; {entry.settings.origin}")
                for entry in self.recommenders
                if entry.kind == "external" and entry.settings.origin
            ),
        ]
        for key, path, remedy in files:
            if path is not None and not Path(path).is_file():
                raise InputError(f"{key}: no such file {path}{remedy}", path="config")
        ranks = Path(own(f"{REFERENCE}/provenance.json")).with_name("ranks")
        kept = sorted(file.stem for file in ranks.glob("*.parquet"))
        missing = [name for name in self.names if name not in kept]
        if self.ranks == "reference" and missing:
            raise InputError(
                f"recommenders: the reference run has no {missing[0]}; "
                f"it has {', '.join(kept) or 'none'}",
                path="config",
            )

    @property
    def names(self) -> list[str]:
        """Names of all recommenders."""
        return [entry.name for entry in self.recommenders]

    @property
    def external(self) -> list[str]:
        """Names of the recommenders trained elsewhere."""
        return [entry.name for entry in self.recommenders if entry.kind == "external"]

    @property
    def trained(self) -> list[str]:
        """Names of the recommenders that this study trains."""
        return [name for name in self.names if name not in self.external]

    @property
    def scored(self) -> list[str]:
        """Names of the recommenders that score items, and are not known by their ranks alone."""
        ranked = [
            entry.name
            for entry in self.recommenders
            if entry.kind == "external" and entry.settings.format == "ranks"
        ]
        return [name for name in self.names if name not in ranked]

    def recommender(self, name: str) -> Entry:
        """Return a recommender by its name."""
        return self.recommenders[self.names.index(name)]

    def recommenders_json(self) -> str:
        """All recommenders as one line of JSON."""
        return json.dumps(
            [entry.model_dump(mode="json", by_alias=True) for entry in self.recommenders]
        )

    @property
    def restarted(self) -> Entry | None:
        """The first als recommender, which the spread is measured on."""
        return next((entry for entry in self.recommenders if entry.kind == "als"), None)

    @property
    def is_papers_data(self) -> bool:
        """Whether the published numbers are about this dataset and split."""
        return self._is_movielens_split and self.dataset.name == "ml-1m"

    @property
    def _is_movielens_split(self) -> bool:
        """Whether this is a MovieLens, split as in the reference runs."""
        is_last = self.split.method == SplitSettings().method
        return self.dataset.is_movielens and is_last and self.split.users is None

    @property
    def tables(self) -> tuple[int, ...]:
        """Numbers of the tables to make; the paper's toys are shown beside its data."""
        return ALL_TABLES if self.is_papers_data else TABLES_OF_DATA

    @property
    def figures(self) -> tuple[int, ...]:
        """Numbers of the figures to make."""
        return ALL_FIGURES if self.is_papers_data else FIGURES_OF_DATA

    @property
    def events(self) -> list[str]:
        """File of the events, or the two of a given split."""
        files = [self.dataset.path, self.split.train, self.split.test]
        archive = f"{self.results}/data/{self.dataset.name}.zip"
        return [path for path in files if path] or [archive]

    @property
    def folder_of_ranks(self) -> str:
        """Folder of the rank records that the tables are made from."""
        return f"{REFERENCE if self.ranks == 'reference' else self.results}/ranks"

    @property
    def origin(self) -> list[str]:
        """Files that say where the ranks come from, for the provenance."""
        if self.ranks == "reference":
            return [f"{REFERENCE}/provenance.json"]
        return [f"{self.results}/data/source.json", f"{self.results}/split/split.json"]

    @property
    def audit(self) -> list[str]:
        """The audit of this run once `snakemake audit` has made it, else the reference run's."""
        if not self.is_papers_data:
            return []
        own = f"{self.results}/audit.csv"
        is_own = self.ranks == "trained" and Path(own).exists()
        return [own if is_own else f"{REFERENCE}/audit.csv"]

    @property
    def orders(self) -> list[str]:
        """Right orders of this run once `snakemake beyond` has run, else a reference run's."""
        own = f"{self.results}/beyond/orders.csv"
        if self.ranks == "trained" and Path(own).exists():
            return [own]
        folders = {"ml-1m": f"{REFERENCE}/beyond", "ml-100k": f"{REFERENCE}/ml-100k/beyond"}
        kept = folders.get(self.dataset.name) if self._is_movielens_split else None
        return [f"{kept}/orders.csv"] if kept else []

    @property
    def archive(self) -> str:
        """The local archive, from the configuration or the environment; empty without one."""
        return self.dataset.archive or os.environ.get("MOVIELENS_ARCHIVE") or ""

    def benchmarks(self) -> list[str]:
        """Names of the steps that lead to the page and are timed."""
        data = ["fetch" if self.dataset.is_movielens else "describe", "split"]
        ranks = [*(f"train/{name}" for name in self.trained)]
        last = "rank" if self.ranking.pieces == 1 else "gather_ranks"
        ranks += [f"{last}/{name}" for name in self.trained]
        ranks += [f"rank_external/{name}" for name in self.external]
        of_paper = ["toy", "theory_figures", "scorecard", "z_scores", "claims"]
        return [
            *([*data, *ranks] if self.ranks == "trained" else []),
            *(f"sample/{name}" for name in self.names),
            *("exact", "compare", "ranks_figures", "provenance", "ranges"),
            *(
                [*(f"outcomes/{name}" for name in self.scored), "negatives"]
                if self.negatives
                else []
            ),
            *(of_paper if self.is_papers_data else []),
        ]

    def identity(self) -> str:
        """What was asked for, as JSON: source of the ranks, hash of the configuration, seeds."""
        return json.dumps(
            {"ranks": self.ranks, "config_sha256": self.sha256(), "seeds": dict(self._seeds())}
        )

    def sha256(self) -> str:
        """Hash of all settings that can change a result of the paper's study."""
        elsewhere = {"results": "", "ranking": {}}
        content = self.model_dump(mode="json", by_alias=True, exclude={"beyond"}) | elsewhere
        content["dataset"] = self.dataset.without_places().model_dump(mode="json")
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def _seeds(self) -> Iterator[tuple[str, int]]:
        for section in ("split", "exact", "toy", "experiment"):
            yield section, getattr(self, section).seed
        for entry in self.recommenders:
            if hasattr(entry.settings, "seed"):
                yield entry.name, entry.settings.seed

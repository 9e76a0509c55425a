"""The configuration of a study, validated: values that rules read, departures from the paper's."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, Union

import yaml
from pydantic import AfterValidator, Field, ValidationError, create_model, model_validator

from sampled_metrics import InputError
from sampled_metrics.ranks import Sampling as SamplingEnum
from sampled_metrics_study.data.movielens import ML_1M
from sampled_metrics_study.data.settings import (
    DatasetSettings,
    FileName,
    FilterSettings,
    SplitSettings,
)
from sampled_metrics_study.files import read_json
from sampled_metrics_study.recommenders import KINDS
from sampled_metrics_study.settings import (
    ExactSettings,
    ExperimentSettings,
    RankingSettings,
    ScorecardSettings,
    ToySettings,
)
from sampled_metrics_study.validation import Settings, described_pattern

# What is made on the paper's data, and on other data.
TABLES: Mapping[bool, Sequence[int]] = {True: (1, 2, 3, 4), False: (3, 4)}
_FIGURES_OF_RANKS = ("figure5", "figure6", "errors")
FIGURES: Mapping[bool, Sequence[str]] = {
    True: ("figure1", "figure2", "figure3", "figure4", *_FIGURES_OF_RANKS),
    False: _FIGURES_OF_RANKS,
}
REFERENCE = Path("results/reference")
STORED_RANKS = {  # recommenders by their file in results/reference
    "ncf/GMF": "GMF (NCF)",
    "ncf/MLP": "MLP (NCF)",
    "ml-1m/ranks/BM25": "item-kNN, BM25",
    "ml-1m/ranks/BPR": "BPR",
    "ml-1m/ranks/Factors32": "ALS 32",
    "ml-1m/ranks/Popularity": "Popularity",
    "ml-1m/ranks/TwentyNeighbours": "item-kNN, 20",
}
_FOLDERS_IN_USE = ("benchmarks", "config", "docs", "resources", "src", "tests", "workflow")


def _refuse_pair(name: str) -> str:
    """Refuse a name that reads like a pair of recommenders."""
    if " vs " in name:
        raise InputError(f"{name!r} reads like a pair of recommenders; leave out vs")
    return name


def _results_folder(path: str) -> str:
    """Spell a folder as Snakemake does, without a slash at its end; refuse one that is in use."""
    folder = Path(os.path.normpath(path))
    if folder.is_absolute() or folder.parts[:1] in {(), ("..",)}:
        raise InputError(f"{folder} is not a folder below this one; name one, such as results/own")
    # Upper and lower case are the same to some file systems.
    names = [name.lower() for name in folder.parts]
    if names[:2] == list(REFERENCE.parts):
        raise InputError(f"{folder} keeps the reference run; name another folder")
    if names[0].startswith(".") or names[0] in _FOLDERS_IN_USE:
        raise InputError(f"{folder} is not for results; name another folder, such as results/own")
    return str(folder)


ResultsFolder = Annotated[
    str,
    described_pattern(
        "^[A-Za-z0-9._/][A-Za-z0-9._/-]*$", "a folder of letters, digits, dots, _ and -"
    ),
    AfterValidator(_results_folder),
]
PAPERS_NAMES = ("X", "Y", "Z")  # recommenders of the paper
PAPERS_CHOICES = {  # in its experiment; no other study should inherit them
    "ties": "paper",
    "divisor": "m+1",
    "assumed_sampling": SamplingEnum.WITH_REPLACEMENT,
}


class ExternalSettings(Settings):
    """A file of ranks or scores made elsewhere."""

    path: FileName
    """The file."""
    format: Literal["ranks", "scores"]
    """Ranks of the held-out items, or scores of every candidate of every user."""
    made_by: str | None = None
    """Command that makes the file, to be shown where it is missing."""

    def missing(self) -> str:
        """Say in a line that the file is missing, and what to do."""
        if self.made_by:
            return f"{self.path} is missing; make it with: {self.made_by}"
        return f"{self.path} is missing; put the {self.format} there, or change path"


class Entry(Settings):
    """A recommender of the study."""

    name: Annotated[
        str,
        described_pattern(
            "^[A-Za-z0-9][A-Za-z0-9._-]*( [A-Za-z0-9._-]+)*$",
            "a name of letters, digits, . _ - and single spaces, because files have it too",
        ),
        AfterValidator(_refuse_pair),
    ]
    """Name in files, tables and figures."""
    kind: str
    """Kind of recommender."""
    settings: Any
    """Hyper-parameters."""

    def as_trained(self) -> dict[str, Any]:
        """Return what its ranks depend on, as JSON has it."""
        return self.model_dump(mode="json", by_alias=True, exclude={"settings": {"made_by"}})


def _entry_model(kind: str, settings: type[Settings]) -> type[Entry]:
    """Return the model of a recommender of one kind; required settings have no default."""
    default: Any = ...
    if not any(field.is_required() for field in settings.model_fields.values()):
        default = settings()
    fields: dict[str, Any] = {
        "kind": (Literal[kind], Field(description="Kind of recommender.")),
        "settings": (settings, Field(default, description="Hyper-parameters.")),
    }
    return create_model(kind, __base__=Entry, __doc__=settings.__doc__, **fields)


RECOMMENDERS: dict[str, type[Settings]] = {
    **{kind: recommender.Settings for kind, recommender in sorted(KINDS.items())},
    "external": ExternalSettings,
}


if TYPE_CHECKING:
    Recommender = Entry
else:
    Recommender = Annotated[
        Union[tuple(_entry_model(kind, settings) for kind, settings in RECOMMENDERS.items())],  # noqa: UP007
        Field(discriminator="kind"),
    ]


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

    @model_validator(mode="wrap")
    @classmethod
    def _choose(cls, values: object, validate: Callable[[object], Self]) -> Self:
        """Take the paper's choices in the paper's study, where the configuration leaves them."""
        study = validate(values)
        if not study.is_papers_study:
            return study
        explicit_names = study.experiment.model_fields_set
        papers_choices = {
            name: value for name, value in PAPERS_CHOICES.items() if name not in explicit_names
        }
        return study.replaced(experiment=study.experiment.replaced(**papers_choices))

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name in self.names:
            if self.names.count(name) > 1:
                raise InputError(f"recommenders: duplicate name {name}")
        if self.split.method == "given":
            self._check_given()
        elif not self.dataset.is_movielens and self.dataset.path is None:
            raise InputError("dataset.path is missing; format table needs it")
        if self.ranks == "reference" and not self.is_papers_data:
            raise InputError(
                "ranks is reference but the reference run is of ml-1m, leave-last-out, all users; "
                "set ranks: trained"
            )
        return self

    def _check_given(self) -> None:
        """Raise InputError if other settings do not agree with split method given."""
        if self.dataset.is_movielens or self.dataset.path is not None:
            needed = "dataset.format table without dataset.path"
            raise InputError(f"split.method is given, which needs {needed}")
        for name in ("min_item_events", "min_user_events"):
            if name in self.filters.on:
                remedy = "split.method is given; filter the files themselves"
                raise InputError(f"filters.{name}: {remedy}")

    @property
    def names(self) -> list[str]:
        """Names of all recommenders."""
        return [entry.name for entry in self.recommenders]

    def recommender(self, name: str) -> Entry:
        """Return a recommender by its name."""
        return self.recommenders[self.names.index(name)]

    @property
    def is_papers_data(self) -> bool:
        """Whether the published numbers are about this dataset and split."""
        split = self.split
        is_papers_split = split.method == "leave-last-out" and split.users is None
        return is_papers_split and self.dataset.name == "ml-1m"  # which no table has as its name

    @property
    def is_papers_study(self) -> bool:
        """Whether recommenders of the paper are evaluated on its data, unfiltered."""
        has_one = any(name in PAPERS_NAMES for name in self.names)
        return self.is_papers_data and has_one and not self.filters.on

    @property
    def tables(self) -> Sequence[int]:
        """Numbers of the tables to make; the paper's toys are shown beside its data."""
        return TABLES[self.is_papers_data]

    @property
    def figures(self) -> Sequence[str]:
        """Names of the figures to make."""
        return FIGURES[self.is_papers_data]

    @property
    def events(self) -> list[str]:
        """File of the events, or the two of a given split."""
        files = [self.dataset.path, self.split.train, self.split.test]
        archive = f"{self.results}/data/{self.dataset.name}.zip"
        return [path for path in files if path] or [archive]

    @property
    def folder_of_ranks(self) -> str:
        """Folder of the rank records that the tables are made from."""
        if self.ranks == "reference":
            return f"{REFERENCE}/ranks"
        return f"{self.results}/ranks"

    @property
    def origin(self) -> list[str]:
        """Files that say where the ranks come from, for the provenance."""
        if self.ranks == "reference":
            return [f"{REFERENCE}/provenance.json"]
        return [f"{self.results}/data/source.json", f"{self.results}/split/split.json"]

    def identity(self) -> dict[str, Any]:
        """The run's identity: source of the ranks, hash of the configuration, seeds."""
        seeds = {name: getattr(self, name).seed for name in ("split", "exact", "toy", "experiment")}
        for entry in self.recommenders:
            if hasattr(entry.settings, "seed"):
                seeds[entry.name] = entry.settings.seed
        return {"ranks": self.ranks, "config_sha256": self.sha256(), "seeds": seeds}

    def sha256(self) -> str:
        """Hash of all settings that can change a result of the paper's study."""
        dataset = self.dataset.without_places().model_dump(mode="json")
        content = self.model_dump(mode="json", by_alias=True)
        recommenders = [entry.as_trained() for entry in self.recommenders]
        content.update(results="", ranking={}, dataset=dataset, recommenders=recommenders)
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


_LONGEST_NUMBER = 100  # characters of a number
_OUT_OF_RANGE = ("greater_than", "greater_than_equal", "less_than", "less_than_equal")


def with_numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    """Read texts as numbers where the settings want no text; all others stay as they are.

    Snakemake leaves numbers, true, false and null within the mappings of `--config` as texts. In a
    file they are none, and a text such as "2020" or "no" may be a title.
    """
    settings = deepcopy(dict(values))
    for path in filter(None, _errors_by_path(settings)):
        *above, key = path
        parent: Any = settings
        for step in above:
            parent = parent[step]
        text = parent[key]
        if isinstance(text, str):
            parent[key] = _parse_number(text)
            if _errors_by_path(settings).get(path, _OUT_OF_RANGE[0]) not in _OUT_OF_RANGE:
                parent[key] = text  # no number is wanted, and the error is about the text
    return settings


def _errors_by_path(values: Mapping[str, Any]) -> dict[tuple[str | int, ...], str]:
    """Return where values are that a study refuses (keys, and places in lists), and why."""
    try:
        Study.model_validate(values)
    except ValidationError as error:
        return {_key_path(values, problem["loc"]): problem["type"] for problem in error.errors()}
    return {}


def _key_path(values: Any, place: Sequence[str | int]) -> tuple[str | int, ...]:
    """Return the keys that lead to a value; the place of an error also names alternatives."""
    path: list[str | int] = []
    for step in place:
        is_key = isinstance(values, dict) and step in values
        if is_key or (isinstance(values, list) and isinstance(step, int) and step < len(values)):
            path.append(step)
            values = values[step]
    return tuple(path)


def _parse_number(text: str) -> Any:
    """Return the number, truth value or None that YAML reads in a text, or else the text."""
    if len(text) > _LONGEST_NUMBER:
        return text
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):  # such as of 2024-13-01
        return text
    return value if value is None or isinstance(value, bool | int | float) else text


def refuse_other_results(study: Study) -> None:
    """Raise InputError if the folder of results has those of other data, which would stay in it.

    So do the tables and the scorecard of the paper's split, if the study has another split.
    """
    path = Path(study.results, "provenance.json")
    if not path.exists():
        return
    record = read_json(path)
    run = record.get("provenance", record)  # of the reference run, whose ranks were used
    name, split = run.get("source", {}).get("dataset"), run.get("split", {})
    has_all_users = split.get("evaluated_users") == split.get("users")
    is_papers_split = split.get("method") == "leave-last-out" and has_all_users
    if name == ML_1M.name and is_papers_split and not study.is_papers_data:
        name = f"{name}, leave-last-out"
    elif name in (None, study.dataset.name):
        return
    raise InputError(
        f"config: results: {study.results} has the results of {name}; name another folder, such "
        "as results/own, or remove this one"
    )


# Settings in which a study on the paper's data departs from the paper's study. Published cells are
# compared with ours only if there are none. Settings that move no expectation or that the paper
# leaves open are no departures.
FREE_SETTINGS = {"seed", "repetitions", "shared_samples", "shared_ties", "iterations", "start"}
LIST_SETTINGS = {"metrics", "estimators"}  # to which a study may add


def departures(study: Study, papers: Study) -> list[str]:
    """Name each setting that is not the paper's, with both values."""
    sentences = []
    if study.dataset.name != papers.dataset.name:
        sentences.append(f"dataset.name is {study.dataset.name}, the paper's {papers.dataset.name}")
    for group in ("filters", "split", "toy", "experiment"):
        sentences += _settings_departures(
            f"{group}.{{}}", getattr(study, group), getattr(papers, group)
        )
    for name in sorted(LIST_SETTINGS):
        ours = getattr(study.experiment, name)
        missing = [one for one in getattr(papers.experiment, name) if one not in ours]
        sentences += [f"experiment.{name} has no {one}" for one in missing]
    for entry in papers.recommenders:
        if entry.name not in study.names:
            sentences.append(f"recommenders has no {entry.name}")
        elif study.ranks == "trained":
            sentences += _recommender_departures(study.recommender(entry.name), entry)
    return sentences


def _recommender_departures(ours: Entry, papers: Entry) -> list[str]:
    """Compare a recommender with the paper's of the same name; one from a file may be anything."""
    if ours.kind == "external":
        return []
    if ours.kind != papers.kind:
        return [f"{ours.name} is of kind {ours.kind}, the paper's {papers.kind}"]
    return _settings_departures(f"{{}} of {ours.name}", ours.settings, papers.settings)


def _settings_departures(place: str, ours: Settings, papers: Settings) -> list[str]:
    """Name the settings of a group that differ; `place` says where a setting is."""
    values: dict[str, Any] = ours.model_dump(mode="json", by_alias=True)
    sentences = []
    for name, expected in papers.model_dump(mode="json", by_alias=True).items():
        if name not in FREE_SETTINGS | LIST_SETTINGS and values[name] != expected:
            shown = ["null" if value is None else value for value in (values[name], expected)]
            sentences.append(f"{place.format(name)} is {shown[0]}, the paper's {shown[1]}")
    return sentences

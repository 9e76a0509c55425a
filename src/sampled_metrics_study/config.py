"""The validated configuration of a study, and how it differs from the paper's."""

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

# Tables and figures of a study on the paper's data (True), and on other data (False).
TABLES: Mapping[bool, Sequence[int]] = {True: (1, 2, 3, 4), False: (3, 4)}
_FIGURES_OF_RANKS = ("figure5", "figure6", "errors")
FIGURES: Mapping[bool, Sequence[str]] = {
    True: ("figure1", "figure2", "figure3", "figure4", *_FIGURES_OF_RANKS),
    False: _FIGURES_OF_RANKS,
}
REFERENCE = Path("results/reference")
STORED_RANKS = {  # files in results/reference, and the names of their recommenders
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
        raise InputError(f"{name!r} looks like a pair of recommenders; remove vs")
    return name


def _results_folder(path: str) -> str:
    """Return a folder as Snakemake spells it, without a final slash; refuse one that is in use."""
    folder = Path(os.path.normpath(path))
    if folder.is_absolute() or folder.parts[:1] in {(), ("..",)}:
        raise InputError(
            f"{folder} is not below the current folder; choose one such as results/own"
        )
    # Some file systems ignore the case of names.
    names = [name.lower() for name in folder.parts]
    if names[:2] == list(REFERENCE.parts):
        raise InputError(f"{folder} contains the reference run; choose another folder")
    if names[0].startswith(".") or names[0] in _FOLDERS_IN_USE:
        raise InputError(
            f"{folder} cannot contain results; choose another folder such as results/own"
        )
    return str(folder)


ResultsFolder = Annotated[
    str,
    described_pattern(
        "^[A-Za-z0-9._/][A-Za-z0-9._/-]*$", "a folder of letters, digits, dots, _ and -"
    ),
    AfterValidator(_results_folder),
]
PAPERS_NAMES = ("X", "Y", "Z")  # recommenders of the paper
PAPERS_CHOICES = {  # settings of its experiment, which other studies do not inherit
    "ties": "paper",
    "divisor": "m+1",
    "assumed_sampling": SamplingEnum.WITH_REPLACEMENT,
}


class ExternalSettings(Settings):
    """A file of ranks or scores that another program made."""

    path: FileName
    """The file."""
    format: Literal["ranks", "scores"]
    """Ranks of the held-out items, or scores of all candidates of all users."""
    made_by: str | None = None
    """Command that makes the file, shown if the file is missing."""

    def missing(self) -> str:
        """Return an error message: the file is missing, and what to do."""
        if self.made_by:
            return f"{self.path} is missing; make it with: {self.made_by}"
        return f"{self.path} is missing; put the {self.format} there, or change path"


class Entry(Settings):
    """A recommender of the study."""

    name: Annotated[
        str,
        described_pattern(
            "^[A-Za-z0-9][A-Za-z0-9._-]*( [A-Za-z0-9._-]+)*$",
            "a name of letters, digits, . _ - and single spaces, because files have this name",
        ),
        AfterValidator(_refuse_pair),
    ]
    """Name in files, tables and figures."""
    kind: str
    """Kind of recommender."""
    settings: Any
    """Hyper-parameters."""

    def as_trained(self) -> dict[str, Any]:
        """Return what its ranks depend on, as JSON."""
        return self.model_dump(mode="json", by_alias=True, exclude={"settings": {"made_by"}})


def _entry_model(kind: str, settings: type[Settings]) -> type[Entry]:
    """Return the model of a recommender of one kind.

    Its settings have a default unless one of them is required.
    """
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
    """Events to drop before the split, in this order."""
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
    def _apply_papers_choices(cls, values: object, validate: Callable[[object], Self]) -> Self:
        """In the paper's study, use the paper's choices for settings that are not configured."""
        study = validate(values)
        if not study.is_papers_study:
            return study
        explicit_names = study.experiment.model_fields_set
        papers_choices = {
            name: value for name, value in PAPERS_CHOICES.items() if name not in explicit_names
        }
        return study.replaced(experiment=study.experiment.replaced(**papers_choices))

    @model_validator(mode="after")
    def _check_settings_fit(self) -> Self:
        """Raise InputError for a duplicate name, no data, or reference ranks of other data."""
        for name in self.names:
            if self.names.count(name) > 1:
                raise InputError(f"recommenders: duplicate name {name}")
        if self.split.method == "given":
            self._check_given_split()
        elif not self.dataset.is_movielens and self.dataset.path is None:
            raise InputError("dataset.path is missing; format table needs it")
        if self.ranks == "reference" and not self.is_papers_data:
            raise InputError(
                "ranks is reference but the reference run is of ml-1m, leave-last-out, all users; "
                "set ranks: trained"
            )
        return self

    def _check_given_split(self) -> None:
        """Raise InputError if other settings contradict split method given."""
        if self.dataset.is_movielens or self.dataset.path is not None:
            raise InputError(
                "split.method is given, which needs dataset.format table without dataset.path"
            )
        for name in ("min_item_events", "min_user_events"):
            if name in self.filters.on:
                raise InputError(
                    f"filters.{name}: split.method is given; filter the files themselves"
                )

    @property
    def names(self) -> list[str]:
        """Names of all recommenders."""
        return [entry.name for entry in self.recommenders]

    def recommender(self, name: str) -> Entry:
        """Return a recommender by its name."""
        return self.recommenders[self.names.index(name)]

    @property
    def is_papers_data(self) -> bool:
        """Whether this is the dataset and the split of the published numbers."""
        split = self.split
        is_papers_split = split.method == "leave-last-out" and split.users is None
        return is_papers_split and self.dataset.name == "ml-1m"  # a table cannot have this name

    @property
    def is_papers_study(self) -> bool:
        """Whether recommenders of the paper are evaluated on its data, without filters."""
        has_one = any(name in PAPERS_NAMES for name in self.names)
        return self.is_papers_data and has_one and not self.filters.on

    @property
    def tables(self) -> Sequence[int]:
        """Numbers of the tables to make; those of the toys belong to the paper's data only."""
        return TABLES[self.is_papers_data]

    @property
    def figures(self) -> Sequence[str]:
        """Names of the figures to make."""
        return FIGURES[self.is_papers_data]

    @property
    def events(self) -> list[str]:
        """Files of the events: one, or two for split method given."""
        files = [self.dataset.path, self.split.train, self.split.test]
        archive = f"{self.results}/data/{self.dataset.name}.zip"
        return [path for path in files if path] or [archive]

    @property
    def folder_of_ranks(self) -> str:
        """Folder of the ranks that the tables are made from."""
        if self.ranks == "reference":
            return f"{REFERENCE}/ranks"
        return f"{self.results}/ranks"

    @property
    def origin(self) -> list[str]:
        """Files for the provenance that say where the ranks come from."""
        if self.ranks == "reference":
            return [f"{REFERENCE}/provenance.json"]
        return [f"{self.results}/data/source.json", f"{self.results}/split/split.json"]

    def identity(self) -> dict[str, Any]:
        """Return what identifies a run: source of the ranks, hash of the configuration, seeds."""
        seeds = {name: getattr(self, name).seed for name in ("split", "exact", "toy", "experiment")}
        for entry in self.recommenders:
            if hasattr(entry.settings, "seed"):
                seeds[entry.name] = entry.settings.seed
        return {"ranks": self.ranks, "config_sha256": self.sha256(), "seeds": seeds}

    def sha256(self) -> str:
        """Return a hash of all settings that can change a result."""
        dataset = self.dataset.without_locations().model_dump(mode="json")
        content = self.model_dump(mode="json", by_alias=True)
        recommenders = [entry.as_trained() for entry in self.recommenders]
        content.update(results="", ranking={}, dataset=dataset, recommenders=recommenders)
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


_LONGEST_NUMBER = 100  # characters; any number is shorter, and YAML reads long texts slowly
_OUT_OF_RANGE = ("greater_than", "greater_than_equal", "less_than", "less_than_equal")


def with_numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert texts to numbers where the settings do not accept a text; other texts stay texts.

    Snakemake passes numbers, true, false and null within the mappings of `--config` as texts. Other
    texts, such as "2020" or "no", may be titles. A number also replaces its text if it is out of
    range, because the error then names the range. `values` are not changed.
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
            # A number that is accepted has no error at its path. It stays, as one out of range
            # does, so the default is one of the kinds of that error.
            if _errors_by_path(settings).get(path, _OUT_OF_RANGE[0]) not in _OUT_OF_RANGE:
                parent[key] = text  # a number does not help; report the error of the text
    return settings


def _errors_by_path(values: Mapping[str, Any]) -> dict[tuple[str | int, ...], str]:
    """Return the kind of error by the path of each invalid value: keys, and indices of lists."""
    try:
        Study.model_validate(values)
    except ValidationError as error:
        return {_key_path(values, problem["loc"]): problem["type"] for problem in error.errors()}
    return {}


def _key_path(values: Any, place: Sequence[str | int]) -> tuple[str | int, ...]:
    """Return the keys that lead to a value.

    Pydantic adds the names of alternative models to the location of an error; they are removed.
    """
    path: list[str | int] = []
    for step in place:
        is_key = isinstance(values, dict) and step in values
        if is_key or (isinstance(values, list) and isinstance(step, int) and step < len(values)):
            path.append(step)
            values = values[step]
    return tuple(path)


def _parse_number(text: str) -> Any:
    """Return the number, boolean or None that a text is in YAML, or else the text."""
    if len(text) > _LONGEST_NUMBER:
        return text
    try:
        value = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):  # ValueError for a date such as 2024-13-01
        return text
    return value if value is None or isinstance(value, bool | int | float) else text


def refuse_other_results(study: Study) -> None:
    """Raise InputError if the folder has results of other data, because old files would remain.

    Results of the paper's split are also refused if this study has another split, because the
    tables and the scorecard of the paper would remain.
    """
    path = Path(study.results, "provenance.json")
    if not path.exists():
        return
    record = read_json(path)
    run = record.get("provenance", record)  # nested if the ranks are of the reference run
    name, split = run.get("source", {}).get("dataset"), run.get("split", {})
    has_all_users = split.get("evaluated_users") == split.get("users")
    is_papers_split = split.get("method") == "leave-last-out" and has_all_users
    if name == ML_1M.name and is_papers_split and not study.is_papers_data:
        name = f"{name}, leave-last-out"
    elif name in (None, study.dataset.name):
        return
    raise InputError(
        f"config: results: {study.results} has the results of {name}; choose another folder such "
        "as results/own, or remove this one"
    )


# A setting that differs from the paper's study is a departure. Published cells are compared with
# ours only if there is none. Settings that change no expectation, or that the paper does not give,
# are free.
FREE_SETTINGS = {"seed", "repetitions", "shared_samples", "shared_ties", "iterations", "start"}
LIST_SETTINGS = {"metrics", "estimators"}  # a study may add entries to them


def departures(study: Study, papers: Study) -> list[str]:
    """Describe each setting that differs from the paper's, with both values.

    `papers` is the paper's study.
    """
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
    """Compare a recommender with the paper's of the same name; external ones are not compared."""
    if ours.kind == "external":
        return []
    if ours.kind != papers.kind:
        return [f"{ours.name} is of kind {ours.kind}, the paper's {papers.kind}"]
    return _settings_departures(f"{{}} of {ours.name}", ours.settings, papers.settings)


def _settings_departures(place: str, ours: Settings, papers: Settings) -> list[str]:
    """Describe the settings of a group that differ; `place` is a format for their names."""
    values: dict[str, Any] = ours.model_dump(mode="json", by_alias=True)
    sentences = []
    for name, expected in papers.model_dump(mode="json", by_alias=True).items():
        if name not in FREE_SETTINGS | LIST_SETTINGS and values[name] != expected:
            shown = ["null" if value is None else value for value in (values[name], expected)]
            sentences.append(f"{place.format(name)} is {shown[0]}, the paper's {shown[1]}")
    return sentences

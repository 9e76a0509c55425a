"""The configuration: valid and invalid values, models of settings, departures from the paper."""

import copy
import importlib
import json
import pkgutil
import re
from inspect import isclass
from typing import get_args

import pydantic
import pytest
import yaml

import sampled_metrics_study
from sampled_metrics._base.errors import InputError
from sampled_metrics_study.config import (
    Entry,
    Study,
    departures,
    refuse_other_results,
    with_numbers,
)
from sampled_metrics_study.recommenders import create
from sampled_metrics_study.validation import Settings
from tests.conftest import ROOT

STUDY = yaml.safe_load((ROOT / "config/config.yaml").read_text())
SECOND = yaml.safe_load((ROOT / "config/ml-100k.yaml").read_text())
TABLE = {"dataset": {"format": "table", "name": "Ours", "path": "ours.csv"}}
GIVEN = {"split": {"method": "given", "train": "a.csv", "test": "b.csv"}}
FILES = {"dataset": {"format": "table", "name": "mine"}}


def study(*changes):
    """The paper's study with changes, merged as Snakemake does: mappings key by key."""

    def merged(config, changes):
        both = {
            key: merged(config.get(key), value) if isinstance(value, dict) else value
            for key, value in changes.items()
        }
        return (config if isinstance(config, dict) else {}) | both

    config = STUDY
    for change in changes:
        config = merged(config, change)
    return Study.of(config, "config")


def config_with(place, value):
    """The paper's configuration with one value replaced, or removed if `value` is KeyError."""
    config = copy.deepcopy(STUDY)
    *path, last = (int(step) if step.isdigit() else step for step in place.split("."))
    inner = config
    for step in path:
        inner = inner.setdefault(step, {}) if isinstance(inner, dict) else inner[step]
    inner[last] = value
    if value is KeyError:
        del inner[last]
    return config


def study_with(place, value):
    return Study.of(config_with(place, value), "config")


def problem_of(make, *arguments):
    with pytest.raises(InputError) as caught:
        make(*arguments)
    assert (caught.value.path, str(caught.value).count("\n")) == ("config", 0)
    return caught.value.problem


@pytest.mark.parametrize(
    "path", ["config/global-time.yaml", "config/ml-100k.yaml", "docs/other-data.md"]
)
def test_documented_studies_are_valid(path):
    text = (ROOT / path).read_text(encoding="utf-8")
    configurations = [text]
    if path.endswith(".md"):
        configurations = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert configurations
    for configuration in configurations:
        other = study(yaml.safe_load(configuration))
        assert not other.is_papers_data
        assert (other.tables, other.figures) == ((3, 4), ("figure5", "figure6", "errors"))


def test_papers_study_has_all_tables_and_figures():
    paper = study()
    assert paper.is_papers_data
    assert paper.tables == (1, 2, 3, 4)
    assert paper.figures == (*(f"figure{n}" for n in range(1, 7)), "errors")
    assert paper.events == ["results/data/ml-1m.zip"]


def test_papers_study_has_recommenders_as_configured():
    paper = study()
    assert paper.names == ["X", "Y", "Z"]
    for entry in paper.recommenders:
        create(entry.kind, entry.settings.model_dump(by_alias=True))
    of_x = paper.recommender("X").settings.model_dump(by_alias=True)
    assert of_x == STUDY["recommenders"][0]["settings"]


def test_identity_of_papers_study():
    identity = study().identity()
    assert identity["ranks"] == "trained"
    assert identity["seeds"] == {"split": 0, "exact": 0, "toy": 0, "experiment": 0, "X": 0}
    assert len(identity["config_sha256"]) == 64


SETTINGS_OF_X = "recommenders.0.settings"


@pytest.mark.parametrize(
    ("place", "value", "keyword"),
    [
        ("ranks", "both", "'trained' or 'reference'"),
        ("ranks", KeyError, "Field required"),
        ("results", 202411, "no number"),  # --config results=2024_11
        ("colour", 1, "unknown key"),
        ("dataset", None, "valid dictionary"),
        ("dataset.url", "ftp://x", "https://"),
        ("dataset.timeout", float("inf"), "finite number"),
        ("results", "results/reference/", "reference run"),
        ("results", "results/../../x", "not below the current"),
        ("results", "/etc", "not below the current"),
        ("results", "src", "cannot contain results"),
        ("results", ".git", "cannot contain results"),
        ("results", "a{b}", "folder of letters"),
        ("filters.duplicates", "drop", "'refuse', 'first' or 'last'"),
        ("filters.min_rating", float("nan"), "finite number"),
        ("filters.min_user_events", True, "valid integer"),
        ("split.method", "leave-k-out", "'leave-last-out', 'global-time'"),
        ("split.cut", "soon", "valid number"),
        ("split.cut", "2024-02-30", "valid number"),
        ("split.cut", "2024-11", "valid number"),
        ("split.cut", -1, "valid number"),
        ("split.cut", True, "valid number"),
        ("split.cut", float("nan"), "valid number"),
        ("recommenders", [], "at least 1 item"),
        ("recommenders.0.kind", "svd", "'als', 'bm25'"),
        ("recommenders.0.kind", KeyError, "discriminator 'kind'"),
        ("recommenders.0.kind", "random", "settings.d: unknown key"),
        ("recommenders.0.name", "X\n", "als.name: 'X\\n'"),
        ("recommenders.0.name", "X/Y", "single spaces"),
        ("recommenders.0.name", "X vs Y", "looks like a pair"),
        (f"{SETTINGS_OF_X}.alpha", -1, "als.settings.alpha"),
        (f"{SETTINGS_OF_X}.lamda", 1, "did you mean lambda"),
        ("experiment.n_negative", 1, "did you mean n_negatives"),
        ("recommenders.1.settings.self_similarity", "no", "valid boolean"),
        ("recommenders.1", {"name": "E", "kind": "external"}, "external.settings: Field required"),
        ("recommenders.1.name", "X", "duplicate name X"),
        ("ranking.pieces", 1001, "less than or equal to 1000"),
        ("exact.metrics", ["auc@5"], "unknown measure 'auc@5'"),
        ("exact.ties", ["random", "random"], "duplicate entry random"),
        ("toy.n_negatives", 10_000, "less than 10000"),
        ("experiment.estimators", ["bv:0.10", "bv:0.1"], "duplicate entry bv:0.1"),
        ("experiment.sampling", "none", "unknown sampling"),
        ("experiment.noise", "binomial", "known keys"),
        ("experiment.n_negatives", "fifty", "valid integer, not 'fifty'"),
        ("experiment.n_negatives", [10, 50], "valid integer"),
    ],
)  # fmt: skip
def test_invalid_value_names_place_and_problem(place, value, keyword):
    problem = problem_of(study_with, place, value)
    assert problem.startswith("recommenders" if "recommenders" in place else place)
    assert keyword in problem


def test_name_with_space_is_valid():
    named = study_with("recommenders.0.name", "Best sellers")
    assert named.names[0] == "Best sellers"


@pytest.mark.parametrize(
    ("changes", "beginning"),
    [
        ([{"dataset": {"name": "ml-2m"}}], "dataset: unknown name 'ml-2m'"),
        ([{"dataset": {"path": "x.csv"}}], "dataset: path is set but format is movielens"),
        ([TABLE, {"dataset": {"path": None}}], "dataset.path is missing"),
        ([TABLE, {"dataset": {"path": "{day}.csv"}}], "dataset.path: '{day}.csv' must be"),
        ([TABLE, {"dataset": {"name": "ml-1m"}}], "dataset: name ml-1m"),
        ([TABLE, {"dataset": {"columns": ["u"]}}], "dataset.columns: "),
        ([TABLE, {"dataset": {"columns": {"who": "u"}}}], "dataset.columns.who: unknown key"),
        ([TABLE, {"dataset": {"separator": "\t\n"}}],
         "dataset.separator: '\\t\\n' must be"),
        ([{"split": {"cut": 2}}], "split: cut is set but method is leave-last-out"),
        ([{"split": {"method": "global-time"}}], "split: cut is missing but method is global-time"),
        ([{"split": {"method": "given"}}], "split: train is missing but method is given"),
        ([GIVEN], "split.method is given"),
        ([GIVEN, FILES, {"filters": {"min_user_events": 2}}], "filters.min_user_events: split"),
        ([SECOND, {"ranks": "reference"}], "ranks is reference"),
    ],
)  # fmt: skip
def test_contradicting_settings_are_refused(changes, beginning):
    assert problem_of(study, *changes).startswith(beginning)


SHOP = {
    "dataset": {"format": "table", "name": "Shop", "path": "events.csv"},
    "split": {"method": "random"},
    "recommenders": [{"name": "Popularity", "kind": "popularity"}],
}
OF_MOVIELENS = {"source": {"dataset": "ml-1m"}, "split": {"method": "leave-last-out"}}


@pytest.mark.parametrize(
    ("record", "changes", "is_refused"),
    [
        (OF_MOVIELENS, SHOP, True),
        ({"ranks": "reference", "provenance": OF_MOVIELENS}, SHOP, True),
        ({"source": {"dataset": "Shop"}}, {"ranks": "reference"}, True),
        # tables of the paper's split would stay next to those of another split
        (OF_MOVIELENS, {"split": {"method": "global-time", "cut": 0.9}}, True),
        ({"source": {"dataset": "Shop"}, "split": {"method": "given"}}, SHOP, False),
        ({}, SHOP, False),
    ],
)
def test_results_of_other_data_are_refused(tmp_path, monkeypatch, record, changes, is_refused):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    (tmp_path / "results/provenance.json").write_text(json.dumps(record))
    if is_refused:
        with pytest.raises(InputError, match=r"^config: results: .*another folder"):
            refuse_other_results(study(changes))
    else:
        refuse_other_results(study(changes))


@pytest.mark.parametrize(
    ("split", "events"),
    [
        ({"method": "global-time", "cut": 0.9}, ["results/data/ml-1m.zip"]),
        ({"method": "random"}, ["results/data/ml-1m.zip"]),
        ({"users": 100}, ["results/data/ml-1m.zip"]),
        ({**GIVEN["split"]}, ["a.csv", "b.csv"]),
    ],
)
def test_other_split_is_not_papers_data(split, events):
    other = study({"split": split}, FILES if "train" in split else {})
    assert not other.is_papers_data
    assert (other.tables, other.events) == ((3, 4), events)


def test_reference_ranks_have_reference_provenance():
    reference = study({"ranks": "reference"})
    assert reference.origin == ["results/reference/provenance.json"]
    assert reference.folder_of_ranks == "results/reference/ranks"


def test_metric_names_are_canonical():
    changes = {"metrics": ["HR@10", "MAP"], "estimators": ["BV:0.10", "rank_estimate"]}
    of_experiment = study({"experiment": changes}).experiment
    assert of_experiment.metrics == ("hit@10", "ap")
    assert of_experiment.estimators == ("bv:0.1", "rank-estimate")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("results", "elsewhere"),
        ("dataset.timeout", 7),
        ("dataset.archive", "a.zip"),
        ("ranking.pieces", 9),
    ],
)
def test_hash_ignores_settings_without_effect(place, value):
    assert study_with(place, value).sha256() == study().sha256()


@pytest.mark.parametrize(
    ("place", "value"), [("experiment.seed", 1), ("recommenders.0.settings.alpha", 0.3)]
)
def test_hash_depends_on_settings_with_effect(place, value):
    assert study_with(place, value).sha256() != study().sha256()


@pytest.mark.parametrize(
    ("assumed", "expected"),
    [(None, "without-replacement"), ("with-replacement", "with-replacement")],
)
def test_assumed_sampling_defaults_to_sampling(assumed, expected):
    choices = {"sampling": "without-replacement", "assumed_sampling": assumed}
    assert study({"experiment": choices}).experiment.correction_sampling == expected


def test_unknown_key_suggests_closest_key():
    class Ranks(Settings):
        first_rank: int
        first_ranks: int

    with pytest.raises(InputError) as problem_of:
        Ranks.of({"first_rank": 1, "first_ranks": 2, "first_rnk": 3}, "here")
    assert str(problem_of.value).count("did you mean") == 1
    assert "first_rank" in str(problem_of.value)


TEXTS = [
    "@article{smith2020, title={Data}}", "Smith: Data: 2020", "[1] Smith", "*Data*, Smith",
    '"quoted" text', "%x", "`code`", "{x}", "[" * 5000, "2020", "2020-02-30", "no", "null", "~",
    "1e5", "", "- a\n- b", "a: &a [*a]", "!!python/name:os.system",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: repr(text[:20]))
def test_text_settings_stay_texts(text):
    config = copy.deepcopy(STUDY)
    config["dataset"].update(TABLE["dataset"], citation=text, licence=text)
    read = with_numbers(config)
    assert read == config
    dataset = Study.of(read, "config").dataset
    assert (dataset.citation, dataset.licence) == (text, text)


@pytest.mark.parametrize(
    ("place", "text", "value"),
    [
        ("experiment.repetitions", "10", 10),
        ("experiment.repetitions", "1e2", "1e2"),
        ("experiment.repetitions", "ten", "ten"),
        ("experiment.repetitions", "true", "true"),
        ("experiment.repetitions", "", ""),
        ("results", "2020", "2020"),
        ("experiment.shared_ties", "true", True),
        ("experiment.n_items", "null", None),
        ("experiment.assumed_sampling", "null", None),
        ("experiment.assumed_sampling", "distinct", "distinct"),
        ("split.users", "0.5", 0.5),
        ("split.users", "10", 10),
        ("filters.min_rating", "4", 4),
        ("recommenders.0.settings.lambda", "0.5", 0.5),
        *(("recommenders.0.settings.d", text, text) for text in ("1e2", "ten", "true", "")),
        ("recommenders.0.settings.d", "10", 10),
    ],
)  # fmt: skip
def test_command_line_text_gets_type_of_setting(place, text, value):
    config = config_with(place, text)
    read = with_numbers(config)
    assert config == config_with(place, text)  # the original is unchanged
    for step in place.split("."):
        read = read[int(step) if step.isdigit() else step]
    assert read == value
    assert type(read) is type(value)


CONTAINS_ITSELF = []
CONTAINS_ITSELF.append(CONTAINS_ITSELF)


@pytest.mark.parametrize(
    ("place", "value", "beginning", "end"),
    [
        ("results", "", "results: ''", ""),
        ("experiment.repetitions", "0", "experiment.repetitions: ", ", not 0"),
        ("recommenders", CONTAINS_ITSELF, "recommenders", ""),
    ],
)
def test_wrong_command_line_text_is_quoted(place, value, beginning, end):
    config = with_numbers(config_with(place, value))
    problem = problem_of(Study.of, config, "config")
    assert problem.startswith(beginning)
    assert problem.endswith(end)


# Models of settings.


for module in pkgutil.walk_packages(sampled_metrics_study.__path__, "sampled_metrics_study."):
    if not module.name.endswith((".ncf", ".audit", ".reference")):
        importlib.import_module(module.name)


def subclasses(kind):
    for one in kind.__subclasses__():
        yield one
        yield from subclasses(one)


MODELS = sorted(set(subclasses(Settings)), key=lambda kind: kind.__qualname__)
EXTERNAL = {"path": "scores.npz", "format": "scores"}


def minimal_values(model):
    """Valid values of the settings without default."""
    if issubclass(model, Study):
        return STUDY
    if issubclass(model, Entry):
        kind = model.model_fields["kind"].annotation
        kind = get_args(kind)[0] if get_args(kind) else "als"
        settings = {} if kind != "external" else EXTERNAL
        return {"name": "A", "kind": kind, "settings": settings}
    return {key: value for key, value in EXTERNAL.items() if is_required(model, key)}


def is_required(model, key):
    return key in model.model_fields and model.model_fields[key].is_required()


def test_models_include_known_ones():
    names = {model.__name__ for model in MODELS}
    expected = {"Study", "SplitSettings", "ToySettings", "external"}
    assert names >= expected


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__qualname__)
def test_model_round_trips_through_json(model):
    settings = model.of(minimal_values(model), "config")
    values = settings.model_dump(mode="json", by_alias=True)
    assert model.of(values, "config") == settings


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("*.yaml")), ids=str)
def test_shipped_configuration_is_valid(path):
    contents = yaml.safe_load(path.read_text("utf-8"))
    values = STUDY | {
        key: STUDY[key] | value if isinstance(value, dict) else value
        for key, value in contents.items()
    }
    study = Study.of(values, "config")
    assert study.names == [entry["name"] for entry in values["recommenders"]]


VALIDATORS = (
    pydantic.AfterValidator,
    pydantic.BeforeValidator,
    pydantic.PlainValidator,
    pydantic.WrapValidator,
    pydantic.PlainSerializer,
    pydantic.WrapSerializer,
)


def validators(annotation):
    """All validators in an annotation."""
    for part in (*get_args(annotation), *getattr(annotation, "__metadata__", ())):
        if isinstance(part, VALIDATORS):
            yield part
        else:
            yield from validators(part)


def validators_of_model(model):
    for field in model.model_fields.values():
        for part in (*field.metadata, field.annotation):
            if isinstance(part, VALIDATORS):
                yield part
            yield from validators(part)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__qualname__)
def test_validators_are_functions(model):
    """Pydantic inspects signatures, and those of classes differ between versions of Python."""
    assert not [each for each in validators_of_model(model) if isclass(each.func)]


def test_validators_are_discovered():
    toy = next(model for model in MODELS if model.__name__ == "ToySettings")
    experiment = next(model for model in MODELS if model.__name__ == "ExperimentSettings")
    assert any(validators_of_model(toy))
    assert len(list(validators_of_model(experiment))) >= 6


# Departures from the paper's study.


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        # settings that change no expectation, or that the paper leaves open
        ({"experiment": {"repetitions": 40, "seed": 7, "shared_samples": False}}, []),
        ({"toy": {"repetitions": 30}}, []),
        ({"exact": {"metrics": ["auc"]}}, []),
        ({"experiment": {"n_negatives": 50}}, ["experiment.n_negatives is 50, the paper's 100"]),
        ({"experiment": {"ties": "random"}}, ["experiment.ties is random, the paper's paper"]),
        ({"experiment": {"metrics": ["recall@10", "ndcg@10", "auc"]}},
         ["experiment.metrics has no ap"]),
        ({"experiment": {"metrics": ["recall@10", "ndcg@10", "ap", "auc", "rr"]}}, []),
        ({"toy": {"n_negatives": 9}}, ["toy.n_negatives is 9, the paper's 99"]),
        ({"split": {"tie_break": "first"}}, ["split.tie_break is first, the paper's ncf"]),
        ({"recommenders": [{**STUDY["recommenders"][0], "settings": {"d": 32}},
                           *STUDY["recommenders"][1:]]},
         ["d of X is 32, the paper's 16"]),
        ({"recommenders": STUDY["recommenders"][1:]}, ["recommenders has no X"]),
    ],
)  # fmt: skip
def test_departures_name_settings(changes, expected):
    assert departures(study(changes), study()) == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"dataset": {"name": "ml-100k"}}, "dataset.name is ml-100k, the paper's ml-1m"),
        ({"filters": {"min_rating": 4}}, "filters.min_rating is 4.0, the paper's null"),
    ],
)
def test_departures_name_other_data_first(changes, expected):
    assert departures(study(changes), study())[0] == expected


OTHER_STUDIES = [
    {"dataset": {"name": "ml-100k"}},
    {"split": {"users": 100}},
    {"recommenders": [{"name": "Random", "kind": "random"}]},
]


@pytest.mark.parametrize("changes", OTHER_STUDIES)
def test_other_studies_use_default_choices(changes):
    chosen = study(changes).experiment
    assert (chosen.ties, chosen.divisor, chosen.assumed_sampling) == ("random", "m", None)
    assert chosen.correction_sampling == chosen.sampling


@pytest.mark.parametrize("changes", OTHER_STUDIES)
def test_other_studies_can_make_the_papers_choices(changes):
    chosen = study(changes, {"experiment": {"ties": "paper", "divisor": "m+1"}}).experiment
    assert (chosen.ties, chosen.divisor) == ("paper", "m+1")

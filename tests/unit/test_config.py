"""The configuration: what is valid, the one line for what is not, and what is generated from it."""

import contextlib
import copy
import re

import pytest
import yaml

from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics.measures import known_measures
from sampled_metrics.recommenders import KINDS, create
from sampled_metrics.study.config import Study
from sampled_metrics.study.entries import RECOMMENDERS
from sampled_metrics.study.schema import write_schema
from tests.conftest import ROOT

STUDY = yaml.safe_load((ROOT / "config/config.yaml").read_text())


def merged(config, changes):
    """Merge as Snakemake does: mappings key by key, anything else replaced."""
    both = {
        key: merged(config.get(key), value) if isinstance(value, dict) else value
        for key, value in changes.items()
    }
    return (config if isinstance(config, dict) else {}) | both


def changed(path, value):
    config = copy.deepcopy(STUDY)
    place = config
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    if value is KeyError:
        del place[path[-1]]
    return config


def refused(config):
    with pytest.raises(InputError) as caught:
        Study.of(config, "config")
    assert caught.value.path == "config"
    assert "\n" not in str(caught.value)
    return caught.value.problem


OTHERS = [
    ROOT / "config/global-time.yaml",
    ROOT / "config/ml-100k.yaml",
    ROOT / "docs/other-data.md",
]


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.name)
def test_other_studies_are_valid(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        (text,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    study = Study.of(merged(STUDY, yaml.safe_load(text)), "config")
    assert not study.is_papers_data
    assert (study.tables, study.figures, study.audit) == ((3, 4), (5, 6), [])


def test_right_orders_are_those_of_the_run_where_it_has_them(tmp_path, monkeypatch):
    second = merged(STUDY, yaml.safe_load((ROOT / "config/ml-100k.yaml").read_text()))
    own = merged(STUDY, {"dataset": TABLE})
    monkeypatch.chdir(tmp_path)
    assert Study.of(second, "config").orders == ["results/reference/ml-100k/beyond/orders.csv"]
    assert Study.of(own, "config").orders == []
    for config in (STUDY, second, own):
        made = tmp_path / config["results"] / "beyond/orders.csv"
        made.parent.mkdir(parents=True, exist_ok=True)
        made.touch()
        found = Study.of(config, "config").orders
        assert found == [f"{config['results']}/beyond/orders.csv"]


def test_the_papers_study():
    study = Study.of(STUDY, "config")
    assert study.is_papers_data
    assert (study.names, study.trained, study.external) == ([*"XYZ"], [*"XYZ"], [])
    assert study.restarted.name == "X"
    assert study.events == ["results/data/ml-1m.zip"]
    for entry in study.recommenders:
        create(entry.kind, entry.settings.model_dump(by_alias=True))
    # what is configured for X is what its model uses
    assert (
        study.recommender("X").settings.model_dump(by_alias=True)
        == (STUDY["recommenders"][0]["settings"])
    )


def test_every_kind_of_recommender_can_be_configured():
    assert set(RECOMMENDERS) == {*KINDS, "external"}
    settings = {"external": {"path": "a.csv", "format": "ranks"}}
    entries = [
        {"name": kind, "kind": kind, "settings": settings.get(kind, {})} for kind in RECOMMENDERS
    ]
    study = Study.of(STUDY | {"recommenders": entries}, "config")
    assert study.external == ["external"]


def test_every_measure_can_be_configured():
    known = [name.replace("@k", "@20").replace("fBETA", "f2") for name in known_measures()]
    names = [*known, "f12.25@10"]
    study = Study.of(changed(("experiment", "metrics"), names), "config")
    assert [str(measure) for measure in study.experiment.measures] == names


X, Y = ("recommenders", 0), ("recommenders", 1)


def test_an_invalid_value_is_one_line():
    with pytest.raises(InputError, match=r"^config: ranking\.pieces must be at least 1, not 0$"):
        Study.of(changed(("ranking", "pieces"), 0), "config")


@pytest.mark.parametrize(
    ("path", "value", "place", "words"),
    [
        (("ranks",), "both", "ranks", "trained or reference"),
        (("ranks",), KeyError, "ranks", "missing"),
        (("colour",), 1, "", "unknown key 'colour'; known: ranks, results"),
        (("dataset", "retry"), 1, "dataset", "unknown key 'retry'; known: format, name"),
        (("dataset", "timeout"), 0, "dataset.timeout", "above 0"),
        (("dataset", "url"), "ftp://x", "dataset.url", "^https?://"),
        (("dataset", "name"), "ml-2m", "dataset", "unknown name 'ml-2m'; known: ml-100k"),
        (("dataset", "path"), "x.csv", "dataset", "path is set but format is movielens"),
        (("dataset", "archive"), 3, "dataset.archive", "text"),
        (("dataset",), None, "dataset", "a mapping"),
        (("results",), "results/reference/", "results", "reference run"),
        (("results",), "./results/Reference", "results", "reference run"),
        (("results",), "results/../results//reference/x", "results", "reference run"),
        (("results",), "results/..", "results", "not a folder below"),
        (("results",), "..", "results", "not a folder below"),
        (("results",), "results/../../x", "results", "not a folder below"),
        (("results",), "/etc", "results", "not a folder below"),
        (("results",), "src", "results", "not for results"),
        (("results",), "./workflow/x", "results", "not for results"),
        (("results",), ".git", "results", "not for results"),
        (("results",), "a\n", "results", "text like"),
        (("dataset", "timeout"), float("inf"), "dataset.timeout", "finite number"),
        (("dataset", "archive"), "a\n.zip", "dataset.archive", "text like"),
        (("dataset", "url"), "http://a/b.zip\n", "dataset.url", "text like"),
        (("experiment", "repetitions"), 10**30, "experiment.repetitions", "at most 1000000"),
        ((*X, "settings", "d"), 16.0, "recommenders[0].settings.d", "whole number"),
        ((*X, "name"), "X\n", "recommenders[0].name", "text like"),
        (X, {"name": "B", "kind": "bm25", "settings": {"k": 10**12}}, "recommenders[0].settings.k",
         "at most 1000000"),
        (("results",), "a{b}", "results", "text like"),
        (("filters", "duplicates"), "drop", "filters.duplicates", "refuse, first or last"),
        (("filters", "min_rating"), float("nan"), "filters.min_rating", "finite number"),
        (("filters", "min_user_events"), True, "filters.min_user_events", "whole number"),
        (("split", "k"), 2, "split", "k is set but method is leave-last-out; set method: leave-k"),
        (("split", "method"), "leave-k-out", "split", "k is missing; method leave-k-out needs it"),
        (("split", "method"), "global-time", "split", "cut is missing; method global-time needs"),
        (("split", "method"), "given", "split", "train is missing; method given needs it"),
        (("split", "cut"), "soon", "split.cut", "no time 'soon'; write 2024-12-31"),
        (("split", "users"), 0, "split.users", "at least 1"),
        (("split", "users"), 1.5, "split.users", "1.5 is neither a whole number nor a share"),
        (("split", "seed"), -1, "split.seed", "at least 0"),
        (("recommenders",), [], "recommenders", "a list of at least 1"),
        ((*X, "kind"), "svd", "recommenders[0].kind", "als, bm25"),
        ((*X, "kind"), KeyError, "recommenders[0].kind", "missing"),
        ((*X, "kind"), "random", "recommenders[0].settings", "unknown key 'd'; known: seed"),
        ((*X, "kind"), "popularity", "recommenders[0].settings", "known: none"),
        ((*X, "name"), "a/b", "recommenders[0].name", "text like"),
        ((*X, "settings", "alpha"), -1, "recommenders[0].settings.alpha", "above 0"),
        ((*X, "settings", "d"), 1.5, "recommenders[0].settings.d", "whole number"),
        ((*Y, "settings", "self_similarity"), "no", "recommenders[1].settings", "true or fal"),
        ((*Y, "name"), "X", "recommenders", "duplicate name X"),
        ((*Y,), {"name": "E", "kind": "external"}, "recommenders[1].settings", "missing"),
        (("ranking", "pieces"), 1001, "ranking.pieces", "at most 1000"),
        (("exact", "metrics"), ["auc@5"], "exact.metrics[0]", "unknown measure 'auc@5'"),
        (("exact", "ties"), ["random", "random"], "exact.ties", "duplicate entry random"),
        (("toy", "n_negatives"), 10_000, "toy.n_negatives", "below 10000"),
        (("experiment", "estimators"), ["bv:0.10"], "experiment.estimators[0]", "as bv:0.1"),
        (("experiment", "sampling"), "none", "experiment.sampling", "unknown sampling"),
        (("experiment", "noise"), "binomial", "experiment", "is now assumed_sampling"),
    ],
)  # fmt: skip
def test_place_and_problem_of_an_invalid_value(path, value, place, words):
    problem = refused(changed(path, value))
    assert problem.startswith(place)
    assert words in problem


TABLE = {"format": "table", "name": "Ours", "path": "ours.csv"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"path": None}, "path is missing"),
        ({"path": "{day}.csv"}, "path must be text like"),
        ({"name": "ml-1m"}, "name ml-1m is that of a MovieLens"),
        ({"columns": ["u", "i"]}, "columns must be a mapping"),
        ({"columns": {"who": "u"}}, "columns: unknown key 'who'; known: user, item, rating, tim"),
        ({"columns": {"user": -1}}, "columns.user: no column -1"),
        ({"columns": {"user": 0, "item": "b"}}, "columns: names and places are mixed"),
        ({"columns": {"user": 0, "timestamp": 1}}, "columns: places need both user and item"),
        ({"columns": {"user": "a", "item": "a"}}, "columns: one column is used twice"),
        ({"separator": "::"}, "separator must be text like"),
        ({"separator": "é"}, "separator must be text like"),
        ({"separator": "\0"}, "separator must be text like"),
        ({"separator": "\t\n"}, "separator must be text like"),
        ({"path": "x.csv\n"}, "path must be text like"),
        ({"path": "-x.csv"}, "path must be text like"),
    ],
)
def test_invalid_descriptions_of_a_table(changes, words):
    problem = refused(merged(STUDY, {"dataset": TABLE | changes}))
    assert words in problem
    assert problem.startswith("dataset")


@pytest.mark.parametrize(
    "columns", [None, {}, {"timestamp": "day"}, {"rating": None}, {"user": 0, "item": 1}]
)
def test_columns_of_a_table_keep_what_was_set(columns):
    config = merged(STUDY, {"dataset": TABLE})
    config["dataset"]["columns"] = columns
    dataset = Study.of(config, "config").dataset
    assert (dataset.columns and dataset.columns.given()) == columns
    # as a step reads it
    assert type(dataset).of(yaml.safe_load(dataset.as_json()), "step") == dataset


def test_a_given_split_needs_a_table_and_no_filter_that_changes_it(tmp_path, monkeypatch):
    given = {"split": {"method": "given", "train": "a.csv", "test": "b.csv"}}
    table = {"dataset": {"format": "table", "name": "mine"}}
    study = Study.of(merged(STUDY, given | table), "config")
    assert study.events == ["a.csv", "b.csv"]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").touch()
    with pytest.raises(InputError, match=r"split\.test: no such file b\.csv"):
        study.check_files()
    for wrong in ({}, {"dataset": TABLE}):
        message = refused(merged(STUDY, given | wrong))
        assert message.startswith("split.method is given, which needs dataset.format table")
    filtered = given | table | {"filters": {"min_user_events": 2}}
    assert refused(merged(STUDY, filtered)).startswith("filters.min_user_events: split.method is")


@pytest.mark.parametrize(
    "split", [{"method": "global-time", "cut": 0.9}, {"method": "random"}, {"users": 100}]
)
def test_published_numbers_are_about_the_papers_split(split):
    study = Study.of(merged(STUDY, {"split": split}), "config")
    assert not study.is_papers_data
    assert (study.tables, study.orders) == ((3, 4), [])


def test_reference_ranks_are_of_the_papers_data(tmp_path, monkeypatch):
    second = merged(STUDY, yaml.safe_load((ROOT / "config/ml-100k.yaml").read_text()))
    assert "reference run is of ml-1m" in refused(second | {"ranks": "reference"})
    monkeypatch.chdir(ROOT)
    study = Study.of(STUDY | {"ranks": "reference"}, "config")
    study.check_files()
    assert study.audit == ["results/reference/audit.csv"]
    assert study.orders == ["results/reference/beyond/orders.csv"]
    assert study.origin == ["results/reference/provenance.json"]
    assert not [step for step in study.benchmarks() if step.startswith(("train", "fetch"))]
    other = changed((*Y, "name"), "W") | {"ranks": "reference"}
    with pytest.raises(InputError, match="the reference run has no W; it has X, Y, Z"):
        Study.of(other, "config").check_files()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"dataset.path: no such file ours.csv"):
        Study.of(merged(STUDY, {"dataset": TABLE}), "config").check_files()


def test_results_need_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").touch()
    with pytest.raises(InputError, match="results: mine is a file; name a folder"):
        Study.of(STUDY | {"results": "mine"}, "config").check_files()


def test_the_hash_leaves_out_what_cannot_change_a_result():
    own = Study.of(STUDY, "config").sha256()
    for path, value, same in (
        (("results",), "elsewhere", True),
        (("dataset", "timeout"), 7, True),
        (("dataset", "archive"), "a.zip", True),
        (("ranking", "pieces"), 9, True),
        (("experiment", "seed"), 1, False),
        ((*X, "settings", "alpha"), 0.3, False),
    ):
        assert (Study.of(changed(path, value), "config").sha256() == own) == same


def test_schema_and_table_are_generated_from_the_models(tmp_path):
    schema, readme = tmp_path / "schema.yaml", tmp_path / "README.md"
    write_schema(schema, readme)
    message = "run `make schema`"
    assert schema.read_text() == (ROOT / "workflow/schemas/config.schema.yaml").read_text(), message
    assert readme.read_text() == (ROOT / "config/README.md").read_text(), message


def test_every_setting_is_described_and_unknown_ones_are_refused():
    schema = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
    models = {"Study": schema, **schema["$defs"]}
    for name, model in models.items():
        if "properties" in model:
            assert model["additionalProperties"] is False, name
            for key, setting in model["properties"].items():
                resolved = models[setting["$ref"].split("/")[-1]] if "$ref" in setting else setting
                assert resolved.get("description") or setting.get("description"), (name, key)


# What a shell would execute, and what Snakemake would take for a wildcard.
NASTY = "a' b\"; $(touch hacked) `touch hacked` & {x} | <y>"


def texts(value, path=()):
    """Paths of all texts in a configuration."""
    if isinstance(value, str):
        yield path
    for key, part in value.items() if isinstance(value, dict) else ():
        yield from texts(part, (*path, key))
    for number, part in enumerate(value if isinstance(value, list) else ()):
        yield from texts(part, (*path, number))


def test_texts_that_reach_a_shell_are_those_that_the_workflow_is_tested_with():
    of_table = {"columns": {"user": "u", "item": "i", "rating": "r", "timestamp": "t"}}
    of_table |= {"licence": "x", "citation": "x", "separator": ";", "url": "http://x"}
    places = {"archive": "x", "cache": "x"}
    external = {"name": "E", "kind": "external", "settings": {"path": "x", "format": "ranks"}}
    config = merged(STUDY, {"dataset": TABLE | of_table | places, "recommenders": [external]})
    free = set()
    for path in texts(config):
        for word in (NASTY, NASTY.replace("{x}", "").replace("<y>", "")):
            other = copy.deepcopy(config)
            place = other
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = word
            with contextlib.suppress(InputError):
                Study.of(other, "config")
                free.add(".".join(map(str, path)))
    # Each of these is such a text in tests/workflow, in `studies.OWN` or `test_workflow.finished`.
    assert free == {
        *(f"dataset.{key}" for key in ("name", "path", "archive", "cache", "licence", "citation")),
        *(f"dataset.columns.{key}" for key in of_table["columns"]),
        "recommenders.0.settings.path",
        "scorecard.published",
        "scorecard.spread",
        "scorecard.by_start",
        "scorecard.band",
    }

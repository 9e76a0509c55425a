import copy
import re
from dataclasses import fields

import pytest
import yaml

from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.catalogue import CATALOGUE, movielens
from sampled_metrics.datasets.split import TIE_BREAKS
from sampled_metrics.metrics.measures import known_measures, parse_measure
from sampled_metrics.recommenders import KINDS, create
from sampled_metrics.study.config import allowed, check_config
from tests.conftest import ROOT

SCHEMA = yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text())
STUDY = yaml.safe_load((ROOT / "config/config.yaml").read_text())


def with_value(path, value):
    config = copy.deepcopy(STUDY)
    *parents, last = path
    place = config
    for step in parents:
        place = place[step]
    if value is KeyError:
        del place[last]
    else:
        place[last] = value
    return config


def merged(config, changes):
    """As Snakemake lays one configuration over another: mappings key by key."""
    both = {
        key: merged(config.get(key, {}), value) if isinstance(value, dict) else value
        for key, value in changes.items()
    }
    return (config if isinstance(config, dict) else {}) | both


SECOND = merged(STUDY, yaml.safe_load((ROOT / "config/ml-100k.yaml").read_text()))


@pytest.mark.parametrize("study", [STUDY, SECOND])
def test_the_studies_are_valid_and_their_values_are_usable(study):
    check_config(study, SCHEMA)
    movielens(study["dataset"]["name"])
    for recommender in study["recommenders"]:
        create(recommender["kind"], recommender.get("settings", {}))


def test_the_readme_shows_a_study_that_is_valid():
    text = (ROOT / "README.md").read_text()
    (shown,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    check_config(merged(STUDY, yaml.safe_load(shown)), SCHEMA)


def test_the_schema_knows_what_there_is():
    kinds = SCHEMA["properties"]["recommenders"]["items"]["properties"]["kind"]["enum"]
    assert sorted(kinds) == sorted([*KINDS, "external"])
    names = SCHEMA["properties"]["dataset"]["allOf"][0]["then"]["properties"]["name"]["enum"]
    assert names == list(CATALOGUE)
    others = SCHEMA["properties"]["dataset"]["allOf"][1]["then"]["properties"]["name"]["not"]
    assert others["enum"] == names
    assert SCHEMA["properties"]["split"]["properties"]["tie_break"]["enum"] == list(TIE_BREAKS)


def test_a_recommender_has_the_settings_that_the_schema_asks_for():
    for case in SCHEMA["properties"]["recommenders"]["items"]["allOf"]:
        kind = case["if"]["properties"]["kind"]
        for name in kind.get("enum", [kind.get("const")]):
            if name != "external":
                asked = case["then"]["properties"]["settings"].get("properties", {})
                known = [field.name.rstrip("_") for field in fields(create(name, {}).Settings)]
                assert list(asked) == known, name


def test_the_study_has_known_measures():
    for name in STUDY["exact"]["metrics"]:
        parse_measure(name)


MEASURES = ["f1@3", "f0.5@10", "f12.25@10", "hit@1", "rr@3", "ap-by-hits@3", "ndcg-by-relevant@5"]


@pytest.mark.parametrize("place", ["exact", "experiment"])
@pytest.mark.parametrize(
    "name", [*(name.replace("@k", "@20") for name in known_measures()), *MEASURES]
)
def test_the_schema_knows_every_measure(place, name):
    name = name.replace("fBETA", "f2")
    assert str(parse_measure(name)) == name
    check_config(with_value((place, "metrics"), [name]), SCHEMA)


X = ("recommenders", 0)
Y = ("recommenders", 1)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("ranks",), "both", "ranks is 'both'; allowed: trained, reference"),
        (("ranks",), KeyError, "ranks is missing; allowed: trained, reference"),
        (("colour",), 1, "colour is 1; no such key, allowed: ranks, results, dat"),
        (("dataset", "retry"), 1, "dataset.retry is 1; no such key, allowed: format, name"),
        (("dataset", "timeout"), 0, "dataset.timeout is 0; allowed: a number above 0"),
        (("dataset", "url"), "ftp://x", "dataset.url is 'ftp://x'; allowed: a text like https"),
        (("dataset", "name"), "ml-2m", "dataset.name is 'ml-2m'; allowed: ml-100k, ml-1m, ml-10m"),
        (("dataset", "format"), "table", "dataset.path is missing; allowed: a text"),
        (("dataset", "path"), "x.csv", "path is 'x.csv' but dataset.format is 'movielens'; allowe"),
        (
            ("dataset", "columns"),
            {"user": "u"},
            "columns is {'user': 'u'} but dataset.format is 'm",
        ),
        (("results",), "results/reference", "results is 'results/reference'; allowed: any but res"),
        (("results",), "a{b}", "results is 'a{b}'; allowed: a text like results"),
        (("filters", "duplicates"), "drop", "duplicates is 'drop'; allowed: refuse, first, last"),
        (("filters", "min_user_events"), 0, "min_user_events is 0; allowed: a whole number of at"),
        (("dataset", "archive"), 3, "dataset.archive is 3; allowed: a text, or null"),
        (("dataset",), None, "dataset is None; allowed: a mapping"),
        (("split", "tie_break"), "newest", "split.tie_break is 'newest'; allowed: ncf, first, la"),
        (("split", "seed"), -1, "split.seed is -1; allowed: a whole number of at least 0"),
        (("recommenders",), [], r"recommenders is \[\]; allowed: a list with entries, at least 1"),
        ((*X, "kind"), "svd", r"recommenders\[0\].kind is 'svd'; allowed: als, itemknn"),
        ((*X, "name"), "a/b", r"recommenders\[0\].name is 'a/b'; allowed: a text like X"),
        ((*X, "colour"), 1, r"recommenders\[0\].colour is 1; no such key, allowed: name, kind"),
        ((*X, "settings", "alpha"), -1, r"\[0\].settings.alpha is -1; allowed: a number above 0"),
        ((*X, "kind"), "external", r"settings.d is 16; no such key, allowed: path, format"),
        ((*X, "kind"), "random", r"settings.d is 16; no such key, allowed: seed"),
        ((*X, "settings"), KeyError, r"recommenders\[0\].settings is missing; allowed: a mapping"),
        ((*X, "settings", "d"), 1.5, r"\[0\].settings.d is 1.5; allowed: a whole number of at le"),
        ((*X, "settings", "q"), 3, r"\[0\].settings.q is 3; no such key, allowed: d, lambda, al"),
        ((*X, "settings", "seed"), KeyError, r"settings.seed is missing; allowed: a whole number"),
        ((*Y, "settings", "k"), 0, r"settings.k is 0; allowed: a whole number of at least 1, or n"),
        ((*Y, "settings", "neighbour_axis"), "x", r"neighbour_axis is 'x'; allowed: row, column"),
        ((*Y, "settings", "self_similarity"), "no", "is 'no'; allowed: true or false"),
        ((*Y, "name"), "X", "recommenders holds 'X' twice; allowed: each once"),
        (("ranking", "block_size"), 0, "ranking.block_size is 0; allowed: a whole number of at le"),
        (("ranking", "pieces"), 0, "pieces is 0; allowed: a whole number of at least 1 and at m"),
        (
            ("experiment", "pieces"),
            1001,
            "pieces is 1001; allowed: a whole number of at least 1 and",
        ),
        (("exact", "metrics"), ["auc@5"], r"exact.metrics\[0\] is 'auc@5'; allowed: a text like"),
        (("exact", "ties"), ["middle"], r"exact.ties\[0\] is 'middle'; allowed: expected, optim"),
        (
            ("experiment", "estimators"),
            ["bv:.1"],
            r"estimators\[0\] is 'bv:.1'; allowed: a tex",
        ),
        (("experiment", "estimators"), ["bv:0.10"], r"estimators\[0\] is 'bv:0.10'; allowed: a"),
        (("experiment", "repetitions"), 1, "repetitions is 1; allowed: a whole number of at leas"),
        (("exact", "ties"), ["random", "random"], "exact.ties is .*; allowed: no entry twice"),
    ],
)
def test_a_breach_is_one_line_with_key_value_and_what_is_allowed(path, value, message):
    with pytest.raises(InputError, match=f"^config: .*{message}") as caught:
        check_config(with_value(path, value), SCHEMA)
    assert "\n" not in str(caught.value)


TABLE = {"format": "table", "name": "Ours", "path": "ours.csv"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"path": ""}, "path is ''; allowed: a text like purchases.parquet"),
        ({"path": None}, "path is None; allowed: a text like purchases.parquet"),
        # Snakemake would take it for a wildcard.
        ({"path": "{day}.csv"}, "path is '{day}.csv'; allowed: a text like purchases.parquet"),
        # What config.yaml says, and a study of a table leaves as it is.
        ({"name": "ml-1m"}, "name is 'ml-1m'; allowed: any but ml-100k, ml-1m, ml-10m, ml-20m"),
        ({"columns": ["u", "i"]}, r"columns is \['u', 'i'\]; allowed: a mapping, or null"),
        ({"columns": {"who": "u"}}, "columns.who is 'u'; no such key, allowed: user, item, rat"),
        (
            {"columns": {"user": -1}},
            r"columns.user is -1; allowed: a text of length at least 1, or a whole number of at",
        ),
        (
            {"separator": "::"},
            "separator is '::'; allowed: a text of length at least 1 and at most 1, or null",
        ),
    ],
)
def test_a_breach_in_the_description_of_a_table(changes, message):
    with pytest.raises(InputError, match=f"^config: dataset.{message}"):
        check_config(merged(STUDY, {"dataset": TABLE | changes}), SCHEMA)


@pytest.mark.parametrize(
    "columns", [None, {}, {"timestamp": "day"}, {"rating": None}, {"user": 0, "item": 1}]
)
def test_columns_of_a_table_may_have_their_own_names(columns):
    config = merged(STUDY, {"dataset": TABLE})
    config["dataset"]["columns"] = columns
    check_config(config, SCHEMA)


def test_a_recommender_without_settings_says_that_none_is_allowed():
    popular = {"name": "P", "kind": "popularity", "settings": {"seed": 1}}
    with pytest.raises(InputError, match=r"settings.seed is 1; no such key, allowed: none$"):
        check_config(STUDY | {"recommenders": [popular]}, SCHEMA)


def schemas(schema, path="config"):
    """Every schema of a value, with where it is."""
    for name, value in schema.get("properties", {}).items():
        yield f"{path}.{name}", value
        yield from schemas(value, f"{path}.{name}")
    if "items" in schema:
        yield from schemas(schema["items"], f"{path}[]")
    for case in schema.get("allOf", ()):
        settings = case["then"].get("properties", {}).get("settings", {})
        yield from schemas(settings, f"{path}.settings")


OPTIONAL = {
    "config.dataset": {"path", "columns", "separator", "licence", "citation"},
    "config.dataset.columns": {"user", "item", "rating", "timestamp"},
    "config.recommenders[]": {"settings"},
}


def test_every_key_is_described_and_none_unknown_is_allowed():
    undescribed = [
        path
        for path, schema in schemas(SCHEMA)
        if "description" not in schema and not path.endswith(".settings")
    ]
    assert not undescribed
    for path, schema in [("config", SCHEMA), *schemas(SCHEMA)]:
        if "properties" in schema:
            assert schema["additionalProperties"] is False
            optional = set(schema["properties"]) - set(schema.get("required", ()))
            assert optional == OPTIONAL.get(path, set()), path


def test_words_for_what_is_allowed():
    assert allowed({"const": "als"}) == "als"
    assert allowed({"type": "number", "exclusiveMinimum": 0, "maximum": 1}) == (
        "a number above 0 and at most 1"
    )
    assert allowed({}) == "another value"

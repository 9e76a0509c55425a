"""What rules request of a scheduler: more as the data grows, as the documentation says."""

import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from sampled_metrics.study.config import Study
from sampled_metrics.study.resources import (
    COMPRESSED,
    MINUTES_OF_SCORES,
    REQUESTS,
    SCORES,
    memory_of,
    minutes_of,
)
from tests.conftest import ROOT

SNAKEFILE = (ROOT / "workflow/Snakefile").read_text("utf-8")
RULES = dict(
    re.findall(
        r"(?ms)^ *(?:use rule \w+ as|rule) (\w+)(?: with)?:\n(.*?)(?=^ *(?:use )?rule |\Z)",
        SNAKEFILE,
    )
)
STUDY = Study.of(yaml.safe_load((ROOT / "config/config.yaml").read_text()), "config")
X, Y, Z = (SimpleNamespace(recommender=name) for name in "XYZ")


@pytest.fixture
def inputs(tmp_path):
    """Inputs of given sizes in MB, named as in the rules, with counts of a split."""

    def make(items=0, training_events=0, **sizes):
        found = {}
        for name, megabytes in sizes.items():
            with (tmp_path / name).open("wb") as file:
                file.truncate(int(megabytes * 1e6))
            found[name] = str(tmp_path / name)
        found["counts"] = str(tmp_path / "split.json")
        counts = {"items": items, "training_events": training_events}
        (tmp_path / "split.json").write_text(json.dumps(counts))
        return SimpleNamespace(get=found.get, **found)

    return make


def test_every_rule_that_is_submitted_requests_memory_and_time():
    assert set(RULES) - {"all", "fetch"} == set(REQUESTS)
    assert "localrule: True" in RULES["fetch"]
    for name in REQUESTS:
        study = ", STUDY" if name in ("train", "rank") else ""
        for resource in (
            f'mem_mb=memory_of("{name}"{study}),',
            f'runtime=minutes_of("{name}"{study}),',
        ):
            assert resource in RULES[name]


@pytest.mark.parametrize("rule", REQUESTS)
def test_a_request_is_a_base_and_a_factor(inputs, rule):
    request = REQUESTS[rule]
    sizes = dict.fromkeys(request.counted, 3)
    for function, base, factor in (
        (memory_of(rule), request.memory, request.memory_per_mb),
        (minutes_of(rule), request.minutes, request.minutes_per_mb),
    ):
        expected = base + 3 * len(sizes) * factor
        found = [function(X, inputs(**sizes, logs=5), attempt) for attempt in (1, 2, 3)]
        assert expected <= found[0] < expected + 1
        assert found == [found[0], 2 * found[0], 3 * found[0]]


def test_pieces_share_the_time_of_their_users(inputs):
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    found = []
    for pieces in (1, 10):
        config["ranking"] = {**config.get("ranking", {}), "pieces": pieces}
        job = X, inputs(split=200, items=100, training_events=100), 1
        found.append(minutes_of("rank", Study.of(config, "config"))(*job))
    base = REQUESTS["rank"].minutes
    assert found[0] > 10 * base
    assert found[1] == pytest.approx(base + (found[0] - base) / 10, abs=1)


def test_several_files_of_an_input_and_none(inputs):
    both = inputs(one=4, two=6)
    several = SimpleNamespace(get={"ranks": [both.one, both.two]}.get)
    assert memory_of("page")(X, several, 1) == memory_of("page")(X, inputs(ranks=10), 1)
    without = SimpleNamespace(get={"split": both.one, "source": []}.get)
    assert memory_of("rank")(X, without, 1) == memory_of("rank")(X, inputs(split=4), 1)
    with pytest.raises(FileNotFoundError):  # by which Snakemake decides later
        memory_of("page")(X, SimpleNamespace(get={"ranks": "gone.parquet"}.get), 1)


@pytest.mark.parametrize("name", ["a.zip", "a.csv.gz", "a.parquet", "a.PQ", "a.csv", "a.tsv"])
def test_events_of_compressed_files_request_more(tmp_path, name):
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(4_000_000)
    found = memory_of("split")(X, SimpleNamespace(get={"events": str(path)}.get), 1)
    factor = COMPRESSED.get(path.suffix.lower(), REQUESTS["split"].memory_per_mb)
    assert found == REQUESTS["split"].memory + 4 * factor
    assert (factor == REQUESTS["split"].memory_per_mb) == (path.suffix in (".csv", ".tsv"))


@pytest.fixture
def elsewhere(tmp_path):
    """Memory and minutes of ranking by a file of scores or ranks made elsewhere."""

    def make(name, kind="scores"):
        path = str(tmp_path / name)
        settings = {"path": path, "format": kind}
        config = yaml.safe_load((ROOT / "config/config.yaml").read_text())
        config["recommenders"] = [{"name": "E", "kind": "external", "settings": settings}]
        study = Study.of(config, "config")
        job = SimpleNamespace(recommender="E"), SimpleNamespace(get={"source": path}.get), 1
        return memory_of("rank", study)(*job), minutes_of("rank", study)(*job)

    return make


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_scores_of_a_matrix_count_by_their_arrays(tmp_path, elsewhere, save):
    save(tmp_path / "s.npz", scores=np.zeros((1000, 500)), user_ids=np.arange(1000))
    memory, minutes = elsewhere("s.npz")
    base = REQUESTS["rank"]
    # 4 MB of scores and 8 kB of ids, a little more than once
    assert base.memory + 4.008 * 1.2 <= memory <= base.memory + 4.009 * 2 + 1
    assert base.minutes < minutes <= base.minutes + 1
    (tmp_path / "damaged.npz").write_bytes(bytes(3_000_000))
    assert base.memory + 3 < elsewhere("damaged.npz")[0] <= base.memory + 6
    with pytest.raises(FileNotFoundError):
        elsewhere("gone.npz")


@pytest.mark.parametrize("name", ["s.csv", "s.csv.gz", "s.parquet", "s.inter"])
def test_tables_made_elsewhere_count_by_their_files(tmp_path, elsewhere, name):
    (tmp_path / name).write_bytes(bytes(4_000_000))
    base = REQUESTS["rank"]
    factor = SCORES.get((tmp_path / name).suffix, base.memory_per_mb)
    assert elsewhere(name) == (base.memory + 4 * factor, base.minutes + 1)
    ranks = base.memory + 4 * base.memory_per_mb, base.minutes + 4 * base.minutes_per_mb
    assert elsewhere(name, "ranks") == ranks


@pytest.mark.parametrize("rule", ["train", "rank"])
def test_all_pairs_of_items_count_where_all_neighbours_are_kept(inputs, rule):
    memory, minutes = memory_of(rule, STUDY), minutes_of(rule, STUDY)
    kept = inputs(split=80, items=16_000, training_events=10**7)
    assert memory(X, kept, 1) == memory_of(rule)(X, kept, 1)
    assert memory(Z, kept, 1) == memory(X, kept, 1)
    # 9 bytes for each pair, and a third as much again
    assert memory(Y, kept, 1) - memory(X, kept, 1) >= 1.3 * 9 * 16_000**2 / 1e6
    assert memory(Y, kept, 2) == 2 * memory(Y, kept, 1)
    # beyond the limit weights are not kept, and a slab of 256 rows is held a few times
    large = inputs(split=80, items=27_000, training_events=2 * 10**7)
    assert 4 * 256 * 8 * 27_000 / 1e6 <= memory(Y, large, 1) - memory(X, large, 1) <= 1000
    # a sum for each event and item, in 3 ns or more
    assert minutes(Y, large, 1) - minutes(X, large, 1) >= 2e7 * 27_000 * 3e-9 / 60


def test_the_documentation_has_the_requests():
    text = (ROOT / "docs/cluster.md").read_text("utf-8")
    rows = [re.split(r" *\| *", line.strip("| ")) for line in text.splitlines() if "| `" in line]
    expected = [
        [
            *(f"`{rule}`", ", ".join(request.counted) or "none", f"{request.memory:,}"),
            *(f"{request.memory_per_mb:g}", str(request.minutes), f"{request.minutes_per_mb:g}"),
        ]
        for rule, request in REQUESTS.items()
    ]
    assert rows == expected
    said = re.search(r"`split` requests (.*?) MB for each MB", " ".join(text.split()))[1]
    found = {end: float(factor) for factor, end in re.findall(r"([\d.]+) \(`(\S+?)`", said)}
    assert found == {end: COMPRESSED[end] for end in (".zip", ".gz", ".bz2", ".parquet")}
    said = re.search(r"`rank` requests (.*?) MB and ([\d.]+) minutes", " ".join(text.split()))
    found = {end: float(factor) for factor, end in re.findall(r"([\d.]+) \(`(\S+?)`", said[1])}
    assert found == {end: SCORES[end] for end in (".npz", ".csv", ".gz", ".parquet")}
    assert SCORES[".tsv"] == SCORES[".csv"]
    assert float(said[2]) == MINUTES_OF_SCORES


def test_groups_of_the_profile_are_rules():
    profile = yaml.safe_load((ROOT / "workflow/profiles/slurm/config.yaml").read_text())
    grouped = [group.partition("=")[0] for group in profile["groups"]]
    assert set(grouped) < set(REQUESTS)

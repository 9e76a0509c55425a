"""What rules ask of a scheduler: formulas that grow with the data and stay above what was seen."""

import re
from dataclasses import fields, replace

import pytest
import yaml

from sampled_metrics.study.resources import (
    LEAST_MINUTES,
    NEEDS,
    Size,
    Work,
    memory_mb,
    minutes,
)
from tests.conftest import ROOT

RULES = [
    rule
    for path in sorted((ROOT / "workflow/rules").glob("*.smk"))
    for rule in re.findall(r"(?ms)^ *rule (\w+):\n(.*?)(?=^ *rule |\Z)", path.read_text())
]
LOGGED = [(name, block) for name, block in RULES if "log:\n" in block]
MOVIELENS_1M = Size(6040, 3706, 1_000_209)
SMALL = Work(MOVIELENS_1M)
LARGE = Work(Size(24_000, 8_000, 2_528_868))
# Largest resident memory (MiB) of one process, by tests/benchmarks/stages.py with and without the
# targets `spread audit`: on MovieLens 1M and, where it was run, on the larger data.
MEASURED = {
    "fetch": (56, 56),
    "describe": (88, None),
    "split": (250, 394),
    "train als": (127, 171),
    "train itemknn-all": (250, 708),
    "train itemknn": (160, 239),
    "train": (141, 205),
    "rank itemknn-all": (251, 734),
    "rank": (173, 248),
    "rank_external": (None, 245),
    "sample": (197, 211),
    "draw": (197, 211),
    "ranks_figures": (400, 738),
    "measure_readings": (400, None),
    "measure_spread": (217, None),
    "exact": (143, 157),
    "compare": (156, 156),
    "scorecard": (156, None),
    "toy": (156, None),
    "theory_figures": (232, None),
    "provenance": (33, 33),
    "page": (214, 233),
}


def test_every_rule_with_a_log_asks_for_memory_and_time_by_the_formulas():
    names = [name for name, _ in LOGGED]
    assert {"fetch", "train", "rank_piece", "draw", "measure_spread", "page"} <= set(names)
    # in one piece or several, ranking and sampling each have two rules of one name
    assert sorted(name for name in set(names) if names.count(name) > 1) == ["rank", "sample"]
    for name, block in LOGGED:
        assert re.search(r"resources:\n +mem_mb=memory_mb,\n +runtime=minutes,\n", block), name


def test_every_formula_is_of_a_rule_and_was_measured():
    rules = {name.split()[0] for name in NEEDS}
    assert rules == {name.removesuffix("_piece") for name, _ in LOGGED}
    assert MEASURED.keys() == NEEDS.keys()


@pytest.mark.parametrize("step", MEASURED)
def test_request_exceeds_what_was_measured_by_the_margin(step):
    rule, _, kind = step.partition(" ")
    for work, peak in zip((SMALL, LARGE), MEASURED[step], strict=True):
        if peak is not None:
            # 1 MiB is 1.048576 MB; beside the step Snakemake runs twice, with 94 MiB each
            assert memory_mb(rule, work, kind=kind) >= 1.5 * 1.048576 * (peak + 2 * 94)


@pytest.mark.parametrize("step", NEEDS)
@pytest.mark.parametrize("field", [field.name for field in fields(Size)])
def test_requests_never_shrink_as_the_data_grows(step, field):
    rule, _, kind = step.partition(" ")
    sizes = [replace(MOVIELENS_1M, **{field: 2000 * 10**power}) for power in range(6)]
    for ask in (memory_mb, minutes):
        asked = [ask(rule, Work(size), kind=kind) for size in sizes]
        assert asked == sorted(asked)


@pytest.mark.parametrize(
    ("step", "field"),
    [
        ("split", "interactions"),
        ("train als", "users"),
        ("train itemknn-all", "items"),
        ("rank itemknn-all", "items"),
        ("sample", "users"),
        ("train itemknn", "items"),
        ("ranks_figures", "users"),
        ("measure_readings", "interactions"),
        ("measure_spread", "users"),
    ],
)
def test_what_grows_with_the_data_asks_for_more(step, field):
    rule, _, kind = step.partition(" ")
    more = Work(replace(MOVIELENS_1M, **{field: 2000 * getattr(MOVIELENS_1M, field)}))
    assert memory_mb(rule, more, kind=kind) > 3 * memory_mb(rule, SMALL, kind=kind)
    assert minutes(rule, more, kind=kind) > LEAST_MINUTES


@pytest.mark.parametrize("step", NEEDS)
def test_every_attempt_doubles_memory_and_time(step):
    rule, _, kind = step.partition(" ")
    for ask in (memory_mb, minutes):
        first, second, third = (ask(rule, LARGE, attempt, kind) for attempt in (1, 2, 3))
        assert (second, third) == (2 * first, 4 * first)


def test_pieces_take_the_memory_of_the_whole_and_less_time():
    huge = Work(Size(10**6, 10**5, 10**8), draws=70_000)
    for rule, kind in (("rank_piece", "itemknn-all"), ("draw", "")):
        cut = replace(huge, pieces=50)
        assert memory_mb(rule, cut, kind=kind) == memory_mb(rule, huge, kind=kind)
        assert minutes(rule, cut, kind=kind) < minutes(rule, huge, kind=kind)


def test_sizes_from_counts_and_from_a_table(tmp_path):
    path = tmp_path / "split.json"
    path.write_text('{"method": "x", "users": 3, "items": 2, "interactions": 7}')
    assert Size.of_counts(path) == Size(3, 2, 7)
    # 1,000,209 events of ten bytes: more than there are of each
    guessed = Size.of_table(10_002_090)
    for field in fields(Size):
        assert getattr(guessed, field.name) >= getattr(MOVIELENS_1M, field.name)


def test_rules_of_the_login_node_are_those_that_the_readme_names():
    text = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    groups = re.findall(r"localrules:\n((?: +\w+,\n)+)", text)
    local = sorted(name for group in groups for name in re.findall(r"\w+", group))
    assert local == ["describe", "fetch", "provenance", "rank"]
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert (
        "`fetch`, `describe`, `provenance` and the gathering of ranks run on the login node"
        in readme
    )
    profile = (ROOT / "workflow/profiles/slurm/config.yaml").read_text()
    assert "the login node: fetch, describe, provenance, gathering ranks" in profile


def test_profiles():
    local, slurm = (
        yaml.safe_load((ROOT / f"workflow/profiles/{name}/config.yaml").read_text())
        for name in ("local", "slurm")
    )
    assert local == {"cores": "all"}
    assert slurm["executor"] == "slurm"
    assert slurm["retries"] >= 1
    assert slurm["latency-wait"] > 0
    assert slurm["jobs"] > 1
    # whose they are only their user knows
    assert not {"slurm_account", "slurm_partition"} & slurm["default-resources"].keys()


ALLOWED = ("workflow/profiles/", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "tests/",
           "Makefile", ".ci/", "pyproject.toml", "requirements.lock")  # fmt: skip


def test_no_executor_is_named_outside_the_profiles():
    files = [ROOT / "Snakefile", ROOT / "environment.yml"]
    for name in ("workflow", "src", "config"):
        files += [path for path in (ROOT / name).rglob("*") if path.is_file()]
    named = [
        path.relative_to(ROOT).as_posix()
        for path in files
        if path.suffix not in (".pyc", ".png")
        and re.search(r"(?i)slurm|\bsge\b|htcondor|\blsf\b|kubernetes", path.read_text("utf-8"))
    ]
    assert [name for name in named if not name.startswith(ALLOWED)] == []

"""What rules ask of a scheduler: more as the data grows, and more than was measured."""

import json
import re
from types import SimpleNamespace

import pytest
import yaml

from sampled_metrics.study.config import Study
from sampled_metrics.study.resources import out_of_memory, scaled, training_memory
from tests.conftest import ROOT

RULES = {
    name: block
    for path in sorted((ROOT / "workflow/rules").glob("*.smk"))
    for name, block in re.findall(
        r"(?ms)^ *rule (\w+):\n(.*?)(?=^ *rule |\Z)", path.read_text(encoding="utf-8")
    )
}
LOGGED = {name: block for name, block in RULES.items() if "log:\n" in block}
STUDY = Study.of(yaml.safe_load((ROOT / "config/config.yaml").read_text()), "config")

# MB of the inputs on MovieLens 1M, and of its itemknn with all neighbours.
INPUTS = {"events": 5.9, "split": 4.1, "model": 1.3, "ranks": 0.08}
ALL_NEIGHBOURS = INPUTS | {"model": 114}
# Largest resident memory of one process in MiB on MovieLens 1M, by tests/benchmarks/stages.py.
PEAKS = {
    "fetch": 56,
    "describe": 88,
    "split": 250,
    "train": 160,
    "rank": 173,
    "sample": 197,
    "ranks_figures": 400,
    "exact": 143,
    "compare": 156,
    "scorecard": 156,
    "toy": 156,
    "theory_figures": 232,
    "provenance": 33,
    "page": 214,
    "measure_spread": 217,
    "measure_readings": 400,
}
SNAKEMAKE = 2 * 94  # MiB: it runs twice beside a job on a node


@pytest.fixture
def files(tmp_path):
    """Make inputs of given sizes in MB, named as in the rules."""

    def make(**sizes):
        for name, size in sizes.items():
            with (tmp_path / name).open("wb") as file:
                file.truncate(int(size * 1e6))
        return {name: str(tmp_path / name) for name in sizes}

    return make


def asked(rule, inputs, resource="mem_mb"):
    """What a rule asks for, read from its text."""
    (text,) = re.findall(rf"{resource}=(\w+\(.*?\)),\n", LOGGED[rule])
    function = eval(text.replace("training_memory(STUDY, ", "scaled("), {"scaled": scaled})  # noqa: S307
    return function(SimpleNamespace(), inputs, 1)


def test_every_rule_with_a_log_asks_for_memory_and_time():
    assert {"fetch", "train", "rank", "gather_ranks", "measure_spread", "page"} <= LOGGED.keys()
    for name, block in LOGGED.items():
        assert re.search(r"resources:\n +mem_mb=\w+\(.*\),\n +runtime=\w+\(.*\),\n", block), name


@pytest.mark.parametrize("rule", PEAKS)
def test_a_rule_asks_for_half_as_much_again_as_was_measured(rule, files):
    # 1 MiB is 1.048576 MB
    assert asked(rule, files(**INPUTS)) >= 1.5 * 1.048576 * (PEAKS[rule] + SNAKEMAKE)
    assert asked(rule, files(**INPUTS), "runtime") >= 10


def test_ranking_by_all_neighbours_asks_for_its_model(files):
    assert asked("rank", files(**ALL_NEIGHBOURS)) >= 1.5 * 1.048576 * (251 + SNAKEMAKE)


def test_requests_grow_with_the_input_and_the_attempt(files):
    resource = scaled(100.5, split=2, ranks=0.5)
    inputs = files(split=10, one=4, two=6)
    both = {"split": inputs["split"], "ranks": [inputs["one"], inputs["two"]]}
    assert [resource(None, both, attempt) for attempt in (1, 2, 3)] == [126, 252, 378]
    assert resource(None, {"split": inputs["split"]}, 1) == 121
    with pytest.raises(FileNotFoundError):  # by which Snakemake decides later
        resource(None, {"split": "gone.npz"}, 1)


def test_all_pairs_of_items_count_where_all_neighbours_are_kept(tmp_path, files):
    counts = tmp_path / "split.json"
    counts.write_text(json.dumps({"items": 16_000}))
    inputs = SimpleNamespace(**files(split=80), counts=str(counts))
    inputs.get = lambda name: getattr(inputs, name)
    memory = training_memory(STUDY, 500, split=25)

    def of(name, attempt=1):
        return memory(SimpleNamespace(recommender=name), inputs, attempt)

    assert of("X") == of("Z") == 2500
    # 8 bytes for each pair, and half as much again
    assert of("Y") - of("X") >= 1.5 * 8 * 16_000**2 / 1e6
    assert of("Y", 2) == 2 * of("Y")


def test_what_ran_out_of_memory_is_one_line_with_the_remedy(tmp_path):
    def step(rule, log, *wildcards, is_local=False):
        path = tmp_path / f"{rule}.log"
        if log is not None:
            path.write_text(log)
        return SimpleNamespace(
            rule=SimpleNamespace(name=rule),
            log=[str(path)],
            output=[str(tmp_path / rule)],
            wildcards=wildcards,
            resources=SimpleNamespace(mem_mb=1200),
            attempt=3,
            is_local=is_local,
            is_group=lambda: False,
        )

    (tmp_path / "done").touch()
    group = [step("at_work", ""), step("done", "INFO: 3 users\n"), step("waiting", None)]
    jobs = [
        step("rank", "WARNING: few users\n", "X", "1-of-3"),
        step("split", "ERROR: X.csv, row 3: duplicate user_id 7\n"),
        step("train", "ERROR: not enough memory: 28 GB\n", "Y", is_local=True),
        step("not_begun", None),
        SimpleNamespace(is_group=lambda: True, jobs=group),
    ]
    lines = [re.fullmatch(r"(.+) probably ran .*1200 MB\); (.+)", x) for x in out_of_memory(jobs)]
    assert [line[1] for line in lines] == ["rank X 1-of-3", "train Y", "not_begun", "at_work"]
    # 400 MB an attempt were too few
    assert lines[0][2] == "ask for more: --set-resources 'rank:mem_mb=attempt * 800'"
    assert "--cores 1" in lines[1][2]


def test_rules_of_the_login_node_are_those_that_the_guide_names():
    text = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    local = sorted(re.findall(r"localrules:\n +(\w+),\n", text))
    assert local == ["describe", "fetch", "gather_ranks", "provenance"]
    guide = (ROOT / "docs/cluster.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in guide for name in local)


def test_profiles():
    local, slurm = (
        yaml.safe_load((ROOT / f"workflow/profiles/{name}/config.yaml").read_text())
        for name in ("local", "slurm")
    )
    assert local == {"cores": "all", "scheduler": "greedy", "rerun-incomplete": True}
    assert slurm["rerun-incomplete"]
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

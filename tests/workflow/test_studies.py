"""Studies of other data, in other folders, and the messages of failures."""

import csv
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from tests.conftest import ROOT, write_archive
from tests.helpers.interactions import synthetic_interactions
from tests.workflow.conftest import run

pytestmark = pytest.mark.long

# Names that a shell would execute or split if they were not quoted.
NASTY = "a' b\"; $(touch hacked) `touch hacked` &"
COLUMNS = {"user": NASTY, "item": f"{NASTY}2", "rating": f"{NASTY}3"}
OWN = {
    "dataset": {
        "format": "table",
        "name": f"Listening at home {NASTY}",
        "columns": COLUMNS | {"timestamp": None},
        "licence": "None of anybody's business.",
        "citation": f"Somebody (2026). {NASTY}",
    },
    "split": {"method": "given", "train": f"{NASTY}.tsv", "test": f"{NASTY}.test.tsv", "users": 40},
    "recommenders": [
        {
            "name": "Elsewhere",
            "kind": "external",
            "settings": {"path": f"{NASTY}.csv", "format": "scores"},
        },
        {"name": "1.50", "kind": "popularity"},
        {"name": "Best sellers", "kind": "popularity"},
    ],
    "experiment": {"n_negatives": 10, "repetitions": 20},
}
MODULE = f"""
configfile: "config/config.yaml"


module sampled:
    snakefile: "{ROOT}/workflow/Snakefile"
    config: config


use rule * from sampled as sampled_*


rule mine:
    default_target: True
    input:
        rules.sampled_all.input,
        exact=rules.sampled_exact.output,
    output:
        "mine.txt",
    shell:
        "wc -l < {{input.exact[0]}} > {{output}}"
"""


def write_study(folder):
    """Write two tables that give a split with text ids, external scores, and a study of both."""
    events = synthetic_interactions()
    is_last = np.append(events.user[1:] != events.user[:-1], True)
    for key, is_part in (("train", ~is_last), ("test", is_last)):
        pairs = zip(events.user[is_part], events.item[is_part], strict=True)
        with (folder / OWN["split"][key]).open("w", newline="") as file:
            writer = csv.writer(file, delimiter="\t", lineterminator="\n")
            writer.writerows(
                [list(COLUMNS.values()), *((f"u{u}", f"s{i:03}", 5) for u, i in pairs)]
            )
    rng = np.random.default_rng(0)
    pairs = [(u, i) for u in np.unique(events.user) for i in np.unique(events.item)]
    scores = [f"u{u},s{i:03},{rng.integers(0, 50) + 20 * (u % 2 == i % 2)}\n" for u, i in pairs]
    (folder / f"{NASTY}.csv").write_text("user_id,item_id,score\n" + "".join(scores))
    (folder / "config").mkdir()
    (folder / "config/config.yaml").write_text(yaml.safe_dump(OWN))
    (folder / "Snakefile").write_text(MODULE)


def snakemake(folder, *arguments):
    """Run Snakemake by its path, without activating its environment."""
    path = [part for part in os.environ["PATH"].split(os.pathsep) if ".venv" not in part]
    changed = {"PATH": os.pathsep.join(path), "MOVIELENS_ARCHIVE": f"{ROOT}/LICENSE"}
    command = (Path(sys.executable).with_name("snakemake"), "--cores", "2", *arguments)
    return run(*command, cwd=folder, env=os.environ | changed)


@pytest.fixture(scope="module")
def study_folder(tmp_path_factory):
    """Run the study as a module of a workflow in another folder."""
    folder = tmp_path_factory.mktemp("own")
    write_study(folder)
    done = snakemake(folder)
    assert done.returncode == 0, done.stdout
    return folder


def test_configuration_text_is_not_executed(study_folder):
    assert not list(study_folder.rglob("hacked"))


@pytest.fixture
def provenance(study_folder):
    return json.loads((study_folder / "results/provenance.json").read_text())


def test_provenance_names_the_own_data(provenance):
    source = provenance["source"]
    assert source["dataset"] == f"Listening at home {NASTY}"
    assert source["licence"] == "None of anybody's business."
    assert f"{NASTY}.tsv" in source["archive"]


def test_provenance_counts_users_of_the_given_split(provenance):
    """The tables have 60 users, and the settings evaluate 40 of them."""
    split = provenance["split"]
    assert (split["method"], split["users"], split["evaluated_users"]) == ("given", 60, 40)


def test_ranks_of_external_scores_have_the_ids_of_the_tables(study_folder):
    ranks = pd.read_parquet(study_folder / "results/ranks/Elsewhere.parquet")
    assert len(ranks) == 40
    assert ranks["user_id"].str.fullmatch(r"u\d+").all()


def test_external_scores_that_know_the_users_beat_popularity(study_folder):
    """A user and an item that are both even or both odd have a score that is 20 higher."""
    exact = pd.read_csv(study_folder / "results/tables/exact.csv", dtype={"recommender": str})
    auc = exact.query("metric == 'auc' and ties == 'expected'").set_index("recommender")["value"]
    assert auc["Elsewhere"] > auc["1.50"]


def test_own_rule_reads_a_result_of_the_module(study_folder):
    """The rule `mine` counts the lines of the table of exact metrics."""
    lines = (study_folder / "results/tables/exact.csv").read_text().splitlines()
    assert (study_folder / "mine.txt").read_text().strip() == str(len(lines))


def test_page_cites_the_own_data(study_folder):
    assert "Somebody (2026)." in (study_folder / "results/report.html").read_text()


def test_name_with_space_names_files(study_folder):
    best, same = (
        study_folder / f"results/ranks/{name}.parquet" for name in ("Best sellers", "1.50")
    )
    assert best.read_bytes() == same.read_bytes()
    table = pd.read_csv(study_folder / "results/tables/table4.csv")
    assert "1.50 vs Best sellers" in table["row"].tolist()


@pytest.mark.parametrize(
    ("experiment", "status"),
    [("{n_negatives: 50, rounding: linear}", 0), ("{n_negatives: 0}", 1)],
    ids=["valid", "invalid"],
)
def test_number_of_the_command_line_reaches_the_settings(experiment, status):
    reference = ("--config", "ranks=reference", f"experiment={experiment}")
    done = snakemake(ROOT, "--dry-run", *reference)
    assert done.returncode == status, done.stdout
    assert ("config: experiment.n_negatives: " in done.stdout) == (status == 1)


def test_other_data_has_no_papers_tables(study_folder):
    names = {path.stem for path in (study_folder / "results").rglob("*.csv")}
    assert {"table3", "table4", "figure5", "figure6"} <= names
    assert not {"scorecard", "claims", "audit", "table1", "figure1"} & names


@pytest.mark.parametrize("name", ["ml-1m-more", "global-time"])
def test_shipped_studies_can_be_planned(tmp_path, name):
    options = ("--snakefile", f"{ROOT}/Snakefile", "--directory", tmp_path, "--dry-run")
    done = snakemake(ROOT, *options, "--configfile", ROOT / f"config/{name}.yaml")
    assert done.returncode == 0, done.stdout
    rows = dict(re.findall(r"(?m)^(\w+) +(\d+)$", done.stdout))
    study = yaml.safe_load((ROOT / f"config/{name}.yaml").read_text())
    assert rows["rank"] == str(len(study.get("recommenders", "XYZ")))
    assert ("theory" in rows) == (name == "ml-1m-more")
    assert not (tmp_path / "results").exists()


def test_invalid_configuration_is_one_line():
    done = snakemake(ROOT, "--config", "ranks=both", "--dry-run")
    assert done.returncode != 0
    assert done.stdout.splitlines()[-1].startswith("config: ranks: ")
    assert "Traceback" not in done.stdout


def plan(folder, config):
    """Plan the study of a configuration in a folder."""
    (folder / "mine.yaml").write_text(config)
    options = ("--snakefile", f"{ROOT}/Snakefile", "--directory", folder, "--dry-run")
    return snakemake(ROOT, *options, "--configfile", folder / "mine.yaml")


def test_citation_with_braces_is_text(tmp_path):
    dataset = {"format": "table", "name": "Mine", "path": "events.csv"}
    dataset["citation"] = "@article{smith2020, title={Data}}"
    (tmp_path / "events.csv").touch()
    done = plan(tmp_path, yaml.safe_dump({"results": "results/mine", "dataset": dataset}))
    assert done.returncode == 0, done.stdout


def test_list_that_contains_itself_is_refused_in_one_line(tmp_path):
    done = plan(tmp_path, "recommenders: &a [*a]")
    assert done.returncode != 0
    assert done.stdout.splitlines()[-1].startswith("config: recommenders")
    assert "Traceback" not in done.stdout


def test_archive_link_to_itself_is_one_line(tmp_path):
    link = tmp_path / "loop.zip"
    link.symlink_to(link)
    done = snakemake(ROOT, "--dry-run", "--config", f"dataset={{archive: {link}}}")
    assert done.returncode != 0
    assert done.stdout.splitlines()[-1].startswith(f"{link}: no such file")
    assert "Traceback" not in done.stdout


@pytest.fixture(scope="module")
def failing(make_project):
    return make_project()


def run_until_stopped(project, *targets, cores=1):
    done = project.run("make", "reproduce", f"CORES={cores}", f"TARGETS={' '.join(targets)}")
    assert done.returncode != 0
    assert "going on with" not in done.stdout
    return done.stdout


def test_reproduce_stops_at_bad_archive(failing, tmp_path, monkeypatch):
    archive = write_archive(tmp_path / "bad.zip", b"1::1::5::7\n1::2::9::8\n")
    monkeypatch.setitem(failing.environment, "MOVIELENS_ARCHIVE", str(archive))
    output = run_until_stopped(failing, "results/split/split.npz")
    assert "ratings.dat, line 2" in output
    assert "out of memory" not in output
    assert not list(failing.results.glob("split/*"))


DEATHS = """
import os, sys
if any(".snakemake/scripts" in word for word in sys.orig_argv):
    try:
        os.mkdir({marker!r})
    except FileExistsError:
        sys.exit("early death")
    os.kill(os.getpid(), 9)
"""


def test_dying_steps_show_why(failing, small_archive, tmp_path, monkeypatch):
    # Of two steps that start together, the first is killed and the second exits.
    (tmp_path / "sitecustomize.py").write_text(DEATHS.format(marker=str(tmp_path / "killed")))
    monkeypatch.setitem(failing.environment, "PYTHONPATH", str(tmp_path))
    monkeypatch.setitem(failing.environment, "MOVIELENS_ARCHIVE", str(small_archive))
    output = run_until_stopped(
        failing, "results/split/split.npz", "results/figures/figure1.csv", cores=2
    )
    assert "early death" in output
    assert "ran out of memory" in output


@pytest.fixture(scope="module")
def reproduced(make_project):
    """Reproduce tables of the paper offline and without an archive."""
    project = make_project(small=False)
    done = project.run(
        "make",
        "reproduce",
        "TARGETS=results/tables/exact.csv results/tables/table1.csv results/tables/table3.csv",
    )
    assert done.returncode == 0, done.stdout
    project.output = done.stdout
    return project


def test_reproduce_offline_names_three_ways_to_go_on(reproduced):
    ways = ("dataset.archive", "MOVIELENS_ARCHIVE", "`ranks: reference`")
    assert [way for way in ways if way not in reproduced.output] == []


def test_reproduce_offline_trains_nothing(reproduced):
    assert not list(reproduced.results.glob("models/*"))


@pytest.mark.parametrize("name", ["exact.md", "table3.md", "table4.tex"])
def test_tables_made_offline_name_the_reference_run(reproduced, name):
    assert "reference run" in reproduced.result(f"tables/{name}").decode()


def test_reference_ranks_give_reference_tables(reproduced):
    names = ["tables/exact.csv", *(f"tables/table{n}.csv" for n in range(1, 5))]
    for name in names:
        assert reproduced.result(name) == (ROOT / "results/reference" / name).read_bytes(), name

"""The workflow in another folder, and as a module of another one."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from tests.conftest import ROOT

MODULE = f"""
configfile: "config/config.yaml"


module sampled:
    snakefile: "{ROOT}/workflow/Snakefile"
    config: config


use rule * from sampled as sampled_*


rule mine:
    default_target: True
    input:
        rules.sampled_exact.output.csv,
    output:
        "mine.txt",
    shell:
        "wc -l < {{input}} > {{output}}"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("elsewhere") / "study"
    shutil.copytree(ROOT / ".test", path, ignore=shutil.ignore_patterns("results", ".snakemake"))
    return path


def snakemake(folder, *arguments):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["snakemake", "--cores", "2", *arguments],
        cwd=folder,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_a_study_in_another_folder(folder, tmp_path):
    target = "results/split/split.json"
    snakemake(tmp_path, "--snakefile", f"{ROOT}/Snakefile", "--directory", str(folder), target)
    assert (folder / target).exists()
    assert not list(tmp_path.iterdir())
    # What the folder does not have comes with the workflow; the published tables are not its own.
    plan = snakemake(folder, "--snakefile", f"{ROOT}/workflow/Snakefile", "--dry-run")
    assert "page" in plan
    assert "scorecard" not in plan


def test_a_study_as_a_module(folder):
    (folder / "Snakefile").write_text(MODULE)
    snakemake(folder)
    assert (folder / "mine.txt").read_text().strip() == "25"
    exact = pd.read_csv(folder / "results/tables/exact.csv")
    assert set(exact["recommender"]) == {"Factors", "Popularity"}


def second_to_last(events):
    return events.sort_values("timestamp").groupby("user").nth(-2)


def first_of_the_later_half(events):
    before = events["timestamp"] < len(events) // 2
    later = events[~before & events["user"].isin(events["user"][before])]
    return later.sort_values("timestamp").groupby("user").head(1)


@pytest.mark.parametrize(
    ("split", "evaluated"),
    [
        ({"method": "leave-k-out", "k": 2}, second_to_last),
        ({"method": "global-time", "cut": 0.5}, first_of_the_later_half),
    ],
)
def test_splits_by_time(folder, tmp_path, split, evaluated):
    events = pd.read_csv(folder / "data/events.csv")
    events["timestamp"] = np.random.default_rng(0).permutation(len(events))
    events.to_csv(tmp_path / "events.csv", index=False)
    config = yaml.safe_load((folder / "config/config.yaml").read_text())
    config |= {"split": split, "recommenders": config["recommenders"][1:]}
    config["dataset"]["path"] = "events.csv"
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(config))
    target = "results/ranks/Popularity.parquet"
    options = ("--snakefile", f"{ROOT}/Snakefile", "--configfile", "study.yaml")
    snakemake(tmp_path, target, *options)
    ranks = pd.read_parquet(tmp_path / target)
    expected = evaluated(events)
    assert dict(zip(ranks["user_id"], ranks["item_id"], strict=True)) == dict(
        zip(expected["user"], expected["item"], strict=True)
    )


def test_what_the_catalogue_of_workflows_asks_for():
    catalogue = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())
    assert catalogue["usage"]["software-stack-deployment"]["conda"]
    for name in ("workflow/Snakefile", "config/README.md", ".test/config/config.yaml"):
        assert (ROOT / name).is_file()
    rules = "".join(path.read_text() for path in (ROOT / "workflow/rules").glob("*.smk"))
    captions = {path.name for path in (ROOT / "workflow/report").glob("*.rst")} - {"workflow.rst"}
    named = set(re.findall(r"report/(\w+\.rst)", rules)) | {"table.rst", "figure.rst"}
    assert named == captions

"""Commands shown in the guides and targets of the Makefile, run on small data."""

import os
import re
import shutil
import zipfile

import numpy as np
import pandas as pd
import pytest
import yaml

from tests.conftest import ROOT
from tests.workflow.conftest import run

OTHER_DATA = (ROOT / "docs/other-data.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", OTHER_DATA)


@pytest.fixture(scope="module")
def project(make_project):
    return make_project()


def shell(project, command):
    done = project.run("bash", "-c", command)
    assert done.returncode == 0, done.stdout
    return done.stdout


def purchases():
    """Events of 60 customers and 150 articles with text ids."""
    rng = np.random.default_rng(0)
    customer = np.repeat(np.arange(60), 30)
    article = np.concatenate([rng.permutation(150)[:30] for _ in range(60)])
    frame = pd.DataFrame({"customer": customer, "article": article, "day": np.tile(range(30), 60)})
    return frame.astype({"customer": str, "article": str})


@pytest.mark.long
def test_documented_shop_study(project, monkeypatch):
    """Run the study, the command and the snippet of docs/other-data.md in this order."""
    study = next(block for block in blocks("yaml") if "results/shop" in block)
    (project.folder / "config/shop.yaml").write_text(study)
    purchases().to_parquet(project.folder / "purchases.parquet")
    command = next(block for block in blocks("") if "config/shop.yaml" in block)
    # to be made of the split
    np.savez(project.folder / "scores.npz", scores=np.zeros((1, 1)))
    shell(project, command)
    snippet = next(block for block in blocks("python") if "score_all" in block)
    monkeypatch.chdir(project.folder)
    exec(  # noqa: S102
        snippet, {"score_all": lambda train: np.tile(train.sum(axis=0), (train.shape[0], 1))}
    )
    shell(project, "snakemake --cores 2 --configfile config/shop.yaml")
    popular, ours = (
        pd.read_parquet(project.results / f"shop/ranks/{name}.parquet")
        for name in ("Popularity", "Ours")
    )
    assert len(ours) == 60
    for column in ("n_candidates", "n_better", "n_tied"):
        assert ours[column].tolist() == popular[column].tolist()


@pytest.mark.long
def test_documented_given_split(project, tmp_path):
    study = next(block for block in blocks("yaml") if "train.csv" in block)
    settings = yaml.safe_load(study)
    settings["split"]["users"] = 10
    (tmp_path / "config").mkdir()
    (tmp_path / "config/config.yaml").write_text(yaml.safe_dump(settings))
    frame = purchases()
    is_last = ~frame["customer"].duplicated(keep="last")
    frame[~is_last].to_csv(tmp_path / "train.csv", index=False)
    frame[is_last].to_csv(tmp_path / "test.csv", index=False)
    ranks = f"{settings['results']}/ranks/X.parquet"
    arguments = ("--snakefile", project.folder / "Snakefile", ranks)
    done = run("snakemake", "--cores", "2", *arguments, cwd=tmp_path, env=project.environment)
    assert done.returncode == 0, done.stdout
    assert len(pd.read_parquet(tmp_path / ranks)) == 10


@pytest.mark.long
def test_commands_on_reference_ranks(project):
    printed = shell(project, "sampled-metrics evaluate results/reference/ranks/[XYZ].parquet")
    table = pd.read_csv(ROOT / "results/reference/tables/exact.csv")
    table = table[(table["metric"] == "recall@10") & (table["ties"] == "expected")]
    for name, value in zip(table["recommender"], table["value"], strict=True):
        assert re.search(rf"(?m)^{name}\.parquet +recall@10 +{value / 100:#.3g} ", printed)
    compared = shell(project, "sampled-metrics compare results/reference/ranks/[XY].parquet")
    assert re.search(r"(?m)^X +Y +recall@10 .* Y above X$", compared)


def test_make_help_lists_public_targets(project):
    printed = shell(project, "make --no-print-directory help").splitlines()
    (public,) = re.findall(r"(?m)^\.PHONY: (help .*)$", (ROOT / "Makefile").read_text())
    assert [line.split()[0] for line in printed] == public.split()
    assert len(printed) <= 24
    assert max(map(len, printed)) <= 110


@pytest.mark.long
def test_make_schema_is_current(project):
    name = "workflow/schemas/config.schema.yaml"
    shutil.copytree(ROOT / "benchmarks", project.folder / "benchmarks")
    (project.folder / name).unlink()
    shell(project, "make schema")
    assert (project.folder / name).read_bytes() == (ROOT / name).read_bytes()


def test_make_dist_builds_a_wheel_and_a_source_archive(project):
    for name in ("README.md", "LICENSE"):
        shutil.copy(ROOT / name, project.folder)
    shell(project, "make dist")
    (wheel,) = project.folder.glob("dist/*.whl")
    assert "sampled_metrics/__init__.py" in zipfile.ZipFile(wheel).namelist()
    assert len(list(project.folder.glob("dist/*.tar.gz"))) == 1


def test_make_clean_removes_all_but_the_reference_run(make_project):
    project = make_project()
    (project.results / "mine.txt").touch()
    shell(project, "make clean")
    assert not (project.folder / ".venv").exists()
    assert [path.name for path in project.results.iterdir()] == ["reference"]


UV = """#!/bin/sh
echo "$@" >> calls
"""


def test_make_lock_compiles_both_files(project, tmp_path, monkeypatch):
    """uv needs the network, so a script that logs its arguments replaces it."""
    (tmp_path / "uv").write_text(UV)
    (tmp_path / "uv").chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{project.environment['PATH']}"
    monkeypatch.setitem(project.environment, "PATH", path)
    shell(project, "make lock")
    first, second = (project.folder / "calls").read_text().splitlines()
    for call in (first, second):
        assert "--generate-hashes --no-emit-index-url" in call
    assert first.endswith("--all-extras --output-file requirements.lock pyproject.toml")
    assert "--extra study --extra terminal --constraint requirements.lock" in second
    assert second.endswith("--output-file requirements-study.lock pyproject.toml -")

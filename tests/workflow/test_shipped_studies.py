"""All shipped configurations, and the targets that store results, on small data."""

import re
import shutil
import zipfile

import h5py
import numpy as np
import pandas as pd
import pytest
import yaml

from sampled_metrics_study.data.events import Interactions
from tests.browser.conftest import executable
from tests.conftest import ROOT, write_archive
from tests.helpers.interactions import as_ratings, synthetic_interactions

pytestmark = pytest.mark.long

USERS = 60
# Shapes of the published weights, but for the numbers of users and items.
MLP = {"layer1": (64, 32), "layer2": (32, 16), "layer3": (16, 8)}


def simultaneous_events():
    """Small events of users active at the same time, as a split at one time needs."""
    events = synthetic_interactions()
    return Interactions(events.user, events.item, events.timestamp % 1000)


@pytest.fixture(scope="module")
def project(make_project, tmp_path_factory):
    """A project with a small archive and only two starts of X."""
    folder = tmp_path_factory.mktemp("shipped")
    shipped = make_project(write_archive(folder / "ml-1m.zip", as_ratings(simultaneous_events())))
    for name in ("benchmarks", "tests"):
        shutil.copytree(ROOT / name, shipped.folder / name)
    spread = shipped.folder / "src/sampled_metrics_study/claims/starts.py"
    text, changed = re.subn(r"(?m)^STARTS = \d+", "STARTS = 2", spread.read_text())
    assert changed == 1
    spread.write_text(text)
    # as if installed from there
    shipped.environment["PYTHONPATH"] = str(shipped.folder / "src")
    return shipped


def make(project, *arguments):
    done = project.run("make", "CORES=2", *arguments)
    assert done.returncode == 0, done.stdout
    return done.stdout


def names_in(config):
    study = yaml.safe_load((ROOT / f"config/{config}.yaml").read_text())
    return [entry["name"] for entry in study.get("recommenders", [])] or list("XYZ")


def require_stored_ranks(project, results, folder, names):
    """Check that the stored ranks are those of the run, without MovieLens ids."""
    for name in names:
        ranks = pd.read_parquet(project.results / results / f"ranks/{name}.parquet")
        stored = pd.read_parquet(project.results / "reference" / folder / f"{name}.parquet")
        assert stored["user_id"].tolist() == list(range(len(ranks)))
        assert "item_id" not in stored
        for column in ("n_candidates", "n_better", "n_tied"):
            assert stored[column].tolist() == ranks[column].tolist()


def store_ranks_of_paper(project):
    """Store the ranks of X, Y and Z for these users, as `make reference` does."""
    paths = [f"results/ranks/{name}.parquet" for name in "XYZ"]
    project.snakemake(*paths)
    command = ["-m", "sampled_metrics_study.reference", "store"]
    done = project.run("python", *command, "results/reference/ranks", *paths)
    assert done.returncode == 0, done.stdout


def test_make_reference(project):
    """`make reference` stores the spread over starts, the results, ranks and the picture."""
    if not executable():
        pytest.skip("no chromium on the path (apt-get install chromium)")
    picture = project.results / "reference/report.png"
    picture.unlink()
    make(project, "reference")
    require_stored_ranks(project, "", "ranks", "XYZ")
    assert picture.read_bytes().startswith(b"\x89PNG")
    for name in ("scorecard.csv", "ranges.csv", "tables/table3.csv"):
        assert project.result(f"reference/{name}") == project.result(name)
    starts = pd.read_csv(project.results / "reference/starts.csv")
    assert starts["start"].nunique() == 2


def test_make_reference_global_time(project):
    make(project, "reference", "STUDY=global-time")
    require_stored_ranks(project, "global-time", "global-time/ranks", names_in("global-time"))
    assert len(pd.read_parquet(project.results / "global-time/ranks/X.parquet")) < USERS


def test_make_reference_ml_100k(project, monkeypatch):
    archive = project.folder / "ml-100k.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("ml-100k/u.data", as_ratings(simultaneous_events()).replace(b"::", b"\t"))
    monkeypatch.setitem(project.environment, "MOVIELENS_ARCHIVE", str(archive))
    make(project, "reference", "STUDY=ml-100k")
    names = names_in("ml-100k")
    assert len(names) == 8
    require_stored_ranks(project, "ml-100k", "ml-100k/ranks", names)
    assert (project.results / "ml-100k/report.html").exists()


def test_ml_1m_more_runs(project):
    project.snakemake("--configfile", "config/ml-1m-more.yaml")
    for name in names_in("ml-1m-more"):
        assert len(pd.read_parquet(project.results / f"ml-1m-more/ranks/{name}.parquet")) == USERS
    assert (project.results / "ml-1m-more/report.html").exists()


def write_weights(folder, items, rng):
    """Write random weights of GMF and MLP and some negatives, in the published formats."""
    folder.mkdir()
    arrays = {"user_embedding_W": (USERS, 8), "item_embedding_W": (items, 8)}
    gmf = {name: rng.normal(size=shape) for name, shape in arrays.items()}
    gmf["prediction_W"] = rng.normal(size=(8, 1))
    mlp = {
        "user_embedding_W": rng.normal(size=(USERS, 32)),
        "item_embedding_W": rng.normal(size=(items, 32)),
        "prediction_W": rng.normal(size=(8, 1)),
    }
    for layer, shape in MLP.items():
        mlp[f"{layer}_W"] = rng.normal(size=shape)
        mlp[f"{layer}_b"] = rng.normal(size=shape[1])
    for name, weights in {"ml-1m_GMF_8_1": gmf, "ml-1m_MLP_1": mlp}.items():
        with h5py.File(folder / f"{name}.h5", "w") as file:
            for key, values in weights.items():
                file[f"layer/{key}"] = values
    lines = "".join(f"({user},0)\t1\t2\n" for user in range(USERS))
    (folder / "ml-1m.test.negative").write_text(lines)
    return gmf


def test_make_reference_ncf(project):
    """Run `make reference STUDY=ncf` with random weights; check the first user's rank by GMF."""
    events = simultaneous_events()
    ids = pd.unique(events.item)
    gmf = write_weights(project.folder / "NCF", ids.size, np.random.default_rng(0))
    store_ranks_of_paper(project)
    make(project, "reference", "STUDY=ncf", "NCF=NCF")
    require_stored_ranks(project, "ncf", "ncf", ["GMF", "MLP"])
    ranks = pd.read_parquet(project.results / "ncf/ranks/GMF.parquet").iloc[0]
    seen = set(events.item[events.user == 1]) - {ranks["item_id"]}
    scores = gmf["item_embedding_W"] @ (gmf["user_embedding_W"][0] * gmf["prediction_W"][:, 0])
    held_out = scores[ids == ranks["item_id"]]
    better = set(ids[scores.astype(np.float32) > held_out.astype(np.float32)]) - seen
    assert (ranks["n_candidates"], ranks["n_better"]) == (ids.size - len(seen), len(better))

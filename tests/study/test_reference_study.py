"""The scripts of the study reproduce results/reference from the ranks of the reference run.

They get what the rules of the workflow pass. Drawings are made as SVG only.
`python -m tests.study.test_reference_study` renews the drawings after a change of their looks.
"""

import json
import math
import re
import shutil
from dataclasses import fields
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
import yaml

from sampled_metrics.read.options import as_ranks
from sampled_metrics_study import figures
from sampled_metrics_study.claims.starts import spread_table
from sampled_metrics_study.config import Study, departures
from sampled_metrics_study.data.archive import Source
from tests.conftest import ROOT, run_script

REFERENCE = ROOT / "results/reference"
PUBLISHED_PATH = str(ROOT / "config/paper/tables.csv")
NAMES = ("X", "Y", "Z")
FORMS = ("csv", "md", "tex")
DRAWN = ("csv", "svg")
NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)")
HASH = re.compile(r"\b[hmp][0-9a-f]{10}\b")  # names of markers and clips in a drawing
TABLES = [f"tables/table{n}.{form}" for n in range(1, 5) for form in FORMS]
FIGURES = [f"figures/{name}" for name in ("z", "errors", *(f"figure{n}" for n in range(1, 7)))]
WRITTEN = [
    *TABLES,
    *(f"{name}.{form}" for name in FIGURES for form in DRAWN),
    *(
        f"{name}.{form}"
        for name in ("tables/exact", "tables/likely", "scorecard")
        for form in FORMS[:2]
    ),
]


def study(**changed):
    """The configuration of the reference run, with some values of its experiment changed."""
    settings = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    settings["experiment"] |= changed
    return Study.of(settings, "config")


def as_json_values(settings):
    return settings.model_dump(mode="json", by_alias=True)


def files(folder, stem, numbers, forms):
    return [str(folder / f"{stem}{number}.{form}") for number in numbers for form in forms]


def run_scorecard(folder, ranks, target, settings, changed=()):
    """Run the scorecard for the cells in a folder; `changed` are departures from the paper."""
    run_script(
        "scorecard",
        target / "scorecard.log",
        {
            "ranks": ranks,
            "cells": files(folder, "cells/table", range(1, 5), ["csv"]),
            "published": PUBLISHED_PATH,
            "spread": str(REFERENCE / "spread.csv"),
        },
        {
            "csv": str(target / "scorecard.csv"),
            "md": str(target / "scorecard.md"),
            "z": str(target / "figures/z.svg"),
        },
        departures=changed,
        experiment=as_json_values(settings.experiment),
    )


def run_study(folder):
    """Run all scripts that follow the ranks, on the ranks of the reference run."""
    ranks = [str(folder / f"{name}.parquet") for name in NAMES]
    for name, path in zip(NAMES, ranks, strict=True):
        stored = as_ranks(REFERENCE / f"ranks/{name}.parquet")
        stored.replace(source="trained in this run").write(path)
    settings = study()
    experiment = as_json_values(settings.experiment)
    inputs = {"ranks": ranks, "published": PUBLISHED_PATH, "band": str(REFERENCE / "band.csv")}
    log = folder / "step.log"
    run_script(
        "theory",
        log,
        inputs,
        {
            "csv": files(folder, "tables/table", (1, 2), ["csv"]),
            "cells": files(folder, "cells/table", (1, 2), ["csv"]),
            "figure1": str(folder / "figures/figure1.svg"),
        },
        toy=as_json_values(settings.toy),
    )
    run_script(
        "tables",
        log,
        inputs,
        {
            "csv": files(folder, "tables/table", (3, 4), ["csv"]),
            "cells": files(folder, "cells/table", (3, 4), ["csv"]),
            "likely": str(folder / "tables/likely.csv"),
            "likely_md": str(folder / "tables/likely.md"),
        },
        experiment=experiment,
    )
    figure5 = {"figure5": str(folder / "figures/figure5.svg")}
    run_script("figures", log, inputs, figure5, experiment=experiment)
    exact = {name: str(folder / f"tables/exact.{name}") for name in ("csv", "md")}
    exact["ranges"] = str(folder / "ranges.csv")
    metrics = experiment["metrics"]
    run_script("exact", log, inputs, exact, exact=as_json_values(settings.exact), metrics=metrics)
    run_scorecard(folder, ranks, folder, settings)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The folder with the results of a run."""
    folder = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(figures, "_FILE_TYPES", {"svg": figures._FILE_TYPES["svg"]})
        run_study(folder)
    return folder


def assert_same(actual, stored, relative, absolute):
    """Check that two texts are equal, except for rounding in the last digits of numbers."""
    ours, theirs = (NUMBER.split(HASH.sub("name", text)) for text in (actual, stored))
    assert ours[::2] == theirs[::2]
    for one, other in zip(ours[1::2], theirs[1::2], strict=True):
        assert one == other or math.isclose(
            float(one), float(other), rel_tol=relative, abs_tol=absolute
        ), (one, other)


@pytest.mark.long
@pytest.mark.parametrize("name", WRITTEN)
def test_scripts_write_reference_files(results, name):
    texts = [(folder / name).read_text("utf-8") for folder in (results, REFERENCE)]
    if name.endswith("svg"):
        assert_same(*texts, relative=0.0, absolute=0.02)
    else:
        assert_same(*texts, relative=1e-6, absolute=1e-6)


@pytest.mark.long
def test_scorecard_with_other_settings_compares_nothing(results, tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "_FILE_TYPES", {"svg": figures._FILE_TYPES["svg"]})
    other = study(n_items=3000)
    departure = "experiment.n_items is 3000, the paper's null"
    assert departures(other, study()) == [departure]
    ranks = [str(results / f"{name}.parquet") for name in NAMES]
    run_scorecard(results, ranks, tmp_path, other, [departure])
    card = pd.read_csv(tmp_path / "scorecard.csv", keep_default_na=False, dtype=str)
    assert set(card["verdict"]) == {"not comparable"}
    assert set(card["note"]) == {departure}


def test_spread_table_is_that_of_reference():
    """The spread over starts of X, and over the order of ties of Z for one metric."""
    numbers = pd.read_csv(REFERENCE / "starts.csv")
    others = {name: as_ranks(REFERENCE / f"ranks/{name}.parquet") for name in ("Y", "Z")}
    actual = spread_table("X", numbers, others, study(metrics=["ap"]).experiment)
    stored = pd.read_csv(REFERENCE / "spread.csv")
    stored = stored[stored["row"].str.startswith("X") | (stored["metric"] == "AP")].reset_index(
        drop=True
    )
    assert set(stored["cause"]) == {"initialisation of X", "tie draw of Z"}
    pd.testing.assert_frame_equal(actual.reset_index(drop=True), stored, rtol=1e-3, atol=1e-6)


def test_reference_provenance_has_identity():
    stored = json.loads((REFERENCE / "provenance.json").read_text())
    identity = study().identity()
    assert (identity["ranks"], identity["seeds"]) == (stored["ranks"], stored["seeds"])


@pytest.mark.parametrize(
    "path", sorted(REFERENCE.rglob("provenance.json")), ids=lambda path: path.parent.name
)
def test_reference_provenance_says_of_data_what_runs_say(path):
    stored = json.loads(path.read_text())
    assert set(stored["source"]) <= {field.name for field in fields(Source)}
    assert stored["split"]["read"] == stored["split"]["expected"]  # counts of the file


if __name__ == "__main__":
    with TemporaryDirectory() as temporary:
        run_study(Path(temporary))
        for drawing in FIGURES:
            for form in ("svg", "pdf", "png"):
                shutil.copy(Path(temporary, f"{drawing}.{form}"), REFERENCE / "figures")

"""The steps of the study, on the ranks of the reference run, write the files of results/reference.

They get what the rules of the workflow pass. Drawings are made as SVG only.
`python -m tests.unit.test_reference_study` renews the drawings, after a change of how figures look.
"""

import json
import math
import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pandas as pd
import pytest
import yaml

from sampled_metrics.ranks.data import as_ranks, as_sampled
from sampled_metrics.study import figures, steps
from sampled_metrics.study.config import Study
from sampled_metrics.study.departures import departures
from sampled_metrics.study.starts import spread_table
from tests.conftest import ROOT


def read_sampled(path, n_negatives=None, n_items=None, sampling=None, **options):
    return as_sampled(path, n_negatives=n_negatives, n_items=n_items, sampling=sampling, **options)


REFERENCE = ROOT / "results/reference"
PUBLISHED = str(ROOT / "config/paper/tables.csv")
NAMES = ("X", "Y", "Z")
FORMS = ("csv", "md", "tex")
DRAWN = ("csv", "svg")
NUMBER = re.compile(r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)")
HASH = re.compile(r"\b[hmp][0-9a-f]{10}\b")  # names of markers and clips in a drawing
TABLES = [f"tables/table{n}.{form}" for n in range(1, 5) for form in FORMS]
FIGURES = [f"figures/{name}" for name in ("z", *(f"figure{n}" for n in range(1, 7)))]
WRITTEN = [
    *TABLES,
    *(f"{name}.{form}" for name in FIGURES for form in DRAWN),
    *(f"{name}.{form}" for name in ("tables/exact", "scorecard", "claims") for form in FORMS[:2]),
]


class Files(list):
    """Files of a job as Snakemake passes them: in a list, and some of them by name."""

    def __init__(self, **named):
        super().__init__()
        for name, files in named.items():
            setattr(self, name, files)
            self += [files] if isinstance(files, str) else files


def study(**changed):
    """The configuration of the reference run, with some values of its experiment changed."""
    settings = yaml.safe_load((ROOT / "config/config.yaml").read_text())
    settings["experiment"] |= changed
    return Study.of(settings, "config")


def plain(settings):
    return settings.model_dump(mode="json", by_alias=True)


def run(folder, step, given, written, **params):
    """Run a step of the study as the workflow does."""
    job = SimpleNamespace(
        input=Files(**given),
        output=Files(**written),
        params=SimpleNamespace(step=step, **params),
        log=[str(folder / f"{step}.log")],
    )
    steps.run(job)


def files(folder, stem, numbers, forms):
    return [str(folder / f"{stem}{number}.{form}") for number in numbers for form in forms]


def scored(folder, ranks, target, changed=()):
    """Run the scorecard on the cells in a folder; `changed` are departures from the paper."""
    given = {
        "ranks": ranks,
        "cells": files(folder, "cells/table", range(1, 5), ["csv"]),
        "uniform": [str(folder / "cells/uniform.csv")],
        "figure6": str(folder / "figures/figure6.csv"),
        "published": PUBLISHED,
        "spread": str(REFERENCE / "spread.csv"),
        "starts": str(REFERENCE / "starts.csv"),
    }
    written = {
        "scorecard": files(target, "scorecard", [""], FORMS[:2]),
        "claims": files(target, "claims", [""], FORMS[:2]),
        "z": files(target, "figures/z", [""], DRAWN),
    }
    run(target, "scorecard", given, written, departures=changed)


def run_study(folder):
    """Run all steps from the reference's ranks on."""
    ranks = [str(folder / f"{name}.parquet") for name in NAMES]
    for name, path in zip(NAMES, ranks, strict=True):
        kept = as_ranks(REFERENCE / f"ranks/{name}.parquet")
        kept.replace(source="trained in this run").write(path)
    settings = study()
    assert departures(settings) == []
    band = [str(REFERENCE / "band.csv")]
    toy = {"toy": plain(settings.toy), "experiment": {}}
    made(folder, "theory", (1, 2), (1, 2, 3, 4), {"ranks": [], "band": []}, toy)
    experiment = {"experiment": plain(settings.experiment)}
    made(folder, "tables", (3, 4), (5, 6), {"ranks": ranks, "band": band}, experiment)
    exact = {"exact": files(folder, "tables/exact", [""], FORMS[:2])}
    run(folder, "exact", {"ranks": ranks}, exact, exact=plain(settings.exact))
    scored(folder, ranks, folder)


def made(folder, step, of_tables, of_figures, given, params):
    """Run a step that makes tables and figures."""
    written = {
        "tables": files(folder, "tables/table", of_tables, FORMS),
        "cells": files(folder, "cells/table", of_tables, ["csv"]),
        "figures": files(folder, "figures/figure", of_figures, DRAWN),
        "samples": [],
        "uniform": [],
    }
    if step == "tables":
        written["samples"] = [str(folder / f"samples/{name}.npz") for name in NAMES]
        written["uniform"] = [str(folder / "cells/uniform.csv")]
    given = {"published": [PUBLISHED], **given}
    run(folder, step, given, written, numbers=of_figures, departures=[], **params)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The folder of a run."""
    folder = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(figures, "_FORMS", {"svg": figures._FORMS["svg"]})
        run_study(folder)
    return folder


def assert_same(found, kept, relative, absolute):
    """Two texts are equal, but for the last digits of numbers, which a processor may round."""
    ours, theirs = (NUMBER.split(HASH.sub("name", text)) for text in (found, kept))
    assert ours[::2] == theirs[::2]
    for one, other in zip(ours[1::2], theirs[1::2], strict=True):
        assert one == other or math.isclose(
            float(one), float(other), rel_tol=relative, abs_tol=absolute
        ), (one, other)


@pytest.mark.long
@pytest.mark.parametrize("name", WRITTEN)
def test_files_are_those_of_the_reference(results, name):
    texts = [(folder / name).read_text("utf-8") for folder in (results, REFERENCE)]
    if name.endswith("svg"):
        assert_same(*texts, relative=0.0, absolute=0.02)
    else:
        assert_same(*texts, relative=1e-6, absolute=1e-6)


@pytest.mark.long
def test_only_cells_of_the_papers_settings_are_compared(results, tmp_path, monkeypatch):
    """With another n of the corrections, those of Tables 3 and 4 and Figure 6 are not the paper's.

    Nothing is said of them; the exact and the sampled metrics are compared as before.
    """
    monkeypatch.setattr(figures, "_FORMS", {"svg": figures._FORMS["svg"]})
    changed = [list(departure) for departure in departures(study(n_items=3000))]
    words = "experiment.n_items is 3000, the paper's null"
    assert [departure[0] for departure in changed] == [words]
    ranks = [str(results / f"{name}.parquet") for name in NAMES]
    scored(results, ranks, tmp_path, changed)
    cards = {}
    ledgers = {}
    for folder in (results, tmp_path):
        card = pd.read_csv(folder / "scorecard.csv", keep_default_na=False, dtype=str)
        cards[folder] = card.set_index(["table", "row", "metric", "column"])
        claims = pd.read_csv(folder / "claims.csv", keep_default_na=False)
        ledgers[folder] = claims.set_index(["section", "claim"])
    ours, kept = cards.values()
    columns = kept.index.get_level_values("column")
    is_corrected = columns.str.match("Rank Estimate|CLS|BV") & kept.index.isin(["3", "4"], "table")
    assert set(kept.loc[is_corrected, "verdict"]) == {"not comparable"}
    assert set(kept.loc[is_corrected, "note"]) == {words}
    assert kept[~is_corrected].equals(ours[~is_corrected])
    ours, kept = ledgers.values()
    is_measured = kept["verdict"] != "not measured"
    assert kept.loc[is_measured, "ours"].equals(ours.loc[is_measured, "ours"])
    of_figure_6 = ours["ours"].str.match("from m = ")
    assert of_figure_6.sum() == 4
    assert not is_measured[of_figure_6].any()
    assert is_measured[ours["ours"].str.contains("exact X .*; sampled X")].tolist() == [True]


def test_spread_of_the_reference():
    """That over its starts, and over the order of ties of Z by one metric."""
    numbers = pd.read_csv(REFERENCE / "starts.csv")
    others = {name: as_ranks(REFERENCE / f"ranks/{name}.parquet") for name in ("Y", "Z")}
    found = spread_table("X", numbers, others, study(metrics=["ap"]).experiment)
    kept = pd.read_csv(REFERENCE / "spread.csv")
    kept = kept[kept["row"].str.startswith("X") | (kept["metric"] == "AP")].reset_index(drop=True)
    assert set(kept["cause"]) == {"initialisation of X", "tie draw of Z"}
    pd.testing.assert_frame_equal(found.reset_index(drop=True), kept, rtol=1e-3, atol=1e-6)


def test_a_reference_run_says_what_it_is_of():
    kept = json.loads((REFERENCE / "provenance.json").read_text())
    identity = study().identity()
    assert (identity["ranks"], identity["seeds"]) == (kept["ranks"], kept["seeds"])


if __name__ == "__main__":
    with TemporaryDirectory() as temporary:
        run_study(Path(temporary))
        for drawing in FIGURES:
            for form in ("svg", "pdf", "png"):
                shutil.copy(Path(temporary, f"{drawing}.{form}"), REFERENCE / "figures")

"""The study cut in pieces: other jobs, the same bytes."""

import json

import pytest

from tests.workflow.graph import edges

MADE = [*(f"ranks/{name}.parquet" for name in "XZ"), *(f"samples/{name}.npz" for name in "XZ")]
TARGETS = [f"results/{name}" for name in (*MADE, "provenance.json")]
EVERYTHING = ("all", "spread", "audit")


@pytest.fixture(scope="module")
def whole(make_project, small_archive):
    project = make_project(small_archive)
    project.snakemake("--profile", "workflow/profiles/local", *TARGETS)
    return project


@pytest.fixture(scope="module")
def cut(make_project, small_archive):
    project = make_project(small_archive)
    project.change("ranking", pieces=3)
    project.change("experiment", pieces=4)
    project.output = project.snakemake(*TARGETS)
    return project


def jobs(project):
    """How many jobs of each rule a run of everything would have."""
    lines = project.snakemake("--dry-run", "--forceall", *EVERYTHING).splitlines()
    table = lines[lines.index("Job stats:") + 3 :]
    return dict(line.split() for line in table[: table.index("")])


def test_one_piece_is_one_job(whole):
    counts = jobs(whole)
    assert (counts["rank"], counts["sample"]) == ("3", "3")
    assert not {"rank_piece", "draw"} & counts.keys()


def test_pieces_are_jobs(cut):
    counts = jobs(cut)
    assert (counts["rank_piece"], counts["rank"]) == ("9", "3")
    assert (counts["draw"], counts["sample"]) == ("12", "3")
    graph = edges(cut.snakemake("--rulegraph", "dot", "results/report.html"))
    ways = {("train", "rank_piece"), ("rank_piece", "rank"), ("rank", "draw"), ("draw", "sample")}
    assert ways <= graph


@pytest.mark.parametrize("name", MADE)
def test_pieces_give_the_same_bytes(whole, cut, name):
    assert cut.result(name) == whole.result(name)


def test_pieces_are_removed_and_tell_in_their_logs(cut):
    folder = cut.folder / "results"
    assert not [path for path in folder.rglob("pieces/**/*") if path.is_file()]
    logs = [path.read_text() for path in sorted(folder.glob("logs/rank_piece/X/*.log"))]
    assert [text.split()[1] for text in logs] == ["20", "20", "20"]
    assert len(list(folder.glob("benchmarks/draw/Z/*-of-4.tsv"))) == 4


def test_how_a_study_is_cut_does_not_make_another_one(whole, cut):
    one, other = (json.loads(each.result("provenance.json")) for each in (whole, cut))
    assert one["config_sha256"] == other["config_sha256"]


@pytest.mark.parametrize("part", ["ranking", "experiment"])
def test_no_piece_at_all_is_refused(make_project, small_archive, part):
    project = make_project(small_archive)
    project.change(part, pieces=0)
    done = project.run("snakemake", "--cores", "1")
    assert done.returncode != 0
    assert done.stdout.splitlines()[-1] == (
        f"config: {part}.pieces is 0; allowed: a whole number of at least 1 and at most 1000"
    )

"""Commands: keys, formats, and invalid use, which ends with one line and status 2."""

import csv
import errno
import io
import json
import re
import shlex
import subprocess
import sys
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
import typer

import sampled_metrics
from sampled_metrics._base.errors import InputError
from sampled_metrics.cli import output
from sampled_metrics.metrics import parse_measure
from tests.conftest import ROOT

RANKS = "user_id,rank\nanna,1\nbert,3\ncora,11\n"
FILES = {
    "r.csv": RANKS,
    "r2.csv": "user_id,rank\nbert,2\nanna,3\ncora,18\n",
    "s.csv": "user_id,sampled_rank\nanna,1\nbert,3\ncora,11\n",
    "s2.csv": "user_id,sampled_rank\nanna,2\nbert,3\ncora,9\n",
    "s3.csv": "sampled_rank\n4\n5\n6\n",
    "records.csv": "n_candidates,n_better,n_tied\n50,3,0\n60,2,1\n",
    "two.csv": "user_id,n_candidates,n_better,n_tied\nanna,9,0,0\nanna,9,4,0\n",
    "list.csv": "user_id,item_id,rank\nanna,7,1\nanna,8,2\n",
    "relevant.csv": "user_id,item_id\nanna,8\n",
    "titles.csv": 'user_id,item_id,title\nanna,8,"Heroes\nbert,9,Low"\n',
    "q.qrels": "anna 0 7 1\nanna 0 8 1\n",
}
EVALUATE = "evaluate r.csv --n-items 100"
CORRECT = "correct s.csv --n-negatives 10 --n-items 100"
COMPARE = "compare r.csv r2.csv --n-items 100"
PLAN = "plan --ranks r.csv r2.csv --n-items 100"
EFFECT = "plan --effect 0.3 --value 0.2 --metric hit@10 --n-items 100 --n-users 40"
DRAW = "sample r.csv --n-items 100 --n-negatives 9"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Run commands in a folder with the files above."""
    monkeypatch.chdir(tmp_path)
    # Plans simulate less, because their numbers are not the subject.
    monkeypatch.setattr("sampled_metrics.evaluation.plan_simulation.COMPARISONS", 4)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    return tmp_path


@pytest.fixture
def rows(run, folder):
    """Run a command that prints JSON; return its rows."""
    del folder

    def command(line):
        done = run(*shlex.split(line), "--format", "json")
        assert (done.returncode, done.stderr) == (0, "")
        return json.loads(done.stdout)

    return command


def column(rows, *keys):
    return [row[keys[0]] if len(keys) == 1 else tuple(row[key] for key in keys) for row in rows]


@pytest.mark.parametrize(
    ("line", "first"),
    [
        (EVALUATE, {"file": "r.csv", "metric": "recall@10", "ties": "expected", "n_users": 3}),
        # items 7 and 8 of anna are relevant, and first
        ("evaluate list.csv --relevant q.qrels --metric ap@2", {"value": 1.0}),
        # of the sampled ranks 1, 3 and 11, two are at most 10
        (f"{CORRECT} --estimator sampled", {"value": 2 / 3, "n_items": 100, "n_negatives": 10}),
        (f"{CORRECT} --sampling distinct --estimator cls", {"sampling": "distinct"}),
        (COMPARE, {"a": "r", "b": "r2", "paired": True, "order": "undecided", "n_items": 100}),
        ("compare r.csv other/r.csv --n-items 100",
         {"a": "r.csv", "b": "other/r.csv", "difference": 0.0}),
        ("compare s3.csv s.csv --n-items 100 --n-negatives 10 --metric auc --estimator sampled",
         {"a": "s3", "b": "s", "paired": True, "acts_like": None}),
        # of 99 other items, 99, 97 and 89 are below those at the ranks 1, 3 and 11
        (f"{PLAN} --metric auc", {"n_users": 3, "exact_a": (99 + 97 + 89) / 99 / 3}),
        (f"{PLAN} --n-users 9", {"n_users": 9, "n_negatives": 1}),
        (EFFECT, {"n_users": 40, "n_items": 100, "exact_a": 0.2, "exact_b": 0.2 + 0.3}),
    ],
)  # fmt: skip
def test_first_row_has_the_values_by_hand(rows, folder, line, first):
    (folder / "other").mkdir()
    (folder / "other" / "r.csv").write_text(RANKS)
    row = rows(line)[0]
    assert {key: row[key] for key in first} == pytest.approx(first)


ONE_OF_EACH = pytest.mark.parametrize(
    "line",
    ["evaluate list.csv --relevant q.qrels --metric ap@2", "sample two.csv --n-negatives 5",
     EVALUATE, CORRECT, COMPARE, PLAN, EFFECT, DRAW, "metrics",
     f"{CORRECT} --sampling distinct --estimator cls",
     "compare s3.csv s.csv --n-items 100 --n-negatives 10 --metric auc --estimator sampled"],
)  # fmt: skip


@ONE_OF_EACH
def test_csv_has_the_cells_of_json(run, rows, line):
    def as_cell(value):
        if isinstance(value, list):
            return "; ".join(value)
        return "" if value is None else str(value)

    cells = [{key: as_cell(value) for key, value in row.items()} for row in rows(line)]
    printed = run(*shlex.split(line), "--format", "csv").stdout
    assert list(csv.DictReader(io.StringIO(printed))) == cells


@ONE_OF_EACH
def test_rows_have_the_keys_that_help_lists(run, rows, line):
    """In this order; help also lists keys of other calls, with explanations in brackets."""
    verb, *_ = line.split()
    text = " ".join(run(verb, "--help").stdout.replace("│", " ").split())
    listed = re.sub(r" \([^()]*\)", "", text.partition("Keys: ")[2])
    printed = list(rows(line)[0])
    in_help = dict.fromkeys(key for key in re.findall(r"\w+", listed) if key in printed)
    assert printed == list(in_help)


def test_metrics_have_the_names_that_are_given(rows):
    table = rows(f"{EVALUATE} --metric HR@10,mrr --metric NDCG_10")
    assert column(table, "metric") == ["HR@10", "mrr", "NDCG_10"]


def test_estimators_have_the_names_of_the_registry(rows):
    table = rows(f"{CORRECT} --metric recall@10 --estimator CLS,bv:0.1")
    assert column(table, "estimator") == ["cls", "bv:0.1"]


def test_metrics_lists_names_of_other_libraries(rows):
    table = rows("metrics")
    assert {"library": "ranx", "theirs": "mrr@K", "ours": "rr@K", "note": ""} in table
    assert any(row["ours"] == "hit@k" and "hr" in row["theirs"] for row in table)


def test_listed_synonyms_are_parsed(rows):
    """Names stand for numbers: k and K for 3, and BETA for 2; a cut-off may be omitted."""
    n_compared = 0
    for row in rows("metrics"):
        if row["library"] != "sampled-metrics":
            continue
        ours = re.sub("@k$", "@3", row["ours"]).replace("BETA", "2").replace("K", "3")
        _, at, cutoff = ours.partition("@")
        for synonym in filter(None, row["theirs"].split(", ")):
            name = synonym.replace("BETA", "2")
            same = name if "@" in name else name + at + cutoff
            measure = parse_measure(ours, any_bounds=True)
            assert parse_measure(same, any_bounds=True) == measure, synonym
            n_compared += 1
    assert n_compared > 10


@pytest.mark.parametrize("synonym", ["hr", "mrr", "accuracy"])
def test_usual_synonyms_are_listed(rows, synonym):
    listed = [row["theirs"] for row in rows("metrics") if row["library"] == "sampled-metrics"]
    assert synonym in ", ".join(listed).split(", ")


@pytest.mark.parametrize(("option", "column"), [((), "error"), (("--intervals",), "interval")])
@pytest.mark.usefixtures("folder")
def test_corrected_values_have_errors_or_intervals(run, option, column):
    header = run(*shlex.split(CORRECT), *option).stdout.splitlines()[0]
    assert {"error", "interval"} & set(header.split()) == {column}


def test_sample_has_a_row_for_each_repetition_and_user(rows):
    table = rows(f"{DRAW} --repetitions 2")
    ids = [(repetition, name, 100) for repetition in (0, 1) for name in ("anna", "bert", "cora")]
    assert column(table, "repetition", "user_id", "n_candidates") == ids


def test_more_repetitions_begin_with_the_same(run, folder):
    del folder
    two, four = (run(*shlex.split(f"{DRAW} --repetitions {n}")).stdout for n in (2, 4))
    assert four.startswith(two)


def test_written_samples_are_corrected_alike_in_any_form(rows, run):
    for seed, path in ((1, "a.parquet"), (1, "b.csv"), (2, "c.csv")):
        run(*shlex.split(f"{DRAW} --repetitions 5 --seed {seed} --output {path}"))
    of_parquet, of_csv, of_other_seed = (
        rows(f"correct {name} --n-negatives 9") for name in ("a.parquet", "b.csv", "c.csv")
    )
    assert of_parquet == of_csv != of_other_seed
    assert (of_csv[0]["n_users"], of_csv[0]["n_items"]) == (3, 100)


def test_sampled_users_without_ids_get_numbers(rows, run):
    """So that repetitions do not count as more users."""
    run(*shlex.split("sample records.csv --n-negatives 5 --repetitions 2 --output o.csv"))
    assert pd.read_csv("o.csv")["user_id"].tolist() == [1, 2, 1, 2]
    assert set(column(rows("correct o.csv --n-negatives 5"), "n_users")) == {2}


def test_sampled_ranks_of_scores_are_those_of_unseen_items(rows, folder):
    """The rank of b is 2 of 4 for anna, and 1 of 3 for bert, who has seen c."""
    (folder / "scores.csv").write_text(
        "user_id,item_id,score\n"
        "anna,a,9\nanna,b,8\nanna,c,7\nanna,d,6\n"
        "bert,a,1\nbert,b,3\nbert,c,5\nbert,d,2\n"
    )
    (folder / "rel.csv").write_text("user_id,item_id\nanna,b\nbert,b\n")
    (folder / "seen.csv").write_text("user_id,item_id\nbert,c\n")
    line = "sample scores.csv --relevant rel.csv --seen seen.csv --complete --n-negatives 2"
    table = rows(f"{line} --repetitions 40 --seed 1")
    # the better item a of anna is drawn or not
    drawn = {(row["user_id"], row["n_candidates"], row["sampled_rank"]) for row in table}
    assert drawn == {("anna", 4, 1), ("anna", 4, 2), ("bert", 3, 1)}


SEVERAL = """\
user_id,n_candidates,n_better,n_tied
anna,9,0,0
anna,9,4,0
bert,8,2,0
cora,8,3,0
cora,8,5,0
"""


def test_sample_of_several_items_has_a_row_for_each(rows, folder):
    (folder / "several.csv").write_text(SEVERAL)
    table = rows("sample several.csv --n-negatives 7 --repetitions 2")
    items = [("anna", 0, 9), ("anna", 1, 9), ("bert", 0, 8), ("cora", 0, 8), ("cora", 1, 8)]
    assert column(table, "repetition", "user_id", "item_id", "n_candidates") == [
        (repetition, *item) for repetition in (0, 1) for item in items
    ]


@pytest.mark.parametrize("seed", range(3))
def test_several_items_are_not_negatives_of_each_other(rows, folder, seed):
    """Bert has 7 other candidates and cora 6, which are all drawn: these ranks are exact.

    Anna has 7 others; before her second item are 4 candidates, one of which is her first item.
    """
    (folder / "several.csv").write_text(SEVERAL)
    table = rows(f"sample several.csv --n-negatives 7 --seed {seed} --repetitions 1")
    first, second, *others = column(table, "sampled_rank")
    assert others == [3, 4, 6]
    assert first == 1
    assert second in (4, 5)


def test_sample_of_all_candidates_has_the_exact_ranks(rows):
    table = rows("sample r.csv --n-items 100 --n-negatives 99 --repetitions 1")
    assert column(table, "sampled_rank") == [1, 3, 11]
    assert "item_id" not in table[0]  # of single items


@pytest.fixture
def graded(folder):
    """Write ranks with grades 2 and 1, and ranks without grades."""
    header = "user_id,n_candidates,n_better,n_tied"
    (folder / "plain.csv").write_text(f"{header}\nanna,9,0,0\n")
    (folder / "graded.csv").write_text(f"{header},relevance\nanna,9,0,0,2\nanna,9,4,0,1\n")


@pytest.mark.usefixtures("graded")
@pytest.mark.parametrize("files", ["graded.csv plain.csv", "plain.csv graded.csv"])
@pytest.mark.parametrize("least", ["", "--min-relevance 1"])
def test_grades_of_one_of_two_files_are_noted_once(run, files, least):
    done = run(*f"evaluate {files} {least} --metric ndcg@3".split())
    assert done.stdout.count("grades as gains") == 1


@pytest.mark.usefixtures("graded")
def test_ranks_without_grades_have_no_note_of_grades(run):
    assert "grades" not in run("evaluate", "plain.csv", "--metric", "ndcg@3").stdout


@pytest.mark.usefixtures("graded")
@pytest.mark.parametrize("files", ["graded.csv plain.csv", "plain.csv graded.csv"])
def test_min_relevance_2_of_ranks_without_grades_is_refused(refusal_line, files):
    line = f"evaluate {files} --min-relevance 2 --metric ndcg@3,recall@1"
    assert "no grades" in refusal_line(*line.split())


def test_sample_of_lists_that_end_is_refused(refusal_line, folder):
    """Sampled ranks need the ranks among all candidates."""
    (folder / "cut.csv").write_text("user_id,item_id,rank\nanna,7,1\nanna,8,2\n")
    (folder / "test.csv").write_text("user_id,item_id\nanna,8\n")
    line = "sample cut.csv --relevant test.csv --n-negatives 1 --n-items 9"
    assert "--complete" in refusal_line(*line.split())


THREE = "compare r.csv r2.csv r3.csv --n-items 100 --metric ap"


@pytest.fixture
def third(folder):
    """Write ranks of a third recommender."""
    (folder / "r3.csv").write_text("user_id,rank\nbert,5\nanna,9\ncora,1\n")


@pytest.mark.usefixtures("third")
def test_comparison_of_three_names_the_correction_of_holm(run):
    assert "holm" in run(*THREE.split()).stdout
    assert "holm" not in run(*THREE.split(), "--correction", "none").stdout


@pytest.mark.usefixtures("third")
def test_table_of_a_comparison_is_less_than_110_characters_wide(run):
    assert max(map(len, run(*THREE.split()).stdout.splitlines())) < 110


def test_few_effective_users_are_noted(run, folder):
    """Two users have most of NDCG and AP; AUC has about 39 effective users, which are enough."""
    (folder / "few.csv").write_text("rank\n1\n2\n" + "1500\n" * 48)
    printed = run("evaluate", "few.csv", "--n-items", 2000).stdout
    assert re.findall(r"^(\S+): about (\d+) of 50 users", printed, re.MULTILINE) == [
        ("ndcg@10", "2"),
        ("ap", "2"),
    ]


@pytest.mark.parametrize(
    ("line", "forms", "is_announced"),
    [
        (EVALUATE, ["table", "json", "csv"], False),
        (CORRECT, ["json"], False),
        (COMPARE, ["csv"], False),
        (PLAN, ["table"], False),
        (DRAW, ["table", "json", "csv"], True),
    ],
)
def test_output_file_equals_printed_text(run, folder, line, forms, is_announced):
    for form in forms:
        path = folder / "new" / f"a.{form}"
        printed = run(*shlex.split(line), "--format", form).stdout
        options = ["--format", "table"] if form == "table" else []
        done = run(*shlex.split(line), "--output", path, *options)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"Wrote {path} " if is_announced else "")
        assert done.stdout.count("\n") == is_announced
        assert path.read_text() == printed


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("evaluat", ["No such command 'evaluat'"]),
        ("correct s.csv -m 5", ["No such option: -m"]),
        ("evaluate r.csv --n-items 1", ["'--n-items'"]),
        (f"{EVALUATE} --format xml", ["'--format'"]),
        (f"{CORRECT} --n-negatives 0", ["'--n-negatives'"]),
        (f"{CORRECT} --confidence 1", ["confidence is 1.0"]),
        (f"{CORRECT} --metric hallo@10", ["unknown measure 'hallo@10'"]),
        (f"{CORRECT} --metric recall@0", ["recall@0", "at least 1"]),
        (f"{CORRECT} --estimator magic", ["unknown estimator 'magic'"]),
        (f"{CORRECT} --shape round", ["'round'"]),
        ("reported HR@10 --n-items 100 --n-negatives 10", ["HR@10"]),
        ("reported HR@10=1.01 --n-items 100 --n-negatives 10", ["0.0101"]),
        ("sample r.csv --n-items 9 --n-negatives 2 --repetitions 99999999", ["--repetitions"]),
        ("reported HR@10=0.1 HR@10=0.2 --n-items 100 --n-negatives 10", ["HR@10 is 0.1 and 0.2"]),
        ("correct scores.npy --positive 99 --n-items 100", ["scores.npy: positive", "0 to"]),
        (
            "plan --effect 0.02 --value 0.99 --n-items 3000 --n-users 60 --metric HR@10",
            ["--effect"],
        ),
        (f"{CORRECT} --ties paper", ["'--ties'"]),
        (f"{PLAN} --n-users 0", ["'--n-users'"]),
        (f"{PLAN} --effect 0.1 --value 0.1", ["effect", "rankings"]),
        ("plan --n-items 100", ["--effect"]),
        ("evaluate r.csv", ["r.csv", "--n-items", "n_candidates"]),
        ("evaluate r.csv --n-items 10", ["r.csv, row 3, column rank: found 11"]),
        ("correct s.csv --n-items 100", ["pass --n-negatives"]),
        ("correct s.csv s2.csv --n-negatives 10 --n-items 100", ["s2.csv"]),
        (f"{CORRECT} --output .", [".: is a directory"]),
        (f"{DRAW} --output r.csv/o.parquet", ["r.csv/o.parquet:"]),
        ("compare r.csv --n-items 100", ["1 recommender", "two or more"]),
        ("compare r.csv r.csv --n-items 100", ["1 recommender", "two or more"]),
        (f"{COMPARE} --estimator bv:0.1", ["--estimator", "--n-negatives"]),
        ("plan --ranks r.csv", ["--ranks"]),
        ("sample r.csv --n-items 100 --n-negatives 100", ["r.csv: n is 100"]),
        ("sample list.csv --relevant relevant.csv --n-negatives 1", ["list.csv:", "--complete"]),
        (
            "evaluate list.csv --relevant titles.csv --metric ap@2",
            ["titles.csv, line 2:", "quotation mark"],
        ),
    ],
)
def test_invalid_use_exits_2_with_one_line(refusal_line, folder, line, named):
    """The line names the wrong argument, and no file is written."""
    np.save(folder / "scores.npy", np.arange(12.0).reshape(3, 4))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    message = refusal_line(*shlex.split(line))
    assert [word for word in named if word not in message] == []
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_memory_error_is_one_line(refusal_line, folder, monkeypatch):
    del folder
    greedy = Mock(side_effect=MemoryError("Unable to allocate 7.28 TiB"))
    monkeypatch.setattr("sampled_metrics.evaluation.correct.correct", greedy)
    assert refusal_line(*CORRECT.split()) == ("not enough memory: Unable to allocate 7.28 TiB")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["evaluate", "--help"]])
def test_help_is_printed_with_status_0(run, arguments):
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage" in done.stdout


def test_version_is_printed(run):
    assert run("--version").stdout == f"sampled-metrics {sampled_metrics.__version__}\n"


@pytest.mark.parametrize("name", ["Gr\u00f6\u00dfe.csv", "k=v.csv", "HR@10=0.8"])
def test_name_of_a_file_is_kept_in_its_rows(rows, folder, name):
    (folder / name).write_text(RANKS)
    assert {row["file"] for row in rows(f"evaluate {name} --n-items 100")} == {name}


def test_json_is_indented_and_not_escaped(run, folder):
    (folder / "Gr\u00f6\u00dfe.csv").write_text(RANKS)
    text = run("evaluate", "Gr\u00f6\u00dfe.csv", "--n-items", 100, "--format", "json").stdout
    assert text.startswith('[\n  {\n    "file": "Gr\u00f6\u00dfe.csv"')
    assert text.endswith("\n  }\n]\n")


def test_module_runs_as_program(folder):
    command = [sys.executable, "-m", "sampled_metrics", "evaluate", "--n-items", "1"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)


KILLED_WHILE_WRITING = """
import os, signal, sys, time
from pathlib import Path
import sampled_metrics.evaluation.evaluate
from sampled_metrics import cli
from sampled_metrics._base.files import replace_file

def killed(*_, **__):
    with replace_file(Path("table1.csv")) as temporary:
        temporary.write_text("half")
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)

sys.modules["sampled_metrics.evaluation.evaluate"].evaluate = killed
Path("r.csv").write_text("rank\\n1\\n")
sys.argv = ["x", "evaluate", "r.csv", "--n-items", "5"]
cli.main()
"""


@pytest.mark.long
def test_sigterm_removes_temporary_files(tmp_path):
    command = [sys.executable, "-c", KILLED_WHILE_WRITING]
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == 143
    assert [path.name for path in tmp_path.iterdir()] == ["r.csv"]


def test_help_imports_no_slow_packages():
    slow = ("numpy", "pandas", "pyarrow", "scipy", "jinja2", "matplotlib")
    code = (
        "import sys\nfrom sampled_metrics.cli import app\n"
        "app(['correct', '--help'], standalone_mode=False)\n"
        f"assert not set({slow}) & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("error", "words", "status"),
    [
        (InputError("wrong", path="a.csv"), "a.csv: wrong", 2),
        (OSError(5, "broken", "a.csv"), "a.csv: broken", 2),
        (OSError("broken"), "broken", 2),
        (MemoryError("1 GB"), "memory: 1 GB", 2),
        (typer.Abort(), "interrupted", 130),
        (typer.BadParameter("Value error, a\n  b"), "value: a b", 2),
        (ModuleNotFoundError("no", name="implicit"), "pip install implicit", 2),
    ],
)
def test_error_of_a_command_is_one_line_and_its_status(run, monkeypatch, error, words, status):
    monkeypatch.setattr("sampled_metrics.cli.app", Mock(side_effect=error))
    done = run("evaluate", "a.csv")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (status, "", 1)
    assert done.stderr.endswith(f"{words}\n")


@pytest.mark.parametrize("name", ["sampled_metrics.nothing", None])
def test_missing_module_of_this_package_is_no_error_of_users(run, monkeypatch, name):
    error = ModuleNotFoundError("no", name=name)
    monkeypatch.setattr("sampled_metrics.cli.app", Mock(side_effect=error))
    with pytest.raises(ModuleNotFoundError):
        run("evaluate", "a.csv")


@pytest.mark.parametrize("name", ["metrics", "columns"])
def test_tables_of_names_are_at_most_80_characters_wide(run, name):
    assert max(map(len, run(name).stdout.splitlines())) <= 80


def test_names_in_the_table_of_metrics_are_whole(run):
    printed = run("metrics").stdout.split()
    rows = json.loads(run("metrics", "--format", "json").stdout)
    names = [name for row in rows for name in row["theirs"].split()]
    assert len(names) > 20
    assert set(names) <= set(printed)


def test_help_of_make_fits():
    text = (ROOT / "Makefile").read_text()
    for target, words in re.findall(r"(?m)^([a-z-]+):.*## (.*)$", text):
        assert 11 + len(words) <= 80, target


@pytest.mark.parametrize(
    ("form", "start"), [("csv", "library,theirs,ours,note\n"), ("json", '[\n  {\n    "library": ')]
)
def test_metrics_are_printed_in_a_format(run, form, start):
    assert run("metrics", "--format", form).stdout.startswith(start)


def test_metrics_are_a_table_by_default_that_fits(run):
    table = run("metrics").stdout
    assert table.splitlines()[0].split() == ["library", "theirs", "ours"]
    assert max(map(len, table.splitlines())) <= 80
    assert run("metrics", "--format", "table").stdout == table


def test_differences_of_metrics_are_explained_on_request(run):
    assert "LensKit NDCG(K): " not in run("metrics").stdout
    assert "LensKit NDCG(K): " in run("metrics", "--explain").stdout


@pytest.mark.parametrize(
    ("suffix", "form"), [(".csv", "json"), (".json", "table"), (".txt", "csv"), ("", "json")]
)
def test_format_overrides_suffix(run, folder, suffix, form):
    printed = run("metrics", "--format", form).stdout
    options = ("--format", form), ("--output", f"m{suffix}")
    for first, second in (options, reversed(options)):
        assert run("metrics", *first, *second).returncode == 0
        assert (folder / f"m{suffix}").read_text() == printed


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        # the reader has closed the pipe
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 1, ""),
        (OSError(errno.EIO, "broken"), 2, "standard output: cannot be written (broken)\n"),
    ],
)  # fmt: skip
def test_broken_output_sets_status(run, monkeypatch, error, status, message):
    monkeypatch.setattr(output.typer, "echo", Mock(side_effect=error))
    done = run("metrics")
    assert (done.returncode, done.stderr) == (status, message)


# Negatives

TABLES = ["--relevant", "held.csv", "--seen", "seen.csv", "--items", "items.csv"]


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """Write held-out and seen items of 60 users, of 100 items in all."""
    monkeypatch.chdir(tmp_path)
    users = np.arange(60)
    held_out = pd.DataFrame({"user_id": users, "item_id": users % 30})
    seen = pd.DataFrame({"user_id": users, "item_id": 30 + users % 9})
    held_out.to_csv("held.csv", index=False)
    seen.to_csv("seen.csv", index=False)
    pd.DataFrame({"item_id": range(100)}).to_csv("items.csv", index=False)


@pytest.mark.usefixtures("tables")
def test_drawn_negatives_are_written_and_counted(run):
    """20 negatives for each of 60 users."""
    line = ("negatives", *TABLES, "--n-negatives", 20, "--output", "drawn.csv")
    assert run(*line).stdout == "Wrote drawn.csv (1,200 negatives).\n"
    assert len(pd.read_csv("drawn.csv")) == 60 * 20


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_drawn_negatives_are_sound_and_exit_0(run, form):
    run("negatives", *TABLES, "--n-negatives", 20, "--output", "drawn.csv")
    assert run("check-negatives", "drawn.csv", *TABLES, "--format", form).returncode == 0


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_seen_item_among_negatives_exits_1(run, form):
    run("negatives", *TABLES, "--n-negatives", 20, "--output", "drawn.csv")
    negatives = pd.read_csv("drawn.csv")
    negatives.loc[0, ["user_id", "item_id"]] = (0, 30)  # user 0 has seen item 30
    negatives.to_csv("wrong.csv", index=False)
    wrong = run("check-negatives", "wrong.csv", *TABLES, "--format", form)
    assert (wrong.returncode, wrong.stderr) == (1, "")
    sound = run("check-negatives", "drawn.csv", *TABLES, "--format", form)
    assert "seen" in wrong.stdout
    assert wrong.stdout != sound.stdout


@pytest.mark.usefixtures("tables")
def test_single_written_row_is_counted(run):
    pd.read_csv("held.csv").head(1).to_csv("held.csv", index=False)
    done = run("negatives", *TABLES, "--n-negatives", 1, "--output", "n.csv")
    assert done.stdout == "Wrote n.csv (1 negative).\n"
    assert len(pd.read_csv("n.csv")) == 1

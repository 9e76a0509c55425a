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


def as_csv(value):
    if isinstance(value, list):
        return "; ".join(value)
    return "" if value is None else str(value)


@pytest.fixture
def rows(run, folder):
    """Run a command with JSON and with CSV output; both have the rows and the keys of the help."""
    del folder

    def command(line):
        done = [run(*shlex.split(line), "--format", form) for form in ("json", "csv")]
        assert [(x.returncode, x.stderr) for x in done] == [(0, ""), (0, "")]
        printed = json.loads(done[0].stdout)
        texts = [{k: as_csv(v) for k, v in row.items()} for row in printed]
        assert list(csv.DictReader(io.StringIO(done[1].stdout))) == texts
        verb = line.partition(" ")[0]
        text = " ".join(run(verb, "--help").stdout.replace("│", " ").split())
        listed = re.sub(
            r" \([^()]*\)", "", text.partition("Keys: ")[2]
        )  # without explanations of keys
        keys = [key for key in re.findall(r"\w+", listed) if key in printed[0]]
        assert list(printed[0]) == list(dict.fromkeys(keys))
        return printed

    return command


def column(rows, *keys):
    return [row[keys[0]] if len(keys) == 1 else tuple(row[key] for key in keys) for row in rows]


@pytest.mark.parametrize(
    ("line", "first"),
    [
        (EVALUATE, {"file": "r.csv", "metric": "recall@10", "ties": "expected", "n_users": 3}),
        ("evaluate list.csv --relevant q.qrels --metric ap@2", {"value": 1.0}),
        (f"{CORRECT} --estimator sampled", {"value": 2 / 3, "n_items": 100, "n_negatives": 10}),
        (f"{CORRECT} --sampling distinct --estimator cls", {"sampling": "distinct"}),
        (COMPARE, {"a": "r", "b": "r2", "paired": True, "order": "undecided", "n_items": 100}),
        ("compare r.csv other/r.csv --n-items 100",
         {"a": "r.csv", "b": "other/r.csv", "difference": 0.0}),
        ("compare s3.csv s.csv --n-items 100 --n-negatives 10 --metric auc --estimator sampled",
         {"a": "s3", "b": "s", "paired": True, "acts_like": None}),
        (f"{PLAN} --metric auc", {"n_users": 3, "exact_a": (99 + 97 + 89) / 99 / 3}),
        (f"{PLAN} --n-users 9", {"n_users": 9, "n_negatives": 1}),
        (EFFECT, {"n_users": 40, "n_items": 100, "exact_a": 0.2, "exact_b": 0.5}),
    ],
)  # fmt: skip
def test_first_row(rows, folder, line, first):
    (folder / "other").mkdir()
    (folder / "other" / "r.csv").write_text(RANKS)
    row = rows(line)[0]
    assert {key: row[key] for key in first} == pytest.approx(first)


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
    listed = [row for row in rows("metrics") if row["library"] == "sampled-metrics"]
    places = {"k": "3", "BETA": "2", "K": "3"}
    compared = set()
    for row in listed:
        ours = re.sub("BETA|(?<=@)k$", lambda match: places[match[0]], row["ours"])
        measure = parse_measure(ours, any_bounds=True)
        for name in filter(None, row["theirs"].split(", ")):
            same = re.sub("BETA", "2", name)
            if "@" in ours and "@" not in same:
                same += ours[ours.index("@") :]
            assert parse_measure(same, any_bounds=True) == measure
            compared.add(name)
    assert {"hr", "mrr", "accuracy"} <= compared
    assert len({row["ours"] for row in listed}) > 10


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


def test_sample_from_scores(rows, folder):
    """The rank of b is 2 of 4 for anna, and 1 of 3 for bert, who has seen c."""
    scores = {"anna": (9, 8, 7, 6), "bert": (1, 3, 5, 2)}
    lines = [
        f"{user},{item},{score}"
        for user, scores_of_user in scores.items()
        for item, score in zip("abcd", scores_of_user, strict=True)
    ]
    text = "\n".join(["user_id,item_id,score", *lines])
    (folder / "scores.csv").write_text(text)
    (folder / "rel.csv").write_text("user_id,item_id\nanna,b\nbert,b\n")
    (folder / "seen.csv").write_text("user_id,item_id\nbert,c\n")
    line = "sample scores.csv --relevant rel.csv --seen seen.csv --complete --n-negatives 2"
    table = rows(f"{line} --repetitions 40 --seed 1")
    n_candidates = {row["user_id"]: row["n_candidates"] for row in table}
    assert n_candidates == {"anna": 4, "bert": 3}
    anna = [row["sampled_rank"] for row in table if row["user_id"] == "anna"]
    assert {row["sampled_rank"] for row in table if row["user_id"] == "bert"} == {1}
    assert set(anna) == {1, 2}  # the better item a is drawn or not


def test_sample_several_held_out_items(rows, folder):
    """All other candidates are drawn, so that sampled ranks are ranks without the other item.

    anna's items have the ranks 1 and 5 of 9, and cora's 4 and 6 of 8; bert's single one 3 of 8.
    """
    (folder / "several.csv").write_text(
        "user_id,n_candidates,n_better,n_tied\n"
        "anna,9,0,0\nanna,9,4,0\nbert,8,2,0\ncora,8,3,0\ncora,8,5,0\n"
    )
    table = rows("sample several.csv --n-negatives 7 --repetitions 2 --seed 3")
    users, items = ["anna", "anna", "bert", "cora", "cora"], [0, 1, 0, 0, 1]
    assert column(table, "repetition", "user_id", "item_id") == [
        (repetition, *pair) for repetition in (0, 1) for pair in zip(users, items, strict=True)
    ]
    assert column(table, "n_candidates") == [9, 9, 8, 8, 8] * 2
    for repetition in (table[:5], table[5:]):
        first, second, *others = column(repetition, "sampled_rank")
        assert others == [3, 4, 6]
        assert first == 1
        assert second in (4, 5)  # one of 8 other candidates is not drawn


def test_sample_of_all_candidates_has_the_exact_ranks(rows):
    table = rows("sample r.csv --n-items 100 --n-negatives 99 --repetitions 1")
    assert column(table, "sampled_rank") == [1, 3, 11]
    assert "item_id" not in table[0]  # of single items


@pytest.mark.parametrize("files", ["graded.csv plain.csv", "plain.csv graded.csv"])
@pytest.mark.parametrize(("least", "is_noted"), [(None, True), (1, True), (2, False)])
def test_grades_are_noted_once(run, folder, files, least, is_noted):
    header = "user_id,n_candidates,n_better,n_tied"
    (folder / "plain.csv").write_text(f"{header}\nanna,9,0,0\n")
    grades = f"{header},relevance\nanna,9,0,0,2\nanna,9,4,0,1\n"
    (folder / "graded.csv").write_text(grades)
    options = [] if least is None else ["--min-relevance", least]
    done = run("evaluate", *files.split(), *options, "--metric", "ndcg@3,recall@1")
    if is_noted:
        assert done.stdout.count("grades as gains") == 1
    else:
        assert "no grades" in done.stderr
    assert "grades" not in run("evaluate", "plain.csv", "--metric", "ndcg@3").stdout


def test_cut_lists_are_refused(refusal_line, folder):
    del folder
    line = "sample list.csv --relevant relevant.csv --n-negatives 1 --n-items 9"
    assert "--complete" in refusal_line(*line.split())


def test_compare_table(run, folder):
    (folder / "r3.csv").write_text("user_id,rank\nbert,5\nanna,9\ncora,1\n")
    line = shlex.split("compare r.csv r2.csv r3.csv --n-items 100 --metric ap")
    corrected = run(*line).stdout
    assert "holm" in corrected
    assert max(map(len, corrected.splitlines())) < 110
    assert "holm" not in run(*line, "--correction", "none").stdout


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


# Invalid calls, and parts of their messages.
WRONG_USE = """
evaluat | No such command 'evaluat'
correct s.csv -m 5 | No such option: -m
evaluate r.csv --n-items 1 | '--n-items'
{EVALUATE} --format xml | '--format'
{CORRECT} --n-negatives 0 | '--n-negatives'
{CORRECT} --confidence 1 | confidence is 1.0
{CORRECT} --metric hallo@10 | unknown measure 'hallo@10'
{CORRECT} --metric recall@0 | recall@0 & at least 1
{CORRECT} --estimator magic | unknown estimator 'magic'
{CORRECT} --shape round | 'round'
reported HR@10 --n-items 100 --n-negatives 10 | HR@10
reported HR@10=1.01 --n-items 100 --n-negatives 10 | 0.0101
sample r.csv --n-items 9 --n-negatives 2 --repetitions 99999999 | --repetitions
reported HR@10=0.1 HR@10=0.2 --n-items 100 --n-negatives 10 | HR@10 is 0.1 and 0.2
correct scores.npy --positive 99 --n-items 100 | scores.npy: positive & 0 to
plan --effect 0.02 --value 0.99 --n-items 3000 --n-users 60 --metric HR@10 | --effect
{CORRECT} --ties paper | '--ties'
{PLAN} --n-users 0 | '--n-users'
{PLAN} --effect 0.1 --value 0.1 | effect & rankings
plan --n-items 100 | --effect
evaluate r.csv | r.csv & --n-items & n_candidates
evaluate r.csv --n-items 10 | r.csv, row 3, column rank: found 11
correct s.csv --n-items 100 | pass --n-negatives
correct s.csv s2.csv --n-negatives 10 --n-items 100 | s2.csv
{CORRECT} --output . | .: is a directory
{DRAW} --output r.csv/o.parquet | r.csv/o.parquet:
compare r.csv --n-items 100 | 1 recommender & two or more
compare r.csv r.csv --n-items 100 | 1 recommender & two or more
{COMPARE} --estimator bv:0.1 | --estimator & --n-negatives
plan --ranks r.csv | --ranks
sample r.csv --n-items 100 --n-negatives 100 | r.csv: n is 100
sample list.csv --relevant relevant.csv --n-negatives 1 | list.csv: & --complete
evaluate list.csv --relevant titles.csv --metric ap@2 | titles.csv, line 2: & quotation mark
"""


@pytest.mark.parametrize("case", WRONG_USE.strip().splitlines())
def test_invalid_use_exits_2_with_one_line(refusal_line, folder, case):
    np.save(folder / "scores.npy", np.arange(12.0).reshape(3, 4))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    command, text = case.split(" | ")
    message = refusal_line(*shlex.split(command.format_map(globals())))
    assert all(word in message for word in text.split(" & ")), message
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_memory_error_is_one_line(refusal_line, folder, monkeypatch):
    del folder
    greedy = Mock(side_effect=MemoryError("Unable to allocate 7.28 TiB"))
    monkeypatch.setattr("sampled_metrics.evaluation.correct.correct", greedy)
    assert refusal_line(*CORRECT.split()) == ("not enough memory: Unable to allocate 7.28 TiB")


def test_help_and_version(run):
    for arguments in ([], ["--help"], ["evaluate", "--help"]):
        done = run(*arguments)
        assert (done.returncode, done.stderr) == (0, "")
        assert "Usage" in done.stdout
    assert run("--version").stdout.startswith("sampled-metrics ")


def test_file_names_are_kept(run, rows, folder):
    for name in ("Gr\u00f6\u00dfe.csv", "k=v.csv", "HR@10=0.8"):
        (folder / name).write_text(RANKS)
        assert set(column(rows(f"evaluate {name} --n-items 100"), "file")) == {name}
    line = "evaluate Gr\u00f6\u00dfe.csv --n-items 100 --format json"
    text = run(*line.split()).stdout
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
def test_names_in_tables_are_whole(run, name):
    lines = run(name).stdout.splitlines()
    assert max(map(len, lines)) <= 80
    listed = " ".join(" ".join(lines).split())
    if name == "metrics":
        names = [row["theirs"] for row in json.loads(run(name, "--format", "json").stdout)]
        assert all(word in listed.split() for text in names for word in text.split())


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
def test_unsound_negatives_exit_1(run):
    line = ("negatives", *TABLES, "--n-negatives", 20, "--output", "drawn.csv")
    assert run(*line).stdout == "Wrote drawn.csv (1,200 negatives).\n"
    negatives = pd.read_csv("drawn.csv")
    assert len(negatives) == 1200
    negatives.loc[0, ["user_id", "item_id"]] = (0, 30)  # a seen item
    negatives.to_csv("wrong.csv", index=False)
    for form in ("table", "json", "csv"):
        sound = run("check-negatives", "drawn.csv", *TABLES, "--format", form)
        assert sound.returncode == 0
        wrong = run("check-negatives", "wrong.csv", *TABLES, "--format", form)
        assert (wrong.returncode, wrong.stderr) == (1, "")
        assert "seen" in wrong.stdout
        assert wrong.stdout != sound.stdout


@pytest.mark.usefixtures("tables")
def test_single_written_row_is_counted(run):
    pd.read_csv("held.csv").head(1).to_csv("held.csv", index=False)
    done = run("negatives", *TABLES, "--n-negatives", 1, "--output", "n.csv")
    assert done.stdout == "Wrote n.csv (1 negative).\n"
    assert len(pd.read_csv("n.csv")) == 1

"""The commands for one's own recommenders: every format, every key, and every wrong input."""

import csv
import io
import json
import math
import os
import re
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

# Keys of the results in their order, as the help of each command names them.
KEYS = {
    "evaluate": (
        "file, metric, ties, value, std_error, ci_low, ci_high, n_users, n_items, effective_users"
    ),
    "correct": (
        "metric, estimator, value, std_error, ci_low, ci_high, range_low, range_high, shape, "
        "behaves_like, n_users, n_items, n_negatives, sampling"
    ),
    "compare": (
        "a, b, metric, estimator, value_a, value_b, difference, std_error, ci_low, ci_high, "
        "range_low, range_high, order, p_value, behaves_like, verdict, paired, n_users, n_items, "
        "n_negatives, sampling"
    ),
    "plan": (
        "metric, estimator, n_negatives, probability, at_largest, largest, exact_a, exact_b, "
        "n_items, n_users, sampling"
    ),
    "sample": "repetition, user_id, item_id, n_candidates, n_negatives, sampling, sampled_rank",
}
EVALUATED, CORRECTED, COMPARED, PLANNED, SAMPLED = (keys.split(", ") for keys in KEYS.values())

RANKS = "user_id,rank\nanna,1\nbert,3\ncora,11\n"
FILES = {
    "r.csv": RANKS,
    "r2.csv": "user_id,rank\nbert,2\nanna,3\ncora,18\n",
    "s.csv": "user_id,sampled_rank\nanna,1\nbert,3\ncora,11\n",
    "s2.csv": "user_id,sampled_rank\nanna,2\nbert,3\ncora,9\n",
    "n.csv": "sampled_rank,n_candidates\n1,50\n2,60\n",
    "records.csv": "n_candidates,n_better,n_tied\n50,3,0\n60,2,1\n",
    "list.csv": "user_id,item_id,rank\nanna,7,1\nanna,8,2\n",
    "relevant.csv": "user_id,item_id\nanna,8\n",
}
SAMPLE = ["correct", "s.csv", "--n-negatives", 10, "--n-items", 100]
PLAN = ["plan", "--n-items", 100, "--n-users", 50, "--level", 0.2, "--effect", 0.1]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files above, in which the command runs."""
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    return tmp_path


@pytest.fixture
def rows(run, folder):
    """Run the command in JSON and in CSV; both hold the same rows."""
    del folder

    def command(*arguments):
        done = [run(*arguments, "--format", form) for form in ("json", "csv")]
        assert [(each.returncode, each.stderr) for each in done] == [(0, ""), (0, "")]
        found = json.loads(done[0].stdout)
        table = list(csv.DictReader(io.StringIO(done[1].stdout)))
        texts = [{k: "" if v is None else str(v) for k, v in row.items()} for row in found]
        assert table == texts
        assert done[1].stdout.splitlines()[0] == ",".join(found[0])
        return found

    return command


class TestKeys:
    def test_evaluate(self, rows):
        found = rows("evaluate", "r.csv", "r2.csv", "--n-items", 100, "--metric", "recall@10")
        assert [list(row) for row in found] == [EVALUATED] * 2
        assert [row["file"] for row in found] == ["r.csv", "r2.csv"]
        assert [row["value"] for row in found] == pytest.approx([2 / 3, 2 / 3])
        assert found[0]["std_error"] == pytest.approx(math.sqrt(2 / 9 / 2))  # 1, 1, 0
        assert (found[0]["n_users"], found[0]["n_items"], found[0]["ties"]) == (3, 100, "expected")

    def test_evaluate_has_four_metrics_where_none_is_named(self, rows):
        found = rows("evaluate", "r.csv", "--n-items", 100)
        assert [row["metric"] for row in found] == ["recall@10", "ndcg@10", "ap", "auc"]

    def test_evaluate_lists(self, rows):
        (found,) = rows("evaluate", "list.csv", "--relevant", "relevant.csv", "--metric", "ap@2")
        assert (found["value"], found["n_items"], found["std_error"]) == (0.5, None, None)

    def test_evaluate_grades(self, rows, run, folder):
        (folder / "list.csv").write_text("user_id,item_id,rank\nanna,7,1\nanna,8,2\n")
        (folder / "q.qrels").write_text("anna 0 7 1\nanna 0 8 3\n")
        metrics = ("--metric", "ndcg@2", "--metric", "recall@1")
        graded = ("evaluate", "list.csv", "--relevant", "q.qrels", *metrics)
        assert [row["value"] for row in rows(*graded)] == [pytest.approx(0.7967, abs=5e-5), 0.5]
        least = rows(*graded, "--min-grade", 3)
        assert [row["value"] for row in least] == [pytest.approx(0.7967, abs=5e-5), 0]
        assert "any grade of 3 or more is relevant" in run(*graded, "--min-grade", 3).stdout

    def test_metrics(self, rows):
        found = rows("metrics")
        assert {"library": "ranx", "theirs": "mrr@K", "ours": "rr@K", "note": ""} in found
        ours = {row["ours"]: row["theirs"] for row in found if row["library"] == "sampled-metrics"}
        assert "hr" in ours["hit@k"]
        assert {row["library"] for row in rows("metrics", "--library", "recbole")} == {"RecBole"}

    def test_names_in_one_option(self, rows):
        several = ("--metric", "HR@10,mrr", "--metric", "NDCG_10")
        found = rows("evaluate", "r.csv", "--n-items", 100, *several)
        assert [row["metric"] for row in found] == ["hit@10", "rr", "ndcg@10"]
        found = rows(*SAMPLE, "--metric", "recall@10", "--estimator", "CLS,bv:0.1")
        assert [row["estimator"] for row in found] == ["cls", "bv:0.1"]

    def test_ratings(self, rows, folder):
        (folder / "p.csv").write_text("user_id,rating,prediction\n1,4,3.5\n1,3,3\n2,5,4\n2,1,3\n")
        found = rows("ratings", "p.csv")
        assert [row["metric"] for row in found] == ["rmse", "mae"]
        expected = [((0.25 + 0 + 1 + 4) / 4) ** 0.5, (0.5 + 0 + 1 + 2) / 4]
        assert [row["value"] for row in found] == pytest.approx(expected, rel=1e-15)
        assert [row["n_ratings"] for row in found] == [4, 4]

    def test_correct(self, rows):
        found = rows(*SAMPLE)
        assert [list(row) for row in found] == [CORRECTED] * 16
        names = [(row["metric"], row["estimator"]) for row in found]
        assert names[:4] == [
            ("recall@10", "sampled"),
            ("recall@10", "cls"),
            ("recall@10", "bv:0.1"),
            ("recall@10", "bv:0.01"),
        ]
        tail = [found[0][key] for key in CORRECTED[-4:]]
        assert tail == [3, 100, 10, "without-replacement"]
        assert found[0]["value"] == pytest.approx(2 / 3)  # sampled ranks 1, 3 and 11

    def test_correct_with_bias(self, rows):
        for text in ("uniform", "records.csv", "r.csv"):
            found = rows(*SAMPLE, "--show-bias", text)
            assert list(found[0]) == [*CORRECTED, "bias"]
            assert all(isinstance(row["bias"], float) for row in found)

    def test_correct_without_n_items(self, rows):
        mean = rows("correct", "n.csv", "--n-negatives", 5, "--metric", "ap")
        own = rows("correct", "n.csv", "--n-negatives", 5, "--metric", "ap", "--per-user")
        assert {row["n_items"] for row in mean + own} == {55}
        assert mean[0]["value"] == own[0]["value"]  # uncorrected
        assert mean[0]["range_low"] == own[0]["range_low"]
        assert mean[2]["value"] != own[2]["value"]

    def test_correct_one_user(self, rows, folder):
        (folder / "one.csv").write_text("sampled_rank\n2\n")
        found = rows("correct", "one.csv", "--n-negatives", 5, "--n-items", 50)
        for key in ("std_error", "ci_low", "ci_high"):
            assert {row[key] for row in found} == {None}

    @pytest.mark.parametrize("sampling", ["with-replacement", "without-replacement", "distinct"])
    def test_sampling(self, rows, sampling):
        found = rows(*SAMPLE, "--sampling", sampling, "--estimator", "bv:0.1", "--metric", "ap")
        assert [row["sampling"] for row in found] == [sampling]

    def test_compare_full_rankings(self, rows):
        (found,) = rows("compare", "r.csv", "r2.csv", "--n-items", 100, "--metric", "ap")
        assert list(found) == COMPARED
        a, b = np.array([1, 1 / 3, 1 / 11]), np.array([1 / 3, 1 / 2, 1 / 18])
        assert (found["a"], found["b"]) == ("r", "r2")
        assert found["difference"] == pytest.approx((b - a).mean())
        assert found["std_error"] == pytest.approx((b - a).std(ddof=1) / math.sqrt(3))
        assert found["paired"] is True
        assert (found["n_negatives"], found["sampling"]) == (None, None)

    def test_compare_sampled_ranks_of_three(self, rows, folder):
        (folder / "s3.csv").write_text("sampled_rank\n4\n5\n")
        found = rows(
            *("compare", "s.csv", "s2.csv", "s3.csv", "--n-items", 100, "--n-negatives", 10),
            *("--metric", "auc", "--estimator", "sampled"),
        )
        assert [(row["a"], row["b"], row["paired"]) for row in found] == [
            ("s", "s2", True),
            ("s", "s3", False),
            ("s2", "s3", False),
        ]
        assert found[0]["difference"] == pytest.approx((-1 + 0 + 2) / 10 / 3)
        assert (found[0]["n_negatives"], found[0]["sampling"]) == (10, "without-replacement")

    def test_plan(self, rows):
        ranges, found = rows(*PLAN, "--estimator", "sampled", "--n-users", 5000)
        assert list(found) == PLANNED
        assert (ranges["estimator"], found["estimator"]) == ("range", "sampled")
        assert (found["exact_a"], found["exact_b"]) == pytest.approx((0.2, 0.3))
        assert (found["largest"], found["n_users"], found["probability"]) == (99, 5000, 0.95)
        assert 1 <= found["n_negatives"] < 99

    def test_plan_from_ranks(self, rows):
        files = ["--ranks", "r.csv", "r2.csv", "--n-items", 100]
        _, found = rows("plan", *files, "--metric", "auc", "--estimator", "sampled")
        assert (found["exact_a"], found["n_users"]) == (pytest.approx((99 + 97 + 89) / 99 / 3), 3)
        _, drawn = rows("plan", *files, "--metric", "auc", "--estimator", "sampled", "--n-users", 9)
        assert drawn["n_users"] == 9
        assert drawn["at_largest"] < 1.0 == found["at_largest"]

    def test_sample(self, rows):
        found = rows("sample", "r.csv", "--n-negatives", 10, "--n-items", 100, "--repetitions", 2)
        assert [list(row) for row in found] == [[key for key in SAMPLED if key != "item_id"]] * 6
        assert [row["user_id"] for row in found] == ["anna", "bert", "cora"] * 2
        assert [row["repetition"] for row in found] == [0, 0, 0, 1, 1, 1]
        assert {row["n_candidates"] for row in found} == {100}

    def test_sample_without_ids_counts_rows_where_they_repeat(self, rows):
        one = rows("sample", "records.csv", "--n-negatives", 10)
        two = rows("sample", "records.csv", "--n-negatives", 10, "--repetitions", 2)
        assert not {"user_id", "item_id"} & set(one[0])
        assert [row["user_id"] for row in two] == [1, 2, 1, 2]

    def test_keys_are_those_of_the_help(self, run):
        for command, keys in KEYS.items():
            words = " ".join(run(command, "--help").stdout.replace("│", " ").split())
            # Words in brackets explain a key.
            listed = re.sub(r" \([^()]*\)|and with --show-bias.*", "", words.partition("Keys: ")[2])
            assert listed.startswith(keys), command


def test_table_of_one_case(run, folder):
    del folder
    done = run(*SAMPLE, "--metric", "recall@10", "--estimator", "sampled", "--estimator", "bv:1")
    assert done.stdout == (
        "metric     range             estimator      value  acts like\n"
        "---------  ----------------  -----------  -------  -----------\n"
        "recall@10  0.1000 to 1.0000  sampled      0.66667  recall@94\n"
        'recall@10  "                 bv:1         0.26139  recall@12\n'
        "\n"
        "3 users, 10 negatives drawn uniformly without replacement from 99 items. Fractions.\n"
        "range: values of the exact metric that the sampled ranks allow, at 95 %,\n"
        "  assuming that no rank is likelier than the one before it.\n"
        "value: the estimate. It weighs true ranks roughly as the metric on its right does, so it "
        "need\n  not be near the exact metric, nor inside the range.\n"
    )


class TestTables:
    """What people read: narrow, in words, and nothing that only programs need."""

    NARROW = 110

    @pytest.fixture
    def table(self, run, tmp_path, monkeypatch):
        """Run the command on three recommenders whose recall is .05, .3 and .32, of 400 users."""
        monkeypatch.chdir(tmp_path)
        rng = np.random.default_rng(0)
        for name, high in (("Low", 0.05), ("High", 0.3), ("Same", 0.32)):
            ranks = np.where(rng.random(400) < high, rng.integers(1, 11, 400), 0)
            ranks = np.where(ranks, ranks, rng.integers(11, 1001, 400))
            users = np.arange(400)
            sampled = 1 + rng.hypergeometric(ranks - 1, 1000 - ranks, 100)
            for column, values in (("rank", ranks), ("sampled_rank", sampled)):
                table = pd.DataFrame({"user_id": users, column: values, "n_candidates": 1000})
                (tmp_path / column).mkdir(exist_ok=True)
                table.to_csv(f"{column}/{name}.csv", index=False)

        def command(verb, kind, *arguments, files=3):
            paths = [f"{kind}/{name}.csv" for name in ("Low", "High", "Same")[:files]]
            done = run(verb, *paths, *arguments)
            assert done.returncode == 0, done.stderr
            assert max(map(len, done.stdout.splitlines())) < self.NARROW
            return done.stdout

        return command

    def test_full_rankings_say_the_order_in_words(self, table):
        text = table("compare", "rank", "--metric", "recall@10")
        assert re.search(r"Low +High +recall@10 .* High above Low +400 +yes\n", text)
        assert re.search(r"High +Same +recall@10 .* undecided +400 +yes\n", text)
        assert re.search(r"High, Same, recall@10: undecided with 400 users; about [\d,]+ ", text)
        assert "also corrected for 3 pairs (holm)." in text
        assert "p_value" not in text

    @pytest.mark.parametrize("test", ["t", "wilcoxon", "permutation"])
    def test_a_test_prints_its_p_value(self, table, test):
        assert " p_value " in table("compare", "rank", "--metric", "ap", "--test", test)

    def test_without_a_correction_nothing_is_said_of_one(self, table):
        assert "corrected" not in table("compare", "rank", "--correction", "none")
        assert "corrected" not in table("compare", "rank", files=2)

    def test_sampled_ranks_decide_what_is_far_apart(self, table):
        text = table("compare", "sampled_rank", "--n-negatives", 100, "--metric", "recall@10")
        assert re.search(r"Low +High +recall@10 .* High above Low +400 +yes\n", text)
        assert re.search(r"High +Same +recall@10 .* undecided +400 +yes\n", text)
        assert "High, Same: undecided: 100 uniform negatives leave recall@10\n  between 0." in text
        assert "Low, High: undecided" not in text
        decided = re.findall(r"above (?:about )?(0\.\d+)", text)
        assert float(decided[0]) > float(decided[1])  # by 100 negatives, by full rankings
        assert re.search(r"Low +High +recall@10 +sampled +.* recall@97 +High above Low\n", text)

    def test_resolution_is_compared_with_the_exact_metric(self, table):
        text = table("correct", "sampled_rank", "--n-negatives", 100, files=1)
        assert re.search(r"\nndcg@10 .* half credit at rank \d+, not 3\n", text)
        assert re.search(r"\nap .* half credit at rank \d+, not 2\n", text)
        assert re.search(r"\nauc .* auc\n", text)
        assert "ci_low" not in text

    def test_intervals_are_called_what_they_are(self, table):
        text = table("correct", "sampled_rank", "--n-negatives", 100, "--intervals", files=1)
        assert "interval          acts like\n" in text
        assert text.endswith(
            "interval: of the expectation of the estimate, which is not the exact metric.\n"
        )

    def test_the_assumption_is_the_one_asked_for(self, table):
        for verb, files in (("correct", 1), ("compare", 2)):
            text = table(verb, "sampled_rank", "--n-negatives", 100, "--shape", "none", files=files)
            assert "  whatever the true ranks are.\n" in text

    def test_an_estimate_that_is_the_same_for_all_ranks_acts_like_no_metric(self, table):
        same = ["--metric", "recall@101", "--estimator", "sampled"]
        text = table("correct", "sampled_rank", "--n-negatives", 100, *same, files=1)
        assert " half credit at no rank\n" in text


class TestFewUsersCarryTheValue:
    def note(self, run, ranks, *arguments):
        pd.DataFrame({"rank": ranks}).to_csv("few.csv", index=False)
        done = run("evaluate", "few.csv", "--n-items", 2000, *arguments)
        return done.stdout.partition("\n\n")[2]

    def test_is_said_of_ap_and_ndcg(self, run, folder):
        del folder
        note = self.note(run, [1, 2] + [1500] * 48)
        assert "\nndcg@10: about 2 of 50 users carry most of the value; its interval is too" in note
        assert "\nap: about 2 of 50 users" in note
        assert "recall@10" not in note  # a share, whose interval holds with few hits
        assert "auc" not in note

    def test_is_not_said_of_many(self, run, folder):
        del folder
        assert self.note(run, [1, 2, 3, 4] * 50).count("\n") == 1

    def test_programs_have_the_number(self, rows, folder):
        (folder / "few.csv").write_text("rank\n1\n2\n")
        (found,) = rows("evaluate", "few.csv", "--n-items", 9, "--metric", "rr")
        assert found["effective_users"] == pytest.approx(1.5**2 / 1.25)


class TestUnlikeFiles:
    def test_other_candidates_are_named_on_standard_error(self, run, folder):
        (folder / "o.csv").write_text("user_id,rank,n_candidates\nanna,1,40\nbert,2,40\n")
        (folder / "p.csv").write_text("user_id,rank,n_candidates\nanna,1,50\nbert,2,50\n")
        done = run("compare", "o.csv", "p.csv")
        assert done.returncode == 0
        assert done.stderr == (
            "o has 40 candidates and p has 50: are these evaluations on the same data?\n"
        )
        assert "candidates" not in done.stdout

    def test_few_common_users_are_named_and_counted(self, run, folder):
        (folder / "o.csv").write_text("user_id,sampled_rank\nanna,1\nx,2\ny,3\n")
        done = run("compare", "s.csv", "o.csv", "--n-items", 100, "--n-negatives", 10)
        assert done.stderr.startswith("s and o have 1 of 3 users in common: ")
        assert re.search(r"\ns +o +recall@10 .* 1  yes\n", done.stdout)

    def test_without_ids_users_are_not_paired(self, run, folder):
        (folder / "o.csv").write_text("sampled_rank\n1\n2\n")
        done = run("compare", "s.csv", "o.csv", "--n-items", 100, "--n-negatives", 10)
        assert done.stderr == ""
        assert re.search(r"\ns +o +recall@10 .* 2  no\n", done.stdout)


class TestFiles:
    def test_output_is_what_would_be_printed(self, run, folder):
        for number, arguments in enumerate(
            (
                ["evaluate", "r.csv", "--n-items", 100],
                SAMPLE,
                ["compare", "r.csv", "r2.csv", "--n-items", 100],
                PLAN,
                ["sample", "r.csv", "--n-items", 100, "--n-negatives", 9],
            )
        ):
            for form in ("table", "json", "csv"):
                path = folder / "new" / f"{number}.{form}"
                printed = run(*arguments, "--format", form).stdout
                done = run(*arguments, "--format", form, "--output", path)
                assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
                assert path.read_text() == printed

    def test_separators_marks_and_compression(self, rows, folder):
        expected = rows("evaluate", "r.csv", "--n-items", 100)
        (folder / "t.tsv").write_text(RANKS.replace(",", "\t"))
        (folder / "b.csv").write_bytes(b"\xef\xbb\xbf" + RANKS.replace("\n", "\r\n").encode())
        pd.read_csv(folder / "r.csv").to_csv(folder / "z.csv.gz", index=False)
        pd.read_csv(folder / "r.csv").to_parquet(folder / "p.parquet")
        for name in ("t.tsv", "b.csv", "z.csv.gz", "p.parquet"):
            found = rows("evaluate", name, "--n-items", 100)
            assert [row | {"file": "r.csv"} for row in found] == expected

    def test_sampled_ranks_go_to_the_corrections(self, rows, run, folder):
        for seed, path in ((1, "a.parquet"), (1, "b.csv"), (2, "c.csv")):
            done = run(
                *("sample", "r.csv", "--n-items", 100, "--n-negatives", 10, "--seed", seed),
                *("--repetitions", 5, "--output", path),
            )
            assert (done.returncode, done.stdout) == (0, "")
        one, again = pd.read_parquet(folder / "a.parquet"), pd.read_csv(folder / "b.csv")
        pd.testing.assert_frame_equal(one, again, check_dtype=False)
        assert not again.equals(pd.read_csv(folder / "c.csv"))
        found = [rows("correct", name, "--n-negatives", 10) for name in ("a.parquet", "b.csv")]
        assert found[0] == found[1]
        assert (found[0][0]["n_users"], found[0][0]["n_items"]) == (3, 100)

    def test_repetitions_of_rows_without_ids_are_no_more_users(self, rows, run):
        run("sample", "records.csv", "--n-negatives", 5, "--repetitions", 9, "--output", "o.csv")
        assert {row["n_users"] for row in rows("correct", "o.csv", "--n-negatives", 5)} == {2}

    def test_one_repetition_does_not_depend_on_the_others(self, run, folder):
        del folder
        arguments = ["sample", "r.csv", "--n-items", 100, "--n-negatives", 10, "--repetitions"]
        few, many = (run(*arguments, number).stdout for number in (2, 4))
        assert many.startswith(few)

    def test_files_of_one_stem_are_called_by_their_paths(self, rows, folder):
        (folder / "other").mkdir()
        (folder / "other" / "r.csv").write_text(RANKS)
        (found,) = rows("compare", "r.csv", "other/r.csv", "--n-items", 100, "--metric", "ap")
        assert (found["a"], found["b"]) == ("r.csv", "other/r.csv")

    def test_numbers_of_users_match_texts(self, rows, folder):
        (folder / "1.csv").write_text("user_id,rank\n1,5\n2,6\n")
        (folder / "2.csv").write_text("user_id,rank\n2,6\n1,5\nx,1\n")
        (found,) = rows("compare", "1.csv", "2.csv", "--n-items", 9, "--metric", "ap")
        assert (found["paired"], found["n_users"], found["difference"]) == (True, 2, 0.0)


# Options with values that they cannot have; the message names the option.
EVALUATE, CORRECT = "evaluate r.csv --n-items 100", "correct s.csv --n-negatives 10 --n-items 100"
ASSUMED = "plan --n-items 100 --n-users 50 --level 0.2 --effect 0.1"
DRAW = "sample r.csv --n-items 100 --n-negatives 9"
WRONG_VALUES = [
    ("evaluate r.csv", "--n-items", ["1", "-5", "9223372036854775808", "many"]),
    (EVALUATE, "--metric", ["recall@0", "''", "ndcg@1.5"]),
    (EVALUATE, "--ties", ["paper", "''"]),
    (EVALUATE, "--format", ["xml"]),
    (EVALUATE, "--seed", ["-1"]),
    (CORRECT, "--n-negatives", ["0", "-1", "10.5"]),
    (CORRECT, "--estimator", ["bv:2", "bv", "cls:1", "''"]),
    (CORRECT, "--confidence", ["0", "1", "nan", "95", "high"]),
    (CORRECT, "--sampling", ["urn"]),
    (CORRECT, "--shape", ["decreasing", "''"]),
    ("compare r.csv r2.csv --n-items 100", "--test", ["z", "''"]),
    ("compare r.csv r2.csv --n-items 100", "--correction", ["sidak"]),
    (ASSUMED, "--n-users", ["0"]),
    (ASSUMED, "--largest", ["0"]),
    (ASSUMED, "--probability", ["0.4", "1", "nan"]),
    (ASSUMED, "--metric", ["hits"]),
    (DRAW, "--repetitions", ["0"]),
    (DRAW, "--ties", ["expected"]),
]

# What is wrong otherwise, and words of the message.
WRONG_USE = [
    ("evaluate", "Missing argument"),
    ("evaluate gone.csv", "gone.csv: no such file"),
    ("evaluate .", ".: a folder"),
    ("evaluate r.csv", ["r.csv", "--n-items", "add a column n_candidates"]),
    ("evaluate r.csv --n-items 10", "r.csv, row 3 (line 4), column rank: found 11"),
    (f"{EVALUATE} --relevant relevant.csv", ["r.csv", "--relevant"]),
    (f"{EVALUATE} --seen relevant.csv", ["r.csv", "--seen needs lists or scores"]),
    ("evaluate list.csv", ["list.csv", "--relevant"]),
    ("evaluate list.csv --relevant relevant.csv --metric auc", ["list.csv: ", "needs"]),
    ("evaluate list.csv --relevant gone.csv", "gone.csv: no such file; expected relevant items"),
    ("evaluate s.csv --n-items 100", ["s.csv", "sampled ranks", "`sampled-metrics correct`"]),
    ("evaluate r.csv gone.csv --n-items 100", "gone.csv: no such file"),
    ("correct s.csv --n-items 100", "give n_negatives (--n-negatives)"),
    ("correct s.csv --n-negatives 10", "s.csv: no column n_candidates"),
    ("correct s.csv --n-negatives 3541 --n-items 3541", "n_items"),
    (
        "correct s.csv --n-negatives 9 --n-items 100",
        "s.csv, row 3 (line 4), column sampled_rank: found 11",
    ),
    (
        "correct n.csv --n-negatives 55",
        "n.csv, row 1 (line 2), column n_candidates: found 50; expected 56 to 1000000000",
    ),
    (
        "correct r.csv --n-negatives 10 --n-items 100",
        ["r.csv", "exact ranks (column rank)", "`sampled-metrics evaluate`"],
    ),
    ("correct s.csv s2.csv --n-negatives 10 --n-items 100", "s2.csv"),
    (f"{CORRECT} --show-bias gone.csv", "gone.csv: no such file"),
    (f"{CORRECT} --show-bias s.csv", ["s.csv", "sampled ranks"]),
    (
        "correct s.csv --n-negatives 55 --n-items 100 --show-bias records.csv",
        "records.csv: a ranking has 50 candidates; 55 negatives need more",
    ),
    (
        "correct s.csv --n-negatives 90 --n-items 2000 --estimator bv:0",
        ["gamma 0 with 90 negatives", "a larger gamma"],
    ),
    (f"{CORRECT} --output .", ".: a folder"),
    (f"{CORRECT} --output s.csv/o.csv", "s.csv/o.csv: cannot be written ("),
    (f"{DRAW} --output r.csv/o.parquet", "r.csv/o.parquet: cannot be written"),
    ("compare r.csv --n-items 100", "r.csv: the only file; compare needs two or more"),
    ("compare r.csv r.csv --n-items 100", "r.csv: the same file twice"),
    ("compare r.csv s.csv --n-items 100", ["r is ranked in full, s among samples"]),
    (
        "compare r.csv s.csv --n-items 100 --n-negatives 10",
        ["r.csv", "exact ranks", "without --n-negatives"],
    ),
    (
        "compare s.csv n.csv --n-negatives 55 --n-items 100",
        "n.csv, row 1 (line 2), column n_candidates",
    ),
    (
        "compare r.csv r2.csv --n-items 100 --estimator bv:0.1",
        "--estimator) are for sampled rankings; give n_negatives",
    ),
    (
        "compare s.csv s2.csv --n-items 100 --n-negatives 10 --test t",
        "--test) is for full rankings, these are sampled",
    ),
    ("plan", "--n-items is missing; give --ranks A B, or --n-items, --n-users, --level"),
    ("plan --n-items 100 --n-users 9 --level 0.2", "--effect is missing"),
    ("plan --n-items 100 --n-users 9 --effect 0.2", "--level is missing"),
    (f"{ASSUMED} --effect 0", "--effect is 0; it must be above 0"),
    (f"{ASSUMED} --effect nan", "--effect is nan"),
    (f"{ASSUMED} --effect 0.9", "--level plus --effect: recall@10 is 1.1; it must be from 0.1"),
    (f"{ASSUMED} --level 0.05", "--level: recall@10 is 0.05; it must be from 0.1"),
    (f"{ASSUMED} --level nan", "--level: recall@10 is nan"),
    ("plan --ranks r.csv", "--ranks"),
    ("plan --ranks r.csv r.csv --n-items 100", "r.csv: the same file twice"),
    ("plan --ranks r.csv s.csv --n-items 100", ["s.csv", "sampled ranks"]),
    (
        "plan --ranks r.csv r2.csv --n-items 100 --level 0.1",
        "--level and --effect cannot be combined with --ranks",
    ),
    (
        "sample r.csv --n-items 100 --n-negatives 100",
        "r.csv: a ranking has 100 candidates; 100 negatives need more",
    ),
    (
        "sample list.csv --relevant relevant.csv --n-negatives 1",
        "list.csv: the list of user anna ends at rank 2",
    ),
]

# The same of a file x.csv with this content.
WRONG_CONTENT = [
    ("evaluate x.csv --n-items 9", "", "x.csv: empty"),
    (
        "evaluate x.csv --n-items 9",
        "rank,x\n1,a\n,b\n",
        "row 2 (line 3), column rank: found nothing",
    ),
    ("evaluate x.csv --n-items 9", b"rank\n\xff\xfe\n", ["column rank", "UTF-8"]),
    ("evaluate x.csv", "n_candidates,n_better,n_tied\n9,-1,0\n", ["column n_better", "found -1"]),
    (
        "correct x.csv --n-negatives 9",
        "sampled_rank,n_candidates\n1,1208925819614629174706176\n",
        "row 1 (line 2), column n_candidates",
    ),
    (
        "correct x.csv --n-negatives 9 --n-items 99",
        "user_id,sampled_rank\n,1\n",
        "row 1 (line 2), column user_id: found nothing",
    ),
    (
        "correct x.csv --n-negatives 100 --n-items 1000",
        "sampled_rank\n" + "1\n3\n" * 300,
        ["x.csv: no distribution of true ranks explains", "p = ", "negatives are not uniform"],
    ),
    (
        "correct x.csv --n-negatives 100 --n-items 1000 --metric recall@10",
        "sampled_rank\n" + "101\n" * 300,
        ["x.csv: ", "try --shape none"],
    ),
    (
        "compare x.csv s.csv --n-negatives 100 --n-items 1000 --metric auc",
        "sampled_rank\n" + "101\n" * 300,
        ["x.csv: ", "try --shape none"],
    ),
    ("compare r.csv x.csv", "user_id,rank,n_candidates\nanna,2,9\n", ["r.csv", "n_candidates"]),
    (
        "compare r2.csv x.csv --n-items 100",
        "user_id,rank\nanna,2\nanna,2\n",
        "x.csv, row 2 (line 3)",
    ),
]


def check(refused, folder, command, words):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    message = refused(*shlex.split(command))
    for each in [words] if isinstance(words, str) else words:
        assert each in message
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(("command", "option", "values"), WRONG_VALUES)
def test_a_wrong_value_names_the_option(refused, folder, command, option, values):
    for value in values:
        check(refused, folder, f"{command} {option} {value}", f"'{option}'")


@pytest.mark.parametrize(("command", "words"), WRONG_USE)
def test_wrong_use_is_one_line_and_status_2(refused, folder, command, words):
    check(refused, folder, command, words)


@pytest.mark.parametrize(("command", "content", "words"), WRONG_CONTENT)
def test_wrong_content_is_one_line_and_status_2(refused, folder, command, content, words):
    (folder / "x.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
    check(refused, folder, command, words)


def test_too_little_memory_is_one_line(refused, folder, monkeypatch):
    def greedy(*_, **__):
        raise MemoryError("Unable to allocate 7.28 TiB")

    monkeypatch.setattr("sampled_metrics.inference.correct.correct", greedy)
    check(refused, folder, shlex.join(map(str, SAMPLE)), "not enough memory: Unable to allocate")


def test_a_file_is_named_however_it_is_called(refused, folder):
    """A name that occurs in the message is no reason to leave it out."""
    (folder / "a").write_text("user_id,item_id,rank\nanna,7,1\n")
    message = refused("evaluate", "a", "--relevant", "relevant.csv", "--metric", "auc")
    assert message.startswith("a: auc needs n_candidates")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_may_not_be_written(refused, folder):
    (folder / "shut").mkdir(mode=0o500)
    message = refused(*SAMPLE, "--output", "shut/o.csv")
    assert message == "shut/o.csv: cannot be written (Permission denied)"


class TestProgram:
    """What only a process of its own shows."""

    def done(self, folder, *arguments):
        command = [sys.executable, "-m", "sampled_metrics", *map(str, arguments)]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)

    def test_right(self, folder):
        done = self.done(folder, *SAMPLE, "--format", "json")
        assert (done.returncode, done.stderr) == (0, "")
        assert len(json.loads(done.stdout)) == 16

    def test_wrong(self, folder):
        done = self.done(folder, *SAMPLE, "--n-items", 10)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)

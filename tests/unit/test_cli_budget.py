"""The commands of an evaluation on a budget: the loop, its state, and every misuse."""

import csv
import io
import json
import os
import pickle
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, save_npz

import sampled_metrics as sm
from sampled_metrics.inference.budget import folder as folders
from tests.conftest import ROOT

USERS, ITEMS, BUDGET = 30, 26, 14
KEYS = (
    "recommender, metric, value, std_error, ci_low, ci_high, model, n_users, n_held_out, "
    "n_candidates, n_asked, n_audited, proxy, depth, weak_proxy"
)
PAIR_KEYS = (
    "a, b, metric, value_a, value_b, difference, std_error, ci_low, ci_high, order, p_value, "
    "verdict, n_users"
)


class World:
    """What users have seen, what is held out, and the scores of A and B; ids as in the tables."""

    def __init__(self, several: bool = False) -> None:
        rng = np.random.default_rng(3)
        seen = rng.random((USERS, ITEMS)) < 0.2 * np.linspace(2, 0.3, ITEMS)
        self.held = rng.integers(0, ITEMS, (USERS, 1 + several))
        seen[np.arange(USERS)[:, np.newaxis], self.held] = False
        self.seen = csr_array(seen.astype(float))
        self.lists = [np.unique(row) for row in self.held]
        appeal = np.linspace(1, 0, ITEMS)
        self.scores = {
            name: np.round(8 * (appeal + noise * rng.random((USERS, ITEMS))))
            for name, noise in (("A", 0.5), ("B", 3.0))
        }

    def write(self, folder: Path, user="u{}", item="item, {}") -> None:
        users, items = self.seen.nonzero()
        held = [(user, item) for user, one in enumerate(self.lists) for item in one]
        for name, pairs in (("seen", [*zip(users, items, strict=True)]), ("held", held)):
            rows = [(user.format(u), item.format(i)) for u, i in pairs]
            table = pd.DataFrame(rows, columns=["user_id", "item_id"])
            table.to_csv(folder / f"{name}.csv", index=False)
        ids = pd.DataFrame({"item_id": [item.format(i) for i in range(ITEMS)]})
        ids.to_csv(folder / "items.csv", index=False)
        save_npz(folder / "seen.npz", self.seen)

    def answer(self, pairs="pairs.csv", scores="scores.csv", seed=0) -> pd.DataFrame:
        """Score the pairs of a file as a recommender's program does, in another order of rows."""
        table = pd.read_csv(pairs)
        user, item = (
            table[name].astype(str).str.extract(r"(\d+)$")[0].astype(int)
            for name in ("user_id", "item_id")
        )
        names = table["recommender"] if "recommender" in table else ["A"] * len(table)
        table["score"] = [self.scores[n][u, i] for n, u, i in zip(names, user, item, strict=True)]
        table.sample(frac=1.0, random_state=seed).to_csv(scores, index=False)
        return table


TABLES = ["--seen", "seen.csv", "--relevant", "held.csv", "--items", "items.csv"]
MATRIX = ["--seen", "seen.npz", "--held-out", "numbers.csv"]
TWO = ["--name", "A", "--name", "B"]


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = World()
    made.write(tmp_path)
    return made


@pytest.fixture
def ok(run):
    def command(*arguments):
        done = run("budget", *arguments)
        assert done.returncode == 0, done.stderr
        return done

    return command


@pytest.fixture
def finish(run, ok, world):
    """Play the rounds to the end; return what `tell` printed."""

    def play(folder="state", answer=world.answer):
        printed = []
        while (done := run("budget", "ask", folder, "--output", "pairs.csv")).returncode == 0:
            answer()
            printed.append(ok("tell", folder, "scores.csv").stdout)
        assert done.returncode == 3
        assert (done.stdout, done.stderr.count("\n")) == ("", 1)
        return printed

    return play


def found(ok, *arguments):
    """Rows of the result in JSON, which are those in CSV."""
    rows = json.loads(ok("result", "state", "--format", "json", *arguments).stdout)
    table = csv.DictReader(io.StringIO(ok("result", "state", "--format", "csv", *arguments).stdout))
    assert [*table] == [{k: "" if v is None else str(v) for k, v in row.items()} for row in rows]
    return rows


def in_python(world, names, **options):
    """The same evaluation by the function, items in the order of the problem in the folder."""
    problem = folders.Folder(Path("state")).problem
    users, items = (
        np.array([int(re.search(r"\d+$", str(one))[0]) for one in ids])
        for ids in (problem.user_ids, problem.item_ids)
    )
    scorers = {
        name: lambda u, i, name=name: world.scores[name][users[u], items[i]] for name in names
    }
    first = np.searchsorted(problem.owner, np.arange(1, users.size))
    held = np.split(problem.item, first)
    return sm.evaluate_on_budget(
        scorers, problem.seen, held, budget=BUDGET, metrics=["recall@5", "ap"], **options
    )


OPTIONS = ["--budget", BUDGET, "--metric", "recall@5,MAP"]


def test_the_loop_ends_with_the_result_of_python(ok, finish, world):
    ok("start", "state", *TABLES, *TWO, *OPTIONS, "--seed", 4)
    printed = finish()
    assert len(printed) > 5
    assert "complete" in printed[-1]
    assert "So far, by the model alone" in printed[3]
    expected = in_python(world, "AB", seed=4)
    rows, pairs = found(ok), found(ok, "--pairs")
    assert rows == expected.rows()
    assert list(rows[0]) == KEYS.split(", ")
    assert [list(row) for row in pairs] == [PAIR_KEYS.split(", ")] * 2
    assert [row["difference"] for row in pairs] == [x.difference for x in expected.compare()]
    told = re.match(r"round \d+: (\d+) of at most (\d+)", printed[-1])
    assert int(told[1]) == sum(expected.n_asked) <= int(told[2]) == 2 * BUDGET * USERS
    table = ok("result", "state", "--output", "result.txt")
    assert table.stdout == ""
    assert Path("result.txt").read_text() == str(expected).split("full rankings: ")[0]


def test_a_matrix_has_numbers_for_ids(ok, finish, world):
    held = [(user, item) for user, one in enumerate(world.lists) for item in one]
    pd.DataFrame(held, columns=["user_id", "item_id"]).to_csv("numbers.csv", index=False)
    np.save("proxy.npy", world.scores["B"])
    proxies = ["--proxy", "proxy.npy", "--method", "scan"]
    ok("start", "state", *MATRIX, *OPTIONS, *proxies)
    finish()
    expected = sm.evaluate_on_budget(
        lambda users, items: world.scores["A"][users, items],
        world.seen,
        world.lists,
        budget=BUDGET,
        metrics=["recall@5", "ap"],
        proxy=world.scores["B"],
        method="scan",
    )
    rows = found(ok)
    assert [row.pop("proxy") for row in rows] == ["proxy.npy"] * 2
    assert rows == [{k: v for k, v in row.items() if k != "proxy"} for row in expected.rows()]


def test_several_held_out_items_and_a_budget_for_everything(run, ok, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    world = World(several=True)
    world.write(tmp_path, "{}", "{}")
    ok("start", "state", *TABLES, "--budget", 99, "--metric", "recall@5")
    while run("budget", "ask", "state", "--output", "pairs.csv").returncode == 0:
        world.answer()
        ok("tell", "state", "scores.csv")
    (row,) = found(ok)
    recalls = []
    for user, held in enumerate(world.lists):
        scores = np.where(world.seen[[user]].toarray()[0] > 0, -np.inf, world.scores["A"][user])
        for item in held:
            rivals = [i for i in range(ITEMS) if i != item and scores[i] > -np.inf]
            better = sum(scores[i] > scores[item] for i in rivals)
            tied = sum(scores[i] == scores[item] for i in rivals)
            inside = np.mean([better + place < 5 for place in range(tied + 1)])
            recalls.append(inside / len(held))
    assert row["n_held_out"] == sum(map(len, world.lists)) > USERS
    assert row["ci_low"] == row["ci_high"]
    assert row["value"] == pytest.approx(sum(recalls) / USERS, abs=0.02)  # ties among held-out


def test_pilot_of_proxies_by_id_and_users_without_held_out_items(ok, finish, world):
    rng = np.random.default_rng(0)
    extra = pd.DataFrame({"user_id": ["x1", "x1", "x2"], "item_id": ["item, 1", "item, 2", "new"]})
    pd.concat([pd.read_csv("seen.csv"), extra, extra]).to_csv("seen.csv", index=False)
    items = ["new", *(f"item, {i}" for i in rng.permutation(ITEMS))]
    users = [f"u{u}" for u in rng.permutation(USERS)]
    np.savez("p.npz", scores=rng.random((USERS, ITEMS + 1)), user_ids=users, item_ids=items)
    proxies = ["--proxy", "popularity", "--proxy", "als", "--proxy", "p.npz"]
    ok("start", "state", *TABLES, "--budget", 42, *proxies)
    world.scores["A"] = np.hstack([world.scores["A"], np.zeros((USERS, 1))])

    def answer():
        table = pd.read_csv("pairs.csv").replace({"item_id": {"new": f"item, {ITEMS}"}})
        assert "x1" not in set(table["user_id"])
        table.to_csv("renamed.csv", index=False)
        world.answer("renamed.csv")
        table = pd.read_csv("scores.csv").replace({"item_id": {f"item, {ITEMS}": "new"}})
        table.to_csv("scores.csv", index=False)

    finish(answer=answer)
    assert {row["n_users"] for row in found(ok)} == {USERS}
    problem = folders.Folder(Path("state")).problem
    assert problem.events.shape == (USERS + 2, ITEMS + 1)
    assert problem.events.max() == 1.0


def test_an_evaluation_may_stop_early(ok, finish):
    options = ["--budget", 20, "--metric", "recall@5", "--until-decided", "--half-width", 0.6]
    ok("start", "state", *TABLES, *TWO, *options)
    finish()
    settings = folders.Folder(Path("state")).options.settings()
    assert (settings.until_decided, settings.half_width) == (True, 0.6)
    (pair,) = found(ok, "--pairs")
    assert pair["order"] in ("a", "b", "undecided")


class TestState:
    """The folder: repeatable, resumable, whole after an interruption."""

    @pytest.fixture(autouse=True)
    def started(self, ok, world):
        del world
        ok("start", "state", *TABLES, *OPTIONS)

    def content(self):
        return {path.name: path.read_bytes() for path in Path("state").iterdir()}

    def test_asking_again_gives_the_same_pairs(self, ok):
        first = ok("ask", "state").stdout
        assert first.splitlines()[0] == "user_id,item_id"
        assert first.count("\n") == 1 + USERS
        before = self.content()
        assert ok("ask", "state").stdout == first
        ok("ask", "state", "--output", "pairs.parquet")
        assert pd.read_parquet("pairs.parquet").to_csv(index=False) == first
        assert self.content() == before

    def test_the_folder_may_move_and_its_sources_go(self, ok, finish):
        shutil.move("state", "elsewhere")
        Path("seen.csv").unlink()
        finish("elsewhere")
        assert "Exact metrics of these 30 users" in ok("result", "elsewhere").stdout

    def test_an_interrupted_tell_leaves_the_state_before(self, ok, run, world, monkeypatch):
        for _ in range(2):
            ok("ask", "state", "--output", "pairs.csv")
            world.answer()
            ok("tell", "state", "scores.csv")
        ok("ask", "state", "--output", "pairs.csv")
        world.answer()
        before = self.content()

        def killed(file, **_):
            file.write(b"half a state")
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(np, "savez", killed)
            with pytest.raises(KeyboardInterrupt):
                folders.Folder(Path("state")).tell([Path("scores.csv")])
        assert self.content() == before
        assert run("budget", "tell", "state", "scores.csv").returncode == 0

    def test_scores_may_come_in_several_files_and_formats(self, ok, world):
        ok("ask", "state", "--output", "pairs.csv")
        table = world.answer()
        table[:11].to_parquet("a.parquet")
        table[11:].to_csv("b.csv", index=False)
        assert ok("tell", "state", "b.csv", "a.parquet").stdout.startswith("round 1: 0 of at most")

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (
                lambda t: t[:-1],
                "no score of user_id {user}, item_id item, {last}, row 30 of the pairs",
            ),
            (lambda t: pd.concat([t, t[3:4]]), "row 31 (line 32): duplicate of row 4"),
            (lambda t: t.assign(score=t.score.where(t.index != 4)), "row 5 (line 6), column score"),
            (
                lambda t: t.assign(score=t.score.where(t.index != 4, np.inf)),
                "found inf; expected fi",
            ),
            (lambda t: t.assign(item_id="item, 3"), "was not asked in this round"),
            (lambda t: t.assign(user_id="nobody"), "row 1 (line 2): user_id nobody, item_id"),
            (lambda t: t.drop(columns="score"), "lacks column score"),
            (lambda t: t[:0], "no rows; expected scores"),
        ],
    )
    def test_wrong_scores_are_refused(self, refused, ok, world, change, message):
        ok("ask", "state", "--output", "pairs.csv")
        table = world.answer()
        change(table).to_csv("wrong.csv", index=False)
        before = self.content()
        line = refused("budget", "tell", "state", "wrong.csv")
        assert line.startswith("wrong.csv")
        last = table.item_id.iloc[-1].removeprefix("item, ")
        assert message.format(last=last, user=table.user_id.iloc[-1]) in line
        assert self.content() == before

    def test_telling_twice_is_refused(self, refused, ok, world):
        ok("ask", "state", "--output", "pairs.csv")
        world.answer()
        assert "duplicate of row 1 of scores.csv" in refused(
            *("budget", "tell", "state", "scores.csv", "scores.csv")
        )
        ok("tell", "state", "scores.csv")
        assert "was not asked in this round" in refused("budget", "tell", "state", "scores.csv")

    def test_misuse(self, refused, finish):
        assert "not complete: 30 pairs wait" in refused("budget", "result", "state")
        start = ["budget", "start", "state", *TABLES]
        assert refused(*start) == "state: exists already; name a folder that is new or empty"
        assert "no evaluation on a budget" in refused("budget", "ask", ".")
        assert "keeps its state" in refused("budget", "ask", "state", "--output", "state/state.npz")
        assert refused("budget") == "Missing command."
        finish()
        assert "no scores are wanted" in refused("budget", "tell", "state", "scores.csv")
        assert "has one recommender" in refused(
            *("budget", "result", "state", "--pairs", "--format", "csv")
        )

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("problem.npz", "missing or changed since the start"),
            ("evaluation.json", "not JSON"),
            ("state.npz", "not the state of an evaluation"),
        ],
    )
    def test_damaged_files_are_refused(self, refused, name, message):
        (Path("state") / name).write_bytes(b"PK broken")
        assert message in refused("budget", "ask", "state")

    def test_the_state_of_another_evaluation_is_refused(self, ok, refused, world):
        ok("start", "other", *TABLES, *OPTIONS, "--seed", 9)
        for _ in range(2):
            ok("ask", "other", "--output", "pairs.csv")
            world.answer()
            ok("tell", "other", "scores.csv")
        ok("ask", "other", "--output", "pairs.csv")
        world.answer()
        shutil.copy("other/state.npz", "state/state.npz")
        line = refused("budget", "tell", "state", "scores.csv")
        assert line.startswith("state/state.npz: batch 1 of the saved scores belongs to another")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metric", "auc"], "unknown metric 'auc'; known: recall@k, ndcg@k, ap"),
        (["--metric", "recal@5"], "recal@5"),
        (["--budget", 0], "0 is not above 0"),
        (["--budget", 2], "budget is 2; the first round needs"),
        (
            [*("--budget", 12), *("--proxy", "als"), *("--proxy", "popularity")],
            "budget is 12; pilot and first round need up to",
        ),
        (["--proxy", "guess"], "unknown proxy 'guess'; known: popularity, als, FILE.npy"),
        (["--proxy", "gone.npz"], "gone.npz: no such file"),
        (["--proxy", "matrix.npy"], "a matrix has no ids, but the seen items have"),
        (["--method", "guess"], "'guess' is not one of adaptive, scan"),
        (["--name", "A", "--name", "A"], "different names"),
        (["--held-out", "seen.csv"], "is both seen and held out"),
        (["--seen", "gone.csv"], "gone.csv: no such file; expected seen items"),
        (["--seen", "seen.npz"], "items.csv: a matrix of seen items has a column for every item"),
        (["--items", "seen.npz"], "expected items (item_id)"),
    ],
)
def test_wrong_starts_leave_nothing(refused, world, arguments, message):
    del world
    np.save("matrix.npy", np.zeros((USERS, ITEMS)))
    before = sorted(Path().iterdir())
    assert message in refused("budget", "start", "state", *TABLES, *arguments)
    assert sorted(Path().iterdir()) == before


class Hostile:
    def __reduce__(self):
        return Path.touch, (Path("executed"),)


def test_no_code_in_a_proxy_is_executed(refused, world):
    Path("numbers.csv").write_text(f"user_id,item_id\n0,{world.lists[0][0]}\n")
    Path("matrix.npy").write_bytes(pickle.dumps(Hostile()))
    message = refused("budget", "start", "state", *MATRIX, "--proxy", "matrix.npy")
    assert message.startswith("matrix.npy: not ")
    assert not Path("executed").exists()


@pytest.mark.parametrize("matrix", [np.zeros((USERS, ITEMS + 1)), np.full((USERS, ITEMS), "x")])
def test_a_matrix_of_another_shape_or_kind_is_no_proxy(refused, world, matrix):
    Path("numbers.csv").write_text(f"user_id,item_id\n0,{world.lists[0][0]}\n")
    np.save("matrix.npy", matrix)
    message = refused("budget", "start", "state", *MATRIX, "--proxy", "matrix.npy")
    assert message.startswith(f"matrix.npy: scores are {matrix.dtype} of shape {matrix.shape}; ")


def test_help_lists_the_keys(run):
    shown = " ".join(re.sub(r"[│\n]", " ", run("budget", "result", "--help").stdout).split())
    assert KEYS.replace("value,", "value (to rank by),") in shown
    pairs = PAIR_KEYS.replace("difference", "difference (b - a)")
    assert pairs.replace("order,", "order (a, b or undecided),") in shown
    asked = " ".join(re.sub(r"[│\n]", " ", run("budget", "ask", "--help").stdout).split())
    assert "Exit status 3" in asked


def test_a_shell_and_awk(tmp_path):
    script = ROOT / "tests/examples/budget.sh"
    command = ["sh", str(script), str(tmp_path), "99"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "100"}
    )
    exact = exact_recalls(tmp_path)
    for name, value in exact.items():
        assert re.search(rf"{name} +recall@10 +{value:.5f}", done.stdout)
    assert "all candidates were scored" in done.stdout


def exact_recalls(folder):
    """Recall@10 of the two recommenders of the script, by ranking everything."""
    seen, held = (pd.read_csv(folder / f"{name}.csv") for name in ("seen", "held_out"))
    known = set(zip(seen["user_id"], seen["item_id"], strict=True))
    items = sorted({*seen["item_id"], *held["item_id"]}, key=lambda item: int(item[1:]))
    values = {}
    for name, weight in (("careful", 20), ("hasty", 5)):
        recalls = []
        for user, own in zip(held["user_id"], held["item_id"], strict=True):
            scores = {}
            for item in items:
                u, i = int(user[1:]), int(item[1:])
                scores[item] = -weight * i + (u * 7919 + i * 104729 + u * i * 31) % 1009
            rivals = [scores[i] for i in items if i != own and (user, i) not in known]
            better, tied = (np.greater(rivals, scores[own]), np.equal(rivals, scores[own]))
            places = better.sum() + np.arange(tied.sum() + 1)
            recalls.append((places < 10).mean())
        values[name] = np.mean(recalls)
    return values

"""The commands of an evaluation on a budget: the loop, its state, and misuse."""

import contextlib
import csv
import io
import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm
from sampled_metrics.budget import folder as folders
from tests.conftest import ROOT

USERS, ITEMS, BUDGET = 30, 26, 14
TABLES = ["--seen", "seen.csv", "--relevant", "held.csv", "--items", "items.csv"]
OPTIONS = ["--budget", BUDGET, "--metric", "recall@5,MAP"]


class World:
    """What users have seen, what is held out, and the scores of A and B; ids are u7 and item, 7."""

    def __init__(self, folder: Path) -> None:
        rng = np.random.default_rng(3)
        seen = rng.random((USERS, ITEMS)) < 0.2 * np.linspace(2, 0.3, ITEMS)
        self.held = rng.integers(0, ITEMS, USERS)
        seen[np.arange(USERS), self.held] = False
        self.seen = csr_array(seen.astype(float))
        appeal = np.linspace(1, 0, ITEMS)
        self.scores = {
            name: np.round(8 * (appeal + noise * rng.random((USERS, ITEMS))))
            for name, noise in (("A", 0.5), ("B", 3.0))
        }
        tables = {"seen": self.seen.nonzero(), "held": (np.arange(USERS), self.held)}
        for name, (user, item) in tables.items():
            self.table(user, item).to_csv(folder / f"{name}.csv", index=False)
        self.table(np.zeros(ITEMS, int), np.arange(ITEMS)).to_csv(folder / "items.csv", index=False)

    def table(self, user, item, **columns) -> pd.DataFrame:
        ids = {"user_id": [f"u{u}" for u in user], "item_id": [f"item, {i}" for i in item]}
        return pd.DataFrame(ids | columns)

    def answer(self, seed=0) -> pd.DataFrame:
        """Score pairs.csv as a recommender's program does, in another order of rows."""
        table = pd.read_csv("pairs.csv")
        columns = (table[name].str.extract(r"(\d+)$")[0].astype(int) for name in table.columns[:2])
        names = table["recommender"] if "recommender" in table else ["A"] * len(table)
        triples = zip(names, *columns, strict=True)
        table["score"] = [self.scores[name][u, i] for name, u, i in triples]
        table.sample(frac=1.0, random_state=seed).to_csv("scores.csv", index=False)
        return table


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return World(tmp_path)


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

    def play(folder="state"):
        printed = []
        while (done := run("budget", "ask", folder, "--output", "pairs.csv")).returncode == 0:
            world.answer()
            printed.append(ok("tell", folder, "scores.csv").stdout)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1)
        return printed

    return play


def as_csv(value):
    return "; ".join(value) if isinstance(value, list) else "" if value is None else str(value)


def found(ok, *arguments):
    """Rows of the result in JSON, which are those in CSV."""
    rows = json.loads(ok("result", "state", "--format", "json", *arguments).stdout)
    table = csv.DictReader(io.StringIO(ok("result", "state", "--format", "csv", *arguments).stdout))
    assert [*table] == [{k: as_csv(v) for k, v in row.items()} for row in rows]
    return [{key: row[key] for key in row if key != "notes"} for row in rows]


def in_python(world, names, **options):
    """The same evaluation by the function, users and items in the order of the folder."""
    problem = folders.Folder(Path("state")).problem
    users, items = (
        np.array([int(re.search(r"\d+$", name)[0]) for name in ids])
        for ids in (problem.user_ids, problem.item_ids)
    )
    scorers = {n: lambda u, i, n=n: world.scores[n][users[u], items[i]] for n in names}
    settings = {"budget": BUDGET, "metrics": ["recall@5", "ap"]} | options
    return sm.evaluate_on_budget(scorers, relevant=problem.item, seen=problem.seen, **settings)


def test_the_loop_ends_with_the_result_of_python(ok, finish, world):
    ok(
        "start",
        "state",
        *TABLES,
        "--name",
        "A",
        "--name",
        "B",
        *OPTIONS,
        "--seed",
        4,
        "--until-decided",
    )
    printed = finish()
    assert len(printed) > 5
    expected = in_python(world, "AB", seed=4, until_decided=True)
    rows, pairs = found(ok), found(ok, "--pairs")
    assert rows == expected.rows()
    words = re.findall(r"\w+", ok("result", "--help").stdout)
    assert {*rows[0], *pairs[0]} <= {*words}
    assert len(pairs) == 2
    assert [row["difference"] for row in pairs] == [x.difference for x in expected.compare()]
    told = re.match(
        r"round \d+: (\d+) of at most (\d+) scores, (\S+) per .*; complete", printed[-1]
    )
    assert int(told[1]) == sum(expected.n_asked) <= int(told[2]) == 2 * BUDGET * USERS
    assert float(told[3]) == pytest.approx(np.mean(expected.n_asked) / USERS, rel=1e-3)
    assert ok("result", "state", "--output", "result.txt").stdout == ""
    assert Path("result.txt").read_text() == str(expected).partition("full ranking: ")[0]


EXPECTED = r"expected so far(?: of (\w+))?, not audited: (\S+) ([\d.]+), (\S+) ([\d.]+)"


def test_what_the_model_expects_is_printed_after_each_round(ok, finish, world):
    """With all candidates scored it is the exact metric, here by sorting; before, on the way."""
    started = ok(
        "start", "state", *TABLES, "--name", "A", "--name", "B", "--metric", "recall@5,MAP"
    )
    assert re.search(
        r"state: \d+ users, [\d,]+ items, \d+ of them held out; at most", started.stderr
    )
    first, *others = finish()
    assert not re.findall(EXPECTED, first)  # only held-out items are scored
    assert others
    for printed in others:
        told = re.findall(EXPECTED, printed)
        assert [(x[0], x[1], x[3]) for x in told] == [(n, "recall@5", "ap") for n in "AB"]
    rows = np.arange(USERS)
    for name, _, recall, _, ap in told:
        scores = np.where(world.seen.toarray() > 0, -np.inf, world.scores[name])
        own = scores[rows, world.held]
        above = (scores > own[:, None]).sum(axis=1)
        tied = (scores == own[:, None]).sum(axis=1)
        places = [above[u] + 1 + np.arange(tied[u]) for u in rows]  # of the tied, in any order
        assert float(recall) == pytest.approx(np.mean([(x <= 5).mean() for x in places]), abs=1e-4)
        assert float(ap) == pytest.approx(np.mean([(1 / x).mean() for x in places]), abs=1e-4)


@pytest.mark.parametrize("proxy", ["als", "proxy.csv"])
def test_a_proxy_and_users_without_held_out_items(ok, finish, world, proxy):
    others = world.table([90, 90, 91], [1, 2, 2])
    pd.concat([pd.read_csv("seen.csv"), others, others]).to_csv("seen.csv", index=False)
    order = [19, 3, 4, 8, 25]  # of items, the same for all users; the others come last
    user, item = np.repeat(np.arange(USERS), 5), np.tile(order, USERS)
    table = world.table(user, item, score=-np.arange(5.0)[np.arange(user.size) % 5])
    pd.concat([table, world.table([95], [0], score=9)]).to_csv("proxy.csv", index=False)
    ok("start", "state", *TABLES, *OPTIONS, "--proxy", proxy)
    finish()
    rows = found(ok)
    assert {(row["n_users"], row["proxy"]) for row in rows} == {(USERS, proxy)}
    problem = folders.Folder(Path("state")).problem
    assert (problem.events.shape, problem.events.max()) == ((USERS + 2, ITEMS), 1.0)
    if proxy == "proxy.csv":
        places = {f"item, {i}": place for place, i in enumerate(order)}
        scores = [-places.get(name, 99) for name in problem.item_ids]
        expected = in_python(world, "A", proxy=np.tile(scores, (USERS, 1))).rows()
        assert [row | {"proxy": "matrix"} for row in rows] == [
            row | {"recommender": "score"} for row in expected
        ]


class TestState:
    """The folder: repeatable, resumable, whole after an interruption."""

    @pytest.fixture(autouse=True)
    def table(self, ok, world):
        """Start an evaluation and answer its first round in scores.csv."""
        ok("start", "state", *TABLES, *OPTIONS)
        ok("ask", "state", "--output", "pairs.csv")
        return world.answer()

    def content(self):
        return {path.name: path.read_bytes() for path in Path("state").iterdir()}

    def test_asking_again_gives_the_same_pairs(self, ok):
        before, first = self.content(), ok("ask", "state").stdout
        assert first.splitlines()[0] == "user_id,item_id"
        assert first.count("\n") == 1 + USERS
        ok("ask", "state", "--output", "pairs.parquet")
        assert pd.read_parquet("pairs.parquet").to_csv(index=False) == first
        assert self.content() == before

    def test_an_interrupted_tell_leaves_the_state_before(self, ok, monkeypatch):
        def killed(file, **_):
            file.write(b"half a state")
            raise KeyboardInterrupt

        before = self.content()
        with monkeypatch.context() as patched:
            patched.setattr(np, "savez", killed)
            with pytest.raises(KeyboardInterrupt):
                folders.Folder(Path("state")).tell([Path("scores.csv")])
        assert self.content() == before
        table = pd.read_csv("scores.csv")  # in several files of other formats
        table[:11].to_parquet("a.parquet")
        table[11:].to_csv("b.csv", index=False)
        assert ok("tell", "state", "b.csv", "a.parquet").stdout.startswith("round 1: 0 of at most")

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda t: t[:-1], "no score of user_id {user}, item_id item, {item}; 1 of 30"),
            (lambda t: pd.concat([t, t[3:4]]), "row 31: duplicate"),
            (lambda t: t.assign(score=t.score.where(t.index != 4)), "row 5, column score"),
            (lambda t: t.assign(item_id="item, 3"), "was not asked"),
            (lambda t: t.assign(user_id="nobody"), "row 1: user_id nobody, item_id"),
        ],
    )
    def test_wrong_scores_are_refused(self, refused, table, change, message):
        change(table).to_csv("wrong.csv", index=False)
        before, last = self.content(), table.iloc[-1]
        line = refused("budget", "tell", "state", "wrong.csv")
        assert line.startswith("wrong.csv")
        item = last.item_id.removeprefix("item, ")
        assert message.format(item=item, user=last.user_id) in line
        assert self.content() == before

    def test_misuse(self, ok, refused, finish):
        result, tell = ("budget", "result", "state"), ("budget", "tell", "state", "scores.csv")
        assert "30 pairs wait" in refused(*result)
        assert "exists already" in refused("budget", "start", "state", *TABLES, "--budget", 1)
        assert "another evaluation" in refused("budget", "start", "state", *TABLES)
        assert "no evaluation" in refused("budget", "ask", ".")
        assert "duplicate" in refused(*tell, "scores.csv")
        ok("tell", "state", "scores.csv")
        assert "was not asked" in refused(*tell)
        finish()
        assert "complete" in refused(*tell)
        assert "one recommender" in refused(*result, "--pairs", "--format", "csv")

    @pytest.mark.parametrize("name", ["problem.npz", "evaluation.json", "state.npz"])
    def test_damaged_files_are_refused(self, refused, name):
        path = Path("state") / name
        arrays = {} if name == "evaluation.json" else dict(np.load(path))
        path.write_bytes(b"PK broken")
        assert refused("budget", "ask", "state").startswith(f"state/{name}: not ")
        for key, wrong in [(key, w) for key in arrays for w in (np.nan, 10**6, -5, "x", None)]:
            damaged = {**arrays, key: np.full_like(arrays[key], wrong, type(wrong))}
            np.savez(path, **{k: v for k, v in damaged.items() if (k, wrong) != (key, None)})
            seldom = contextlib.suppress(sm.InputError)  # what the first round does not depend on
            surely = key in (
                "shape",
                "indptr",
                "indices",
                "owner",
                "item",
                "check",
                "users",
                "items",
            )
            with pytest.raises(sm.InputError) if surely else seldom:
                folders.Folder(Path("state")).session()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--metric", "auc"], "unknown metric 'auc'"),
        (["--budget", 0], "budget: "),
        (["--budget", 2], "budget is 2; the first round needs"),
        (["--proxy", "few.csv"], "few.csv: no score for user_id u1"),
        (["--proxy", "twice.csv"], "twice.csv, row 2: duplicate"),
        (["--name", "A", "--name", "A"], "names: duplicate"),
        (["--held-out", "seen.csv"], "is both seen and held out"),
    ],
)
def test_wrong_starts_leave_nothing(refused, world, arguments, message):
    world.table([0], [1], score=1).to_csv("few.csv", index=False)
    world.table([0, 0], [1, 1], score=1).to_csv("twice.csv", index=False)
    before = sorted(Path().iterdir())
    assert message in refused("budget", "start", "state", *TABLES, *arguments)
    assert sorted(Path().iterdir()) == before


@pytest.mark.long
def test_a_shell_and_awk(tmp_path):
    """The script of the guide runs to its end."""
    command = ["sh", str(ROOT / "tests/examples/budget.sh"), str(tmp_path), "99"]
    environment = os.environ | {"COLUMNS": "100"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert "all candidates were scored" in done.stdout


def test_candidates_from_a_table(ok, finish, world):
    """Asked are candidates that were not seen; the result is that of Python."""
    some = np.random.default_rng(5).random((USERS, ITEMS)) < 0.5
    world.table(*some.nonzero()).to_csv("some.csv", index=False)
    seen = pd.read_csv("seen.csv")
    ok("start", "state", *TABLES, *OPTIONS, "--candidates", "some.csv", "--name", "A")
    finish()

    def score(users, items):
        numbers = (np.array([int(re.search(r"\d+$", x)[0]) for x in ids]) for ids in (users, items))
        user, item = numbers
        allowed = some & (world.seen.toarray() == 0)
        assert (allowed[user, item] | (world.held[user] == item)).all()
        return world.scores["A"][user, item]

    expected = sm.evaluate_on_budget(
        {"A": score},
        ["recall@5", "ap"],
        relevant=pd.read_csv("held.csv"),
        seen=seen,
        candidates=pd.read_csv("some.csv"),
        items=pd.read_csv("items.csv"),
        budget=BUDGET,
    )
    assert found(ok) == expected.rows()

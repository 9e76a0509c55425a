"""What the commands print on fixed inputs, held to nine digits by commands.json.

`python -m tests.golden.test_commands` writes the file again; a difference then needs a reason.
"""

import contextlib
import hashlib
import json
import math
import re
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

FILE = Path(__file__).with_name("commands.json")
USERS, ITEMS, M = 240, 300, 20
NAMES = ("A", "B", "C")
ALL = "recall@5,ndcg@10,ap,rr,auc,precision@5,f1@3"
CASES = {
    "evaluate records": "evaluate A.csv B.csv "
    "--metric recall@10,ndcg@10,ap,auc,rr,f1@3,precision@5",
    **{f"evaluate ties {t}": f"evaluate A.csv --metric recall@5,ap,ndcg --ties {t} --seed 3"
       for t in ("random", "optimistic", "pessimistic")},
    "evaluate scores": "evaluate scores.csv --relevant held.csv --seen seen.csv "
    "--metric recall@5,ap",
    "evaluate several": "evaluate scores.csv --relevant several.csv --seen seen.csv "
    "--metric ndcg@10,ap,recall@5,f1@5",
    "correct": f"correct sA.csv --metric {ALL}",
    "correct estimators": "correct sA.csv --metric ndcg@10,recall@10 "
    "--estimator sampled,rank-estimate,cls,bv:0.1,bv:0.001,em:50",
    "correct none": "correct sA.csv --metric recall@10,ap --shape none --confidence 0.9",
    "correct distinct": "correct dA.csv --metric recall@10,ndcg@10",
    "correct replacement": "correct rA.csv --metric recall@10,ap",
    "correct large": "correct large.csv --n-items 50000 --n-negatives 100 --metric recall@10,ap",
    "correct large replacement": "correct large.csv --n-items 50000 --n-negatives 100 "
    "--sampling with-replacement --metric recall@10,ap",
    "correct positives": "correct positives.npy --positive 0 --n-items 300 --metric recall@10",
    "compare full": "compare A.csv B.csv C.csv --metric recall@10,ndcg",
    "compare two": "compare A.csv B.csv --metric ap --correction none --confidence 0.9",
    "compare sampled": "compare sA.csv sB.csv sC.csv --metric recall@10,ap --estimator cls,bv:0.1",
    "compare shared": "compare sA.csv sB.csv --metric auc,ndcg@10 --shape none",
    "reported": "reported HR@10=0.8245 NDCG@10=0.5905 --n-items 3416 --n-negatives 100 "
    "--n-users 6040 --metric HR@10,MRR",
    "check": "check table.csv --metric HR@5",
    "plan": "plan --ranks A.csv B.csv --metric recall@10,ap",
    "plan users": "plan --ranks A.csv B.csv --metric ap --n-users 5000",
    "check-negatives": "check-negatives negatives.csv --relevant held.csv --seen seen.csv "
    "--items items.csv",
    "negatives": "negatives --relevant held.csv --seen seen.csv --items items.csv --n-negatives 7 "
    "--seed 2",
    **{f"sample {s}": f"sample A.csv --n-negatives 20 --sampling {s} --seed 5 --repetitions 2"
       for s in ("without-replacement", "with-replacement", "distinct")},
    "sample records": "sample B.csv --n-negatives 20 --ties pessimistic",
}  # fmt: skip


def write_inputs(folder: Path) -> None:
    """Write all input files; RandomState has the same stream in every version of numpy."""
    rng = np.random.RandomState(7)
    appeal = -np.log(np.arange(1, ITEMS + 1))
    taste = rng.normal(size=(USERS, ITEMS))
    truth = appeal + 1.5 * taste
    held = np.array([rng.choice(ITEMS, p=p / p.sum()) for p in np.exp(truth)])
    seen = rng.random_sample((USERS, ITEMS)) < 0.3 * np.exp(appeal)[None] ** 0.3
    seen[np.arange(USERS), held] = False
    users = np.arange(USERS)
    (folder / "table.csv").write_text(
        "model,n_items,n_negatives,n_users,HR@5,HR@10\n"
        "A,3416,100,6040,0.7235,0.8245\nB,3416,100,6040,0.4100,0.5200\n"
    )
    tables = {
        "held.csv": pd.DataFrame({"user_id": users, "item_id": held}),
        "seen.csv": pd.DataFrame(np.argwhere(seen), columns=["user_id", "item_id"]),
        "items.csv": pd.DataFrame({"item_id": np.arange(ITEMS)}),
    }
    for name, table in tables.items():
        table.to_csv(folder / name, index=False)
    others = np.array([rng.choice(np.flatnonzero(~s & (np.arange(ITEMS) != h)), 2, False)
                       for s, h in zip(seen, held, strict=True)])  # fmt: skip
    several = pd.DataFrame({"user_id": np.repeat(users, 3),
                            "item_id": np.column_stack([held, others]).ravel(),
                            "relevance": np.tile([1, 1, 0], USERS)})  # fmt: skip
    several.to_csv(folder / "several.csv", index=False)
    negatives = []
    for user in users:
        free = np.flatnonzero(~seen[user] & (np.arange(ITEMS) != held[user]))
        negatives += [(user, item) for item in rng.choice(free, M, replace=False)]
    table = pd.DataFrame(negatives, columns=["user_id", "item_id"])
    table.to_csv(folder / "negatives.csv", index=False)
    negative_items = table["item_id"].to_numpy().reshape(USERS, M)
    for name, noise in zip(NAMES, (0.6, 1.2, 2.5), strict=True):
        scores = np.round(8 * (truth + noise * rng.normal(size=(USERS, ITEMS)))) / 8
        held_scores = scores[users, held][:, None]
        candidate = ~seen
        better = ((scores > held_scores) & candidate).sum(1)
        tied = ((scores == held_scores) & candidate).sum(1) - 1
        n = candidate.sum(1)
        records = pd.DataFrame({"user_id": users, "n_candidates": n})
        records = records.assign(n_better=better, n_tied=tied)
        records.to_csv(folder / f"{name}.csv", index=False)
        among = np.take_along_axis(scores, negative_items, 1)
        rank = 1 + (among > held_scores).sum(1)
        sampled = {"user_id": users, "n_candidates": n, "n_negatives": M}
        for letter, kind in (
            ("s", "without-replacement"),
            ("r", "with-replacement"),
            ("d", "distinct"),
        ):
            columns = {**sampled, "sampling": kind, "sampled_rank": rank}
            pd.DataFrame(columns).to_csv(folder / f"{letter}{name}.csv", index=False)
        if name == "A":
            user, item = np.nonzero(candidate)
            long = {"user_id": user, "item_id": item, "score": scores[user, item]}
            pd.DataFrame(long).to_csv(folder / "scores.csv", index=False)
            np.save(folder / "positives.npy", np.hstack([held_scores, among]))
            np.savez(folder / "truth.npz", scores=scores)
    large = 1 + rng.binomial(100, np.minimum(1, 0.5 * rng.random_sample(500) ** 3))
    pd.DataFrame({"sampled_rank": large}).to_csv(folder / "large.csv", index=False)


def run(line: str) -> str:
    """Run a command."""
    from sampled_metrics.cli import app

    result = CliRunner().invoke(app, line.split())
    assert result.exit_code == 0, (line, result.output, result.exception)
    return result.stdout


def rows_of(line: str) -> list[dict]:
    """Return what a command prints as rows; long tables as the digest of their text."""
    if line.split()[0] in ("sample", "negatives"):
        text = run(f"{line} --format csv")
        return [{"digest": hashlib.sha256(text.encode()).hexdigest(), "head": text[:200]}]
    return json.loads(run(f"{line} --format json"))


def page() -> list[dict]:
    """Return the ends of the ranges on the page of sampled ranks."""
    run("report sA.csv sB.csv --output page.html --metric recall@10")
    text = Path("page.html").read_text()
    ends = re.findall(r'title="s(\w): ([\d.]+) to ([\d.]+) %', text)
    return [{name: [float(low), float(high)] for name, low, high in ends}]


def output(name) -> list[dict]:
    """Run a case in the folder of the inputs."""
    return page() if name == "report" else rows_of(CASES[name])


def same(actual, expected, rel_tol=1e-9) -> bool:
    """Compare what JSON holds, numbers to nine digits."""
    if isinstance(expected, dict):
        return actual.keys() == expected.keys() and all(
            same(actual[key], value, rel_tol) for key, value in expected.items()
        )
    if isinstance(expected, list):
        pairs = zip(actual, expected, strict=False)
        return len(actual) == len(expected) and all(same(*pair, rel_tol) for pair in pairs)
    if isinstance(expected, float):
        return math.isclose(actual, expected, rel_tol=rel_tol, abs_tol=1e-11)
    return actual == expected


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("golden")
    write_inputs(folder)
    return folder


SOLVED = {"reported": 1e-6, "check": 1e-6}  # ends of linear programmes depend on their solver
SLOW = ("plan", "plan users", "compare sampled")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name in SLOW else ())
        for name in (*CASES, "report")
    ],
)
def test_output_matches_golden_file(name, inputs, monkeypatch):
    monkeypatch.chdir(inputs)
    rows = output(name)
    assert same(rows, json.loads(FILE.read_text())[name], SOLVED.get(name, 1e-9)), rows


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write_inputs(Path(folder))
        names = [*CASES, "report"]
        rows = [f"{json.dumps(name)}: {json.dumps(output(name))}" for name in names]
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n")

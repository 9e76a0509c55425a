"""Every command that reads files, with valid files, and ways to damage them."""

import re

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import sampled_metrics as sm
from tests.robustness.values import (
    CANDIDATE_SCORES,
    HELD_OUT,
    ITEMS,
    LISTS,
    N_NEGATIVES,
    NEGATIVES,
    PAIRS,
    RANKS,
    SAMPLED,
    SCORES,
    TEST,
    TRAIN,
    USERS,
)

SEEN_BY_USERS = "--relevant held.csv --seen seen.csv"
OF_LISTS = "--relevant held.csv --complete --metric recall@3"
SAMPLED_AUC = "--estimator sampled --metric auc"
# The file to damage, and a command that reads it.
COMMANDS = [
    ("scores.npy", f"evaluate scores.npy {SEEN_BY_USERS}"),
    ("held.csv", f"evaluate scores.npy {SEEN_BY_USERS}"),
    ("lists.csv", f"evaluate lists.csv {OF_LISTS}"),
    ("lists.tsv", f"evaluate lists.tsv {OF_LISTS}"),
    ("lists.parquet", f"evaluate lists.parquet {OF_LISTS}"),
    ("ranks.csv", "evaluate ranks.csv --n-items 30"),
    ("records.parquet", "evaluate records.parquet"),
    ("scores.npz", "evaluate scores.npz --relevant held.csv --metric recall@3"),
    ("a.run", "evaluate a.run --relevant a.qrels --metric recall@3 --complete"),
    ("a.qrels", "evaluate a.run --relevant a.qrels --metric recall@3 --complete"),
    ("sampled.parquet", f"correct sampled.parquet {SAMPLED_AUC}"),
    ("pairs.csv", f"correct pairs.csv --n-items 99 {SAMPLED_AUC}"),
    ("among.npz", f"correct among.npz --positive 0 --n-items 99 {SAMPLED_AUC}"),
    ("records.parquet", "compare records.parquet others.parquet --metric auc"),
    ("records.parquet", "plan --ranks records.parquet others.parquet --metric auc"),
    ("sampled.parquet", "report sampled.parquet --metric auc --output page.html"),
    (
        "ranks.csv",
        "sample ranks.csv --n-items 30 --n-negatives 3 --output drawn.parquet",
    ),
    ("seen.csv", f"negatives {SEEN_BY_USERS} --n-negatives 3"),
    ("drawn.csv", f"check-negatives drawn.csv {SEEN_BY_USERS}"),
    ("printed.csv", "check printed.csv"),
]
ODD = [
    b"",
    b"-1",
    b"nan",
    b"inf",
    b"1e999",
    b"9" * 25,
    b"x",
    b'"',
    b"\0",
    b"\xff\xfe",
]
ODD += [b"\xef\xbb\xbf", b"\n", b"\r", b",", b"\t", b"0.5", b"user_id", b"True"]
ODD += [b"\xe2\x80\xae"]


def write_files(folder):
    """Write a valid file of each kind."""
    np.save(folder / "scores.npy", SCORES)
    LISTS.to_csv(folder / "lists.csv", index=False)
    LISTS.to_csv(folder / "lists.tsv", index=False, sep="\t")
    LISTS.to_parquet(folder / "lists.parquet")
    TEST.to_csv(folder / "held.csv", index=False)
    TRAIN.to_csv(folder / "seen.csv", index=False)
    pd.DataFrame({"rank": RANKS}).to_csv(folder / "ranks.csv", index=False)
    n, none = np.full(USERS, ITEMS), np.zeros(USERS, int)
    sm.Ranks(n, RANKS - 1, none).write(folder / "records.parquet")
    sm.Ranks(n, RANKS[::-1] - 1, none).write(folder / "others.parquet")
    sampled = sm.SampledRanks(SAMPLED, 99, N_NEGATIVES, users=np.arange(USERS))
    sampled.write(folder / "sampled.parquet")
    PAIRS.to_csv(folder / "pairs.csv", index=False)
    np.savez(folder / "among.npz", scores=CANDIDATE_SCORES)
    np.savez(folder / "scores.npz", scores=SCORES)
    run = [f"{u} Q0 {i} 1 {s!r} t" for u, i, s in LISTS.itertuples(index=False)]
    (folder / "a.run").write_text("\n".join(run) + "\n")
    qrels = "".join(f"{u} 0 {i} 1\n" for u, i in enumerate(HELD_OUT))
    (folder / "a.qrels").write_text(qrels)
    NEGATIVES.to_csv(folder / "drawn.csv", index=False)
    head = "model,data_set,n_items,n_negatives,n_users,HR@1,HR@5,exact HR@10\n"
    rows = "A,B,500,99,300,0.21,0.43,0.1\nC,B,500,99,300,0.25,0.5,\n"
    (folder / "printed.csv").write_text(head + rows)


CELL, LINE, REST = re.compile(rb"[^,\t \n]*"), re.compile(rb"[^\n]*\n?"), re.compile(rb"(?s).*")


def damaged(content):
    """Return a strategy for a file of which bytes, cells, lines or the rest are others or gone."""
    lines = content.split(b"\n")
    inserted = st.binary(max_size=2) | st.sampled_from([*ODD, *(line + b"\n" for line in lines)])
    removed = st.sampled_from([CELL, LINE, REST]) | st.integers(0, 3)
    change = st.tuples(st.integers(0, len(content)), removed, inserted)
    return st.lists(change, min_size=1, max_size=4).map(lambda changes: apply(content, changes))


def apply(content, changes):
    """Replace what begins at each place: a number of bytes, or what a pattern matches there."""
    for place, removed, inserted in changes:
        start = min(place, len(content))
        end = start + removed if isinstance(removed, int) else removed.match(content, start).end()
        content = content[:start] + inserted + content[end:]
    return content

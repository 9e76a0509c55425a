"""Studies that are not the paper's, small enough for a test."""

import csv

import numpy as np
import yaml

from tests.conftest import synthetic_interactions, write_archive


def write_ml_100k(path):
    """An archive laid out as MovieLens 100K."""
    events = synthetic_interactions()
    columns = (events.user, events.item, events.timestamp)
    lines = (f"{u}\t{i}\t{1 + (u + i) % 5}\t{t}\n" for u, i, t in zip(*columns, strict=True))
    return write_archive(path, "".join(lines).encode(), "ml-100k/u.data")


# Names that a shell would execute or part if they were not quoted.
NASTY = "a' b\"; $(touch hacked) `touch hacked` &"
BRACES = f"{NASTY} {{x}} <y>"  # Snakemake would take the braces for a wildcard

OWN = {
    "results": "results/own",
    "dataset": {
        "format": "table",
        "name": f"Listening at home {NASTY}",
        "archive": BRACES,
        "cache": BRACES,
        "columns": {"user": BRACES, "item": f"{BRACES}2", "rating": f"{BRACES}3",
                    "timestamp": None},
        "licence": "None of anybody's business.",
        "citation": f"Somebody (2026). {BRACES}",
    },
    "split": {"method": "given", "train": f"own/{NASTY}.tsv", "test": f"own/{NASTY}.test.tsv",
              "users": 40},
    "recommenders": [
        {"name": "Elsewhere", "kind": "external",
         "settings": {"path": f"own/{NASTY}.csv", "format": "scores"}},
        {"name": "1.50", "kind": "popularity"},
    ],
    "ranking": {"pieces": 3},
}  # fmt: skip


def write_own(folder):
    """A split of string ids given as two tables, scores made elsewhere, and the study of both."""
    events = synthetic_interactions()
    (folder / "own").mkdir()
    is_last = np.append(events.user[1:] != events.user[:-1], True)
    for key, is_part in (("train", ~is_last), ("test", is_last)):
        pairs = zip(events.user[is_part], events.item[is_part], strict=True)
        rows = [
            list(OWN["dataset"]["columns"].values())[:3],
            *((f"u{u}", f"s{i:03}", 5) for u, i in pairs),
        ]
        with (folder / OWN["split"][key]).open("w", newline="") as file:
            csv.writer(file, delimiter="\t", lineterminator="\n").writerows(rows)
    rng = np.random.default_rng(0)
    users, items = np.unique(events.user), np.unique(events.item)
    scores = "".join(
        f"u{u},s{i:03},{rng.integers(0, 50) + 20 * (u % 2 == i % 2)}\n"
        for u in users
        for i in items
    )
    (folder / OWN["recommenders"][0]["settings"]["path"]).write_text(
        "user_id,item_id,score\n" + scores
    )
    path = folder / "config/own.yaml"
    path.write_text(yaml.safe_dump(OWN, sort_keys=False))
    return path

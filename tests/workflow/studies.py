"""Studies that are not the paper's, small enough for a test."""

import numpy as np
import yaml

from tests.conftest import synthetic_interactions, write_archive


def write_ml_100k(path):
    """An archive laid out as MovieLens 100K."""
    events = synthetic_interactions()
    columns = (events.user, events.item, events.timestamp)
    lines = (f"{u}\t{i}\t{1 + (u + i) % 5}\t{t}\n" for u, i, t in zip(*columns, strict=True))
    return write_archive(path, "".join(lines).encode(), "ml-100k/u.data")


OWN = {
    "results": "results/own",
    "dataset": {
        "format": "table",
        "name": "Listening at home",
        "path": "own/events.tsv",
        "columns": {"user": "listener", "item": "song"},
        "licence": "None of anybody's business.",
        "citation": "Somebody (2026).",
    },
    "split": {"method": "random"},
    "recommenders": [
        {"name": "Elsewhere", "kind": "external",
         "settings": {"path": "own/scores.csv", "format": "scores"}},
        {"name": "1.50", "kind": "popularity"},
    ],
    "ranking": {"pieces": 3},
}  # fmt: skip


def write_own(folder):
    """A table of string ids without times, scores made elsewhere, and the study of both."""
    events = synthetic_interactions()
    (folder / "own").mkdir()
    lines = (f"u{u}\ts{i:03}\n" for u, i in zip(events.user, events.item, strict=True))
    (folder / "own/events.tsv").write_text("listener\tsong\n" + "".join(lines))
    rng = np.random.default_rng(0)
    users, items = np.unique(events.user), np.unique(events.item)
    scores = "".join(
        f"u{u},s{i:03},{rng.integers(0, 50) + 20 * (u % 2 == i % 2)}\n"
        for u in users
        for i in items
    )
    (folder / "own/scores.csv").write_text("user_id,item_id,score\n" + scores)
    path = folder / "config/own.yaml"
    path.write_text(yaml.safe_dump(OWN, sort_keys=False))
    return path

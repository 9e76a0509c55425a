"""Call the API and the commands with wrong values and damaged files; `make fuzz`.

Whatever they are given, they return, or raise InputError; a command ends with one line and exit
status 2. Anything else, such as a TypeError from inside, is counted as raw and printed. Values of
polars and of sparse are among the wrong ones if the packages are installed.
"""

import argparse
import contextlib
import importlib.util
import io
import logging
import multiprocessing
import random
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp

import sampled_metrics as sm
from sampled_metrics import cli

CALLS, RUNS, CHUNK, SECONDS = 30_000, 20_000, 500, 20
USERS, ITEMS, M = 12, 30, 8
RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(USERS, ITEMS))
HELD = RNG.integers(ITEMS, size=USERS)
SEEN = (RNG.random(SCORES.shape) < 0.1) & (np.arange(ITEMS) != HELD[:, None])
RANKS = 1 + (SCORES[np.arange(USERS), HELD][:, None] < SCORES).sum(axis=1)
AMONG = RNG.normal(size=(USERS, 1 + M))
SAMPLED = 1 + (AMONG[:, 1:] > AMONG[:, :1]).sum(axis=1)


def table(mask):
    users, items = np.nonzero(mask)
    return pd.DataFrame({"user_id": users, "item_id": items})


TEST = pd.DataFrame({"user_id": np.arange(USERS), "item_id": HELD})
TRAIN = table(SEEN)
LISTS = pd.DataFrame(
    {
        "user_id": np.repeat(np.arange(USERS), ITEMS),
        "item_id": np.tile(np.arange(ITEMS), USERS),
        "score": SCORES.ravel(),
    }
)
PAIRS = pd.DataFrame(
    {
        "user_id": np.repeat(np.arange(USERS), 1 + M),
        "score": AMONG.ravel(),
        "label": np.tile([1] + M * [0], USERS),
    }
)
FULL = {"data": SCORES, "metrics": "recall@3", "relevant": HELD, "seen": SEEN}
OF_LISTS = {"data": LISTS, "metrics": "recall@3", "relevant": TEST, "seen": TRAIN}
AMONG_FEW = {"data": AMONG, "metrics": "auc", "estimators": "sampled", "positive": 0, "n_items": 99}
OF_PAIRS = {"data": PAIRS, "metrics": "auc", "estimators": "sampled", "n_items": 99}
BUDGET = {"recommender": SCORES, "metrics": "hr@1", "relevant": HELD, "seen": SEEN, "budget": 20.0}
TWO = {"A": SCORES, "B": SCORES[:, ::-1]}
DRAWN = pd.DataFrame({"user_id": np.repeat(np.arange(USERS), 2), "item_id": np.arange(2 * USERS)})
PRINTED = {"printed": {"HR@10": 0.5}, "metrics": "HR@10", "n_items": 99, "n_negatives": 20}
CALLABLE = [
    (sm.evaluate, {**FULL, "ties": "expected", "confidence": 0.9}),
    (sm.evaluate, {**OF_LISTS, "complete": False, "min_relevance": 0.0}),
    (sm.evaluate, {"data": RANKS, "metrics": "auc", "n_items": ITEMS, "seed": 0}),
    (sm.values_by_user, {**FULL, "ties": "random", "seed": 1}),
    (sm.correct, {**AMONG_FEW, "ties": "random", "sampling": None}),
    (sm.correct, {**OF_PAIRS, "seed": 0, "shape": "non-increasing"}),
    (sm.correct, {"data": SAMPLED, "metrics": "auc", "n_items": 99, "n_negatives": M}),
    (sm.compare, {**FULL, "data": TWO, "test": None, "correction": "holm"}),
    (sm.report, {**FULL, "data": TWO, "path": "/dev/null", "ties": "expected"}),
    (sm.rank, {"score": SCORES, "seen": SEEN, "relevant": HELD, "users": None, "items": None}),
    (sm.Ranks, {"n_candidates": [9, 9], "n_better": [1, 2], "n_tied": [0, 0], "users": ["a", "b"]}),
    (sm.SampledRanks, {"sampled_ranks": [1, 2], "n_items": 50, "n_negatives": 9, "users": [3, 4]}),
    (sm.draw_sampled_ranks, {"ranks": sm.Ranks([9, 9], [1, 2], [0, 0]), "m": 3, "rng": RNG}),
    (sm.reported, PRINTED),
    (sm.plan, {"a": RANKS, "b": RANKS[::-1], "metrics": "auc", "n_items": ITEMS, "sizes": [2, 5]}),
    (sm.negatives, {"relevant": TEST, "seen": TRAIN, "n_negatives": 3, "items": None, "seed": 0}),
    (sm.check_negatives, {"negatives": DRAWN, "relevant": TEST, "seen": TRAIN, "items": None}),
    (sm.evaluate_on_budget, {**BUDGET, "proxy": "popularity", "candidates": None}),
    (sm.rmse, {"true": [1.0, 2.0], "predicted": [1.5, 2.5]}),
]  # fmt: skip


class Odd:
    """An object of no library."""


def frames():
    yield from (TEST, TRAIN, LISTS, PAIRS, DRAWN, TEST.head(0), pd.DataFrame())
    yield TEST.astype(str)
    yield TEST.astype(float)
    yield TEST.assign(user_id=None)
    yield TEST.assign(item_id=[None, *range(USERS - 1)])
    yield TEST.astype("category")
    yield TEST.astype("Int64")
    yield LISTS.rename(columns={"score": "weight"})
    yield LISTS.assign(score=np.nan)
    yield LISTS.assign(score="a")
    yield LISTS.assign(score=True)
    yield LISTS.assign(rank=1)
    yield LISTS.drop(columns="score")
    yield pd.DataFrame(SCORES)
    yield pd.DataFrame({"a": ["x"]})
    yield TEST.set_index("user_id")
    yield TEST["item_id"]
    yield pd.Series([[1], [2]])
    yield pd.Series({"a": [1, 2], "b": 3})
    yield pd.concat([TEST, TEST])
    yield pd.concat([TEST, TEST], axis=1)
    yield TEST.assign(user_id=pd.Timestamp("2020-01-01"))


def arrays():
    yield from (SCORES, HELD, SEEN, RANKS, AMONG, SAMPLED, SCORES.T, SCORES[0], SCORES[:1])
    yield from (SCORES[:0], SCORES[:, :0], SCORES[:, :1], SCORES[..., None])
    for kind in ("f2", "f4", ">f8", "i1", "u8", ">i4", "c16", "O", "U", "S", "M8[s]", "m8[s]", "?"):
        with contextlib.suppress(TypeError, ValueError):
            yield (100 * SCORES).astype("i8").astype(kind)
            yield HELD.astype(kind)
    yield from (SCORES * np.nan, SCORES * np.inf, -SCORES * np.inf, 0 * SCORES)
    yield np.where(SCORES > 1, np.nan, SCORES)
    yield np.where(SCORES > 1, np.inf, SCORES)
    yield np.where(SCORES > 1, -np.inf, SCORES)
    yield np.full(USERS, -1)
    yield np.full(USERS, 10**12)
    yield np.full(USERS, -(10**12))
    yield np.full(SCORES.shape, 2**62)
    yield np.ma.masked_greater(SCORES, 1)
    yield np.matrix(SCORES)
    yield np.zeros((), int)
    yield np.array([None] * USERS)
    yield np.array([[1, 2], [3]], dtype=object)
    yield np.zeros(USERS, dtype=[("a", int)])


def sparse_matrices():
    for make in (
        sp.csr_array,
        sp.csc_array,
        sp.coo_array,
        sp.lil_array,
        sp.dok_array,
        sp.csr_matrix,
    ):
        yield make(SEEN)
        yield make(SCORES)
    yield sp.csr_array((USERS, ITEMS))
    yield sp.csr_array(SEEN.astype(float) * np.nan)
    yield sp.coo_array(HELD)
    bad = sp.csr_array(SCORES)
    bad.indices = bad.indices.copy()
    bad.indices[0] = 99
    yield bad


def others():
    yield from (
        None,
        True,
        False,
        0,
        1,
        -1,
        3,
        1.5,
        np.nan,
        np.inf,
        10**30,
        1j,
        "",
        "x",
        "recall@3",
    )
    yield from (
        "auc, ap",
        "hr@0",
        "recall@",
        "ndcg@-1",
        "@",
        "bv:0.1",
        "em:0",
        "none",
        "holm",
        "\0",
    )
    yield from ("x" * 5000, "missing.csv", "missing.npy", "/", "\ud800", b"x", Path("gone.parquet"))
    yield from (
        [],
        [[]],
        {},
        set(),
        (),
        range(3),
        [1, 2, 3],
        ["a"],
        [None],
        [1, "a"],
        [[1], [2, 3]],
    )
    yield from (
        {"a": [1]},
        {"a": 1},
        {"a": {"b": 1}},
        {"a": {1}},
        {1: [2]},
        {None: [1]},
        {"a": None},
    )
    yield from ({"a": [1], "b": {"c": 2}}, {"A": RANKS}, {"A": SCORES}, TWO, {"HR@10": 0.4})
    yield {"user_id": [1, 2], "item_id": [3]}
    yield {"user_id": [1], "item_id": [3], "score": ["x"]}
    yield {user: [int(item)] for user, item in enumerate(HELD)}
    yield {user: set(range(3)) for user in range(USERS)}
    yield {user: {1: 0.5, "a": 1} for user in range(USERS)}
    yield from (Odd(), Odd, len, lambda: None, lambda _: 0.5, lambda _: None, lambda *_: SCORES)
    yield lambda users: SCORES[users]
    yield lambda users, items: SCORES[users, items]
    yield lambda users, items: np.full(len(users), np.nan)  # noqa: ARG005
    yield lambda users, items: [None] * len(users)  # noqa: ARG005
    yield (SCORES, SCORES)
    yield (SCORES[:, :3], SCORES[:, :3])
    yield (SCORES[:, :3], SCORES.T[:, :3])
    yield sm.Ranks([9, 9], [1, 2], [0, 0])
    yield sm.SampledRanks([1, 2], 50, 9)
    yield sm.Sampling.DISTINCT if hasattr(sm, "Sampling") else "distinct"
    yield np.random.default_rng(0)
    yield iter([1, 2])
    yield (x for x in (1, 2))
    yield pa.table(TEST)
    yield pa.table(LISTS)
    yield pa.array([1, 2])
    yield pa.table({"a": [1]})


def other_packages():
    if importlib.util.find_spec("polars"):
        import polars

        for frame in (TEST, TRAIN, LISTS, PAIRS, DRAWN, pd.DataFrame(SCORES).add_prefix("c")):
            yield polars.from_pandas(frame)
        yield polars.from_pandas(TEST).lazy()
        yield polars.from_pandas(TEST.astype(str))
        yield polars.Series(HELD)
        yield polars.Series(["a"])
        yield polars.Series([[1], [2, 3]])
        yield polars.DataFrame()
        yield polars.DataFrame({"user_id": [None, 1], "item_id": [1, 2]})
        yield polars.from_pandas(TEST).with_columns(polars.col("user_id").cast(polars.Float32))
    if importlib.util.find_spec("sparse"):
        import sparse

        yield sparse.COO.from_numpy(SCORES)
        yield sparse.COO.from_numpy(SEEN)
        yield sparse.COO.from_numpy(HELD)
        yield sparse.GCXS.from_numpy(SCORES)


def values():
    for part in (frames, arrays, sparse_matrices, others, other_packages):
        yield from part()


def of_caller(error):
    """Whether an error was raised by a function among the values, and not inside the package."""
    frames = traceback.extract_tb(error.__traceback__)
    if frames[-1].filename == __file__:
        return True
    return isinstance(error, TypeError) and "<lambda>() " in str(error)  # of other arguments


def called(seed):
    """Make some calls; count what they end in, and where raw errors come from."""
    logging.disable(logging.WARNING)
    chosen = random.Random(seed)  # noqa: S311, which no secret depends on
    found, raw = Counter(), Counter()
    for number in range(CHUNK):
        if number % 20 == 0:
            wrong = list(values())  # anew, as iterators are used up
        function, given = chosen.choice(CALLABLE)
        arguments = dict(given)
        for name in chosen.sample(sorted(arguments), chosen.choice([1, 1, 2])):
            arguments[name] = chosen.choice(wrong)
        end = outcome(lambda: function(**arguments))  # noqa: B023
        found[end[0]] += 1
        if end[0] == "raw":
            raw[f"{function.__name__}: {end[1]}"] += 1
    return found, raw


def outcome(call):
    """Return how a call ends, and the place of a raw error."""
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            call()
    except sm.InputError as error:
        return ("raw", f"several lines: {error}"[:90]) if "\n" in str(error) else ("refused", "")
    except TimeoutError:
        return "slow", ""
    except Exception as error:
        if of_caller(error):
            return "error of the caller", ""
        inside = [
            frame
            for frame in traceback.extract_tb(error.__traceback__)
            if "sampled_metrics" in frame.filename
        ]
        place = inside[-1]
        words = " ".join(str(error).split())[:90]
        return "raw", f"{type(error).__name__} ({Path(place.filename).name}:{place.lineno}) {words}"
    finally:
        signal.alarm(0)
    return "returned", ""


def _late(*_):
    raise TimeoutError


COMMANDS = {
    "scores.npy": "evaluate scores.npy --relevant held.csv --seen seen.csv",
    "lists.csv": "evaluate lists.csv --relevant held.csv --metric recall@3",
    "lists.tsv": "evaluate lists.tsv --relevant held.csv --metric recall@3",
    "lists.parquet": "evaluate lists.parquet --relevant held.csv --metric recall@3",
    "held.csv": "evaluate scores.npy --relevant held.csv --seen seen.csv",
    "seen.csv": "negatives --relevant held.csv --seen seen.csv --n-negatives 3",
    "ranks.csv": "evaluate ranks.csv --n-items 30",
    "records.parquet": "evaluate records.parquet",
    "sampled.csv": "correct sampled.csv --estimator sampled --metric auc",
    "pairs.csv": "correct pairs.csv --n-items 99 --estimator sampled --metric auc",
    "among.npz": "correct among.npz --n-items 99 --estimator sampled --metric auc",
    "scores.npz": "evaluate scores.npz --metric recall@3",
    "a.run": "evaluate a.run --relevant a.qrels --metric recall@3",
    "a.qrels": "evaluate a.run --relevant a.qrels --metric recall@3",
    "drawn.csv": "check-negatives drawn.csv --relevant held.csv --seen seen.csv",
}
ODD = [b"", b"-1", b"nan", b"inf", b"1e999", b"9" * 25, b"x", b'"', b"\0", b"\xff\xfe"]
ODD += [b"\xef\xbb\xbf", b"\n", b"\r", b",", b"\t", b"0.5", b"user_id", b"True", b"\xe2\x80\xae"]


def write_files(folder):
    """Write a sound file of each kind."""
    np.save(folder / "scores.npy", SCORES)
    LISTS.to_csv(folder / "lists.csv", index=False)
    LISTS.to_csv(folder / "lists.tsv", index=False, sep="\t")
    LISTS.to_parquet(folder / "lists.parquet")
    TEST.to_csv(folder / "held.csv", index=False)
    TRAIN.to_csv(folder / "seen.csv", index=False)
    pd.DataFrame({"rank": RANKS}).to_csv(folder / "ranks.csv", index=False)
    sm.Ranks(np.full(USERS, ITEMS), RANKS - 1, 0 * RANKS).write(folder / "records.parquet")
    sm.SampledRanks(SAMPLED, 99, M, users=np.arange(USERS)).write(folder / "sampled.csv")
    PAIRS.to_csv(folder / "pairs.csv", index=False)
    np.savez(folder / "among.npz", scores=AMONG, positive=0)
    np.savez(folder / "scores.npz", scores=SCORES, held_out=HELD, seen=SEEN)
    run = [f"{u} Q0 {i} 1 {s!r} t" for u, i, s in LISTS.itertuples(index=False)]
    (folder / "a.run").write_text("\n".join(run) + "\n")
    (folder / "a.qrels").write_text("".join(f"{u} 0 {i} 1\n" for u, i in enumerate(HELD)))
    DRAWN.to_csv(folder / "drawn.csv", index=False)


def damaged(content, chosen):
    """Change some bytes, lines or cells of a file, or cut it."""
    for _ in range(chosen.choice([1, 1, 2, 4])):
        place = chosen.randrange(len(content) + 1)
        kind = chosen.randrange(7)
        lines = content.split(b"\n")
        line = chosen.randrange(len(lines))
        if kind == 0:
            content = content[:place]
        elif kind == 1:
            content = content[:place] + bytes([chosen.randrange(256)]) + content[place + 1 :]
        elif kind == 2:
            content = content[:place] + chosen.choice(ODD) + content[place:]
        elif kind == 3:
            lines.insert(line, chosen.choice(lines))
            content = b"\n".join(lines)
        elif kind == 4:
            del lines[line]
            content = b"\n".join(lines)
        else:
            mark = chosen.choice([b",", b"\t", b" "])
            cells = lines[line].split(mark)
            cells[chosen.randrange(len(cells))] = chosen.choice(ODD)
            lines[line] = mark.join(cells)
            content = b"\n".join(lines)
    return content


def run_command(words):
    """Run a command in this process; return its exit status and what it printed as errors."""
    error = io.StringIO()
    arguments = sys.argv
    sys.argv = ["sampled-metrics", *map(str, words)]
    for handler in logging.getLogger().handlers[:]:
        logging.getLogger().removeHandler(handler)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(error):
            cli.main()
    except SystemExit as end:
        return end.code or 0, error.getvalue()
    finally:
        sys.argv = arguments
    return 0, error.getvalue()


def commanded(seed):
    """Run some commands on damaged files; count how they end."""
    chosen = random.Random(seed)  # noqa: S311, which no secret depends on
    found, raw = Counter(), Counter()
    with tempfile.TemporaryDirectory() as made, contextlib.chdir(made):
        sound, folder = Path(made, "sound"), Path(made, "damaged")
        sound.mkdir()
        write_files(sound)
        for _ in range(CHUNK):
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(sound, folder)
            name = chosen.choice(list(COMMANDS))
            path = folder / name
            path.write_bytes(damaged(path.read_bytes(), chosen))
            with contextlib.chdir(folder):
                kind, words = command_outcome(COMMANDS[name].split())
            found[kind] += 1
            if kind == "raw":
                raw[f"{COMMANDS[name]}: {words}"] += 1
    return found, raw


def command_outcome(words):
    """Return how a command ends, and what was wrong with it."""
    ended = (None, "")

    def call():
        nonlocal ended
        ended = run_command(words)

    kind, place = outcome(call)
    status, error = ended
    if kind != "returned":
        return kind, place
    if status in (0, 1, 3):
        return "returned", ""
    last = error.strip().splitlines()
    if status == 2 and last and "Traceback" not in error:
        return "refused", ""
    return "raw", f"status {status}: {error[-90:]!r}"


def counted(name, function, number, seed):
    """Run a function for chunks of calls, each in a new process, and print what they end in."""
    found, raw = Counter(), Counter()
    seeds = range(seed, seed + -(-number // CHUNK))
    context = multiprocessing.get_context("spawn")
    with context.Pool(multiprocessing.cpu_count(), maxtasksperchild=4) as pool:
        for ends, places in pool.imap_unordered(function, seeds):
            found += ends
            raw += places
    total = found.total()
    share = 100 * found["raw"] / total
    print(f"{total:,} {name}: " + ", ".join(f"{n:,} {end}" for end, n in found.most_common()))
    print(f"raw: {found['raw']}, {share:.2f} %")
    for place, times in raw.most_common():
        print(f"{times:6}  {place}")
    return found["raw"]


def main():
    """Fuzz both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.calls:
        counted("calls", called, given.calls, given.seed)
    if given.runs:
        counted("commands", commanded, given.runs, given.seed)


if __name__ == "__main__":
    main()

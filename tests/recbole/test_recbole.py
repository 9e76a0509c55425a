"""The output shown in docs/meter.md, with the released packages of RecBole and PyTorch.

`make test-recbole` runs it in an environment of its own.
"""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import sampled_metrics as sm

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/meter.md").read_text(encoding="utf-8").split("## In RecBole")[1]
NUMBER = re.compile(r"-?\d\.\d+")


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """Lines that the code of the page prints, run in a new interpreter."""
    folder = tmp_path_factory.mktemp("made")
    (code,) = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE)
    (folder / "run.py").write_text(code)
    words = [sys.executable, "-W", "ignore", "run.py"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_page_shows_the_printed_output(printed):
    (shown,) = re.findall(r"(?ms)^```text\n(.*?)^```$", PAGE)
    for line, expected in zip(printed, shown.splitlines(), strict=True):
        assert NUMBER.sub("#", line) == NUMBER.sub("#", expected)
        # another processor may train another model of BPR
        found = [float(number) for number in NUMBER.findall(line)]
        assert found == pytest.approx([float(x) for x in NUMBER.findall(expected)], abs=0.03)


def numbers(line):
    return dict(re.findall(r"(\S+@10\S*) (\d\.\d+)", line))


@pytest.mark.parametrize("model", ["BPR", "EASE"])
def test_range_contains_metric_of_full_ranking(printed, model):
    among, full = [
        numbers(line) for line in printed if line.startswith((f"uni100 {model}", f"full {model}"))
    ]
    assert full["exact_recall@10"] == full["recall@10"]
    assert among["exact_recall@10_low"] < full["recall@10"] < among["exact_recall@10_high"]
    assert among["recall@10"] > among["exact_recall@10_high"]


def test_negatives_by_popularity_allow_a_wide_range_and_no_order(printed, tmp_path):
    """The code of the page with pop100 in place of uni100, for one model and without an order."""
    (code,) = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE)
    code = code.partition("logging.disable()")[0]
    code = code.replace('"epochs": 20,', '"epochs": 20,\n        "item_counts": counts,')
    first = """
settings = {"data_path": ".", "load_col": {"inter": ["user_id", "item_id"]}}
counts = plugin.item_counts(create_dataset(Config("EASE", "made", config_dict=settings)))
try:
    evaluated("EASE", "pop100")
except sm.InputError as error:
    print(error)
"""
    (tmp_path / "run.py").write_text(code + "logging.disable()" + first)
    words = [sys.executable, "-W", "ignore", "run.py"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    among, refused = done.stdout.splitlines()
    (full,) = [numbers(line) for line in printed if line.startswith("full EASE")]
    found = numbers(among)
    assert found["exact_recall@10_low"] < full["recall@10"] < found["exact_recall@10_high"]
    assert "nan" in among
    assert "order" in refused


def test_torch_loop_matches_evaluate():
    """Scores that require gradients, also in half precision."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(90, 40))
    seen = torch.tensor(rng.random((90, 40)) < 0.2)
    held_out = torch.tensor(rng.integers(0, 40, size=90))
    scores[np.arange(90), held_out.numpy()] += 1.0
    table = torch.tensor(scores, requires_grad=True)
    seen[torch.arange(90), held_out] = False
    loader = [(rows, seen[rows], held_out[rows]) for rows in torch.arange(90).split(32)]
    model = torch.nn.Module()
    model.forward = lambda users: table.detach()[users].clone()
    text = (ROOT / "docs/meter.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"(?ms)^```python\n(import torch\n.*?)^```$", text)
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        exec(code, {"model": model, "loader": loader})  # noqa: S102 - the documented one
    expected = sm.evaluate(table.detach(), "HR@10, NDCG@10", relevant=held_out, seen=seen)
    assert shown.getvalue() == f"{expected}\n"
    for scores in (table, table.half()):
        meter = sm.RankMeter("rr", n_items=40)
        meter.update(scores, positive=held_out)
        assert len(meter.compute()) == 1

"""What the README shows and the walk-through prints is what comes out."""

import re
import subprocess
import sys

import pytest

from tests.conftest import ROOT


def blocks():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def sessions(block):
    """Commands of a block with what it shows that they print."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_python_snippets_run(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    snippets = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    for snippet in [each for each in snippets if "yours" not in each]:
        done = subprocess.run([sys.executable, "-c", snippet], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), snippet


def test_readme_commands_print_what_it_says(tmp_path):
    (tmp_path / "results").symlink_to(ROOT / "results")
    (block,) = blocks()
    for command, printed in sessions(block):
        ours = command.replace("sampled-metrics", f"{sys.executable} -m sampled_metrics")
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {ours}"],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), command
        assert done.stdout == printed, command


@pytest.fixture(scope="module")
def walk_through():
    script = ROOT / "tests/examples/own_recommender.py"
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_walk_through_shows_the_reversal_and_its_mending(walk_through):
    assert "sampled  Broad is above Careful on sampled recall@10 (which need not" in walk_through
    assert "bv:0.1   Careful is above Broad\n" in walk_through
    exact = dict(re.findall(r"^  (\w+) +recall@10 ([\d.]+)", walk_through, re.MULTILINE))
    assert float(exact["Careful"]) > 2 * float(exact["Broad"])
    assert "sampled  more than 400\n" in walk_through

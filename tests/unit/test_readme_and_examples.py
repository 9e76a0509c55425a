"""What the README shows and the walk-through prints is what comes out."""

import glob
import json
import re
import runpy
import shlex
import subprocess
import sys

from tests.conftest import ROOT


def blocks(language, name="README.md"):
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def sessions(block):
    """Commands of a block with what it shows that they print."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, printed = part.partition("\n")
        yield command, printed


GUIDES = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").glob("*.md"))]
EACH_ALONE = """
import json, sys
for snippet in json.load(sys.stdin):
    exec(snippet, {})
"""


def test_python_snippets_run():
    snippets = [
        snippet
        for name in ("README.md", "CONTRIBUTING.md", *GUIDES)
        for snippet in blocks("python", name)
        if "yours" not in snippet
    ]
    assert len(snippets) > 3
    done = subprocess.run(
        [sys.executable, "-c", EACH_ALONE],
        input=json.dumps(snippets), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def arguments_of(command):
    """Arguments as a shell passes them on: a pattern gives the names of files."""
    for word in shlex.split(command):
        yield from sorted(glob.glob(word)) if "[" in word else [word]  # noqa: PTH207 - as a shell


def test_readme_commands_print_what_it_says(run, tmp_path, monkeypatch):
    (tmp_path / "results").symlink_to(ROOT / "results")
    monkeypatch.chdir(tmp_path)
    (block,) = blocks("console")
    for command, printed in sessions(block):
        ours, *filters = command.split(" | ")
        program, *arguments = arguments_of(ours)
        assert program == "sampled-metrics"
        done = run(*arguments)
        assert (done.returncode, done.stderr) == (0, ""), command
        shown = done.stdout
        for words in map(shlex.split, filters):
            shown = subprocess.run(
                words, input=shown, capture_output=True, text=True, check=True
            ).stdout
        assert shown == printed, command


def test_walk_through_shows_the_reversal_and_what_decides_it(capsys):
    runpy.run_path(str(ROOT / "tests/examples/own_recommender.py"))
    walk_through = capsys.readouterr().out
    exact = dict(re.findall(r"^  (\w+) +recall@10 ([\d.]+) \(", walk_through, re.MULTILINE))
    assert float(exact["Careful"]) > 2 * float(exact["Broad"])
    ranges = re.findall(r"^  (\w+) +recall@10 ([\d.]+) to ([\d.]+)", walk_through, re.MULTILINE)
    assert all(float(low) < float(exact[name]) < float(high) for name, low, high in ranges)
    sampled = [float(value) for value in re.findall(r"sampled +([\d.]+), acts", walk_through)]
    assert sampled[0] < sampled[1]
    assert walk_through.count("Careful is above Broad\n") == 2
    assert "  400 negatives: 1.00\n" in walk_through

"""Examples of the README and the documentation print what they show."""

import glob
import json
import re
import runpy
import shlex
import subprocess
import sys

import pytest

from tests.conftest import ROOT

GUIDES = ["README.md", *(str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("docs/*.md")))]
REFERENCE = ROOT / "results/reference"
PYTHON = r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?"
CONSOLE = r"^\$ ((?:[^\n]*\\\n)*[^\n]*)\n((?:(?!\$ |```)[^\n]*\n)*)"
EACH_ALONE = """
import contextlib, io, json, sys
printed = []
for snippet in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(snippet, {})
    printed.append(output.getvalue().rstrip())
print(json.dumps(printed))
"""


def matches_in(names, pattern):
    """Return all matches of a pattern in some files."""
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in names]
    return [x for text in texts for x in re.findall(pattern, text, re.MULTILINE | re.DOTALL)]


@pytest.mark.long
def test_python_snippets_print_their_output(monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    pairs = matches_in([*GUIDES, "CONTRIBUTING.md"], PYTHON)
    snippets, shown = zip(*[pair for pair in pairs if "yours" not in pair[0]], strict=True)
    assert len(snippets) > 3
    done = subprocess.run(
        [sys.executable, "-c", EACH_ALONE],
        input=json.dumps(snippets), capture_output=True, text=True, check=False, cwd=ROOT,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == [text.rstrip() for text in shown]


def arguments_of(command):
    """Split a command into arguments as a shell does, with patterns expanded to file names."""
    for word in shlex.split(command):
        yield from sorted(glob.glob(word)) if "[" in word else [word]  # noqa: PTH207 - as a shell


def test_commands_print_their_output(run, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "70")
    (tmp_path / "results").symlink_to(ROOT / "results")
    monkeypatch.chdir(tmp_path)
    for command, printed in matches_in(GUIDES, CONSOLE):
        ours, *filters = command.replace("\\\n", "").split(" | ")
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


@pytest.fixture
def walk_through(capsys):
    runpy.run_path(str(ROOT / "tests/examples/own_recommender.py"))
    return capsys.readouterr().out


@pytest.mark.long
def test_walk_through_reverses_and_decides_the_order(walk_through):
    exact = dict(re.findall(r"(?m)^  (\w+) +recall@10 ([\d.]+) \(", walk_through))
    assert float(exact["Careful"]) > 2 * float(exact["Broad"])
    sampled = re.findall(r"sampled +([\d.]+), acts", walk_through)
    careful, broad, *_ = map(float, sampled)
    assert careful < broad
    assert walk_through.count("Careful is above Broad") == 2
    ranges = re.findall(r"(?m)^  (\w+) +recall@10 ([\d.]+) to ([\d.]+)", walk_through)
    assert ranges
    for name, low, high in ranges:
        assert float(low) < float(exact[name]) < float(high)
    assert "  400 negatives: 1.00\n" in walk_through


def test_documented_make_targets_exist():
    rules = [ROOT / "Makefile", ROOT / "tests/parts.mk"]
    targets = {"test-all"}
    for path in rules:
        text = path.read_text(encoding="utf-8")
        targets.update(re.findall(r"(?m)^([a-z-]+):(?!=)", text))
    pages = [
        *(ROOT / name for name in [*GUIDES, "CONTRIBUTING.md"]),
        *sorted(ROOT.glob("docs/measured/*.md")),
        *sorted(ROOT.glob("config/*.*")),
        *sorted(REFERENCE.glob("**/*.md")),
        *sorted(ROOT.glob("src/**/*.html")),
    ]
    for path in pages:
        text = path.read_text(encoding="utf-8")
        blocks = "\n".join(re.findall(r"(?ms)^```\w*\n(.*?)^```", text))
        named = re.findall(r"(?m)^make ([a-z][\w-]*)", blocks)
        named += re.findall(r"(?:`|<code>|\$ )make ([a-z][\w-]*)", text)
        assert set(named) <= targets, path.relative_to(ROOT)

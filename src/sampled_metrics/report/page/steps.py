"""The rules of the workflow as a picture, and how long each of them took."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sampled_metrics.errors import InputError
from sampled_metrics.files import read_table

_NODE = re.compile(r'(\d+)\[\s*label\s*=\s*"([^"]*)"')
_EDGE = re.compile(r"(\d+)\s*->\s*(\d+)")
_TARGET = "all"
_PAGE = "page"  # the rule that makes the page: its time is not known before the page is
_WIDTH, _HEIGHT, _ACROSS, _DOWN, _MARGIN = 112, 26, 12, 34, 6
_SWEEPS = 8


class Graph(NamedTuple):
    """Names of rules, and pairs of rules of which the second needs the first."""

    rules: list[str]
    edges: set[tuple[str, str]]


def steps(graph: Path, times: Path) -> dict[str, Any]:
    """Return the picture of the rules (`graph`) and the time of every job (`times`).

    Raises
    ------
    InputError
        A file is missing or is not what it should be.
    """
    try:
        rules = parse(graph.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{graph}: no such file; expected the graph of rules") from None
    jobs = _jobs(times)
    return {"graph": drawn(rules, {_PAGE, *(job["rule"] for job in jobs)}), "times": jobs}


def parse(text: str) -> Graph:
    """Read what `snakemake --rulegraph` prints.

    >>> parse('digraph d { 0[label = "all"]; 1[label = "fetch"]; 1 -> 0 }')
    Graph(rules=['fetch'], edges=set())
    """
    names = dict(_NODE.findall(text))
    rules = sorted(name for name in names.values() if name != _TARGET)
    edges = {(names[a], names[b]) for a, b in _EDGE.findall(text)}
    return Graph(rules, {edge for edge in edges if _TARGET not in edge})


def layers(graph: Graph) -> list[list[str]]:
    """Put every rule below all that it needs, and those of a layer where edges cross little.

    >>> layers(Graph(["a", "b", "c"], {("a", "b"), ("b", "c"), ("a", "c")}))
    [['a'], ['b'], ['c']]
    """
    depth = dict.fromkeys(graph.rules, 0)
    for _ in graph.rules:
        for before, after in sorted(graph.edges):
            depth[after] = max(depth[after], depth[before] + 1)
    found = [[r for r in graph.rules if depth[r] == d] for d in sorted(set(depth.values()))]
    for _ in range(_SWEEPS):
        place = {name: _position(i, row) for row in found for i, name in enumerate(row)}
        for row in found:
            row.sort(key=lambda name: (_mean_place(name, graph, place), name))
    return found


def _position(i: int, row: Sequence[str]) -> float:
    return i - (len(row) - 1) / 2.0


def _mean_place(name: str, graph: Graph, place: dict[str, float]) -> float:
    beside = [place[a] for a, b in graph.edges if b == name]
    beside += [place[b] for a, b in graph.edges if a == name]
    return sum(beside) / len(beside) if beside else place[name]


def drawn(graph: Graph, ran: set[str]) -> dict[str, Any]:
    """Boxes and lines of the picture, in units of its `width` and `height`."""
    rows = layers(graph)
    width = max(len(row) for row in rows) * (_WIDTH + _ACROSS) - _ACROSS
    boxes = {
        name: {
            "name": name,
            "x": width / 2.0 + _position(i, row) * (_WIDTH + _ACROSS) - _WIDTH / 2.0 + _MARGIN,
            "y": float(depth * (_HEIGHT + _DOWN) + _MARGIN),
            "ran": name in ran,
        }
        for depth, row in enumerate(rows)
        for i, name in enumerate(row)
    }
    return {
        "width": width + 2 * _MARGIN,
        "height": len(rows) * (_HEIGHT + _DOWN) - _DOWN + 2 * _MARGIN,
        "box": {"width": _WIDTH, "height": _HEIGHT},
        "boxes": list(boxes.values()),
        "lines": [_line(boxes[a], boxes[b]) for a, b in sorted(graph.edges)],
        "words": "; ".join(f"{a} before {b}" for a, b in sorted(graph.edges)),
    }


def _line(start: dict[str, Any], end: dict[str, Any]) -> str:
    x, y = start["x"] + _WIDTH / 2, start["y"] + _HEIGHT
    to_x, to_y = end["x"] + _WIDTH / 2, end["y"]
    bend = (to_y - y) / 2
    return f"M{x:g} {y:g}C{x:g} {y + bend:g} {to_x:g} {to_y - bend:g} {to_x:g} {to_y:g}"


def _jobs(folder: Path) -> list[dict[str, Any]]:
    """Seconds of each job by rule, its wildcards and the log beside the page."""
    found = []
    for path in sorted(folder.rglob("*.tsv")):
        name = path.relative_to(folder).with_suffix("")
        if name.parts[0] == _PAGE:
            continue
        seconds = read_table(path, ["s"], sep="\t")["s"].iloc[-1]
        found.append(
            {
                "rule": name.parts[0],
                "wildcards": " ".join(name.parts[1:]),
                "seconds": f"{float(seconds):.1f}",
                "log": f"logs/{name.as_posix()}.log",
            }
        )
    return found

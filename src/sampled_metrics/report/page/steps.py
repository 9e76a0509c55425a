"""The rules of the workflow as a picture, and how long each of them took."""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_table

_NODE = re.compile(r'(\d+)\[\s*label\s*=\s*"([^"]*)"')
_EDGE = re.compile(r"(\d+)\s*->\s*(\d+)")
_TARGET = "all"
_PAGE = "page"  # the rule that makes the page: its time is not known before the page is
_WIDTH, _HEIGHT, _ACROSS, _DOWN, _MARGIN = 112, 26, 12, 34, 6
_PASSING = 10  # width of the place of a line that passes a layer
_SWEEPS = 8


class Graph(NamedTuple):
    """Names of rules, and pairs of rules of which the second needs the first."""

    rules: list[str]
    edges: set[tuple[str, str]]


def steps(graph: Path, times: Path, *, of_paper: bool = True) -> dict[str, Any]:
    """Return the picture of the rules (`graph`) and the time of every job (`times`).

    Parameters
    ----------
    graph
        What `snakemake --rulegraph dot` prints for the paper's study, then for others.
    times
        Folder of benchmarks.
    of_paper
        Whether to show the rules of the paper's study that did not run, too.

    Raises
    ------
    InputError
        A file is missing or is not what it should be.
    """
    try:
        studies = parse(graph.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{graph}: no such file; expected the graph of rules") from None
    jobs = _jobs(times)
    ran = {_PAGE, *(job["rule"] for job in jobs)}
    shown = ran.union(studies[0].rules) if of_paper else ran
    return {"graph": drawn(direct(together(studies, shown)), ran), "times": jobs}


def parse(text: str) -> list[Graph]:
    """Read what `snakemake --rulegraph` prints, for one study or several.

    >>> parse('digraph d { 0[label = "all"]; 1[label = "fetch"]; 1 -> 0 }')
    [Graph(rules=['fetch'], edges=set())]

    Raises
    ------
    InputError
        There is no graph.
    """
    graphs = [_graph(part) for part in text.split("digraph")[1:]]
    if not graphs:
        raise InputError("the graph of rules is none; expected what `snakemake --rulegraph` prints")
    return graphs


def _graph(text: str) -> Graph:
    names = dict(_NODE.findall(text))
    rules = sorted(name for name in names.values() if name != _TARGET)
    edges = {(names[a], names[b]) for a, b in _EDGE.findall(text)}
    return Graph(rules, {edge for edge in edges if _TARGET not in edge})


def together(graphs: Sequence[Graph], shown: set[str]) -> Graph:
    """Join graphs, of which only some rules are shown; a line may stand for a way through others.

    >>> together([Graph(["a", "b", "c"], {("a", "b"), ("b", "c")})], {"a", "c"})
    Graph(rules=['a', 'c'], edges={('a', 'c')})
    """
    rules = sorted(shown & {rule for graph in graphs for rule in graph.rules})
    below = _below({edge for graph in graphs for edge in graph.edges})
    return Graph(rules, {(a, b) for a in rules for b in below.get(a, ()) if b in rules})


def _below(edges: set[tuple[str, str]]) -> dict[str, set[str]]:
    """All that needs a rule, directly or through others."""
    below: dict[str, set[str]] = {}
    for a, b in edges:
        below.setdefault(a, set()).add(b)
    for _ in range(len(below)):
        below = {
            name: found.union(*(below.get(other, ()) for other in found))
            for name, found in below.items()
        }
    return below


def direct(graph: Graph) -> Graph:
    """Leave out the lines that say no more than a way round through other rules does.

    >>> sorted(direct(Graph(["a", "b", "c"], {("a", "b"), ("b", "c"), ("a", "c")})).edges)
    [('a', 'b'), ('b', 'c')]
    """
    below = _below(graph.edges)
    later = {(a, c) for a, b in graph.edges for c in below.get(b, ())}
    return Graph(graph.rules, graph.edges - later)


def layers(graph: Graph) -> list[list[str]]:
    """Put every rule right above the first that needs it, and line up what belongs together.

    A line that passes a layer has a place of its own there, named by both ends, so that it does
    not run through a box.

    >>> layers(Graph(["a", "b", "c"], {("a", "b"), ("b", "c"), ("a", "c")}))
    [['a'], ['a > c', 'b'], ['c']]
    """
    height = dict.fromkeys(graph.rules, 0)
    for _ in graph.rules:
        for before, after in sorted(graph.edges):
            height[before] = max(height[before], height[after] + 1)
    rows = [sorted(r for r in graph.rules if height[r] == h) for h in set(height.values())]
    beside: dict[str, list[str]] = {}
    for before, after in sorted(graph.edges):
        passed = [f"{before} > {after}"] * (height[before] - height[after] - 1)
        places = [before, *(f"{name}{' ' * i}" for i, name in enumerate(passed)), after]
        for level, name in enumerate(places[1:-1], 1):
            rows[height[before] - level].append(name)
        for one, other in pairwise(places):
            beside.setdefault(one, []).append(other)
            beside.setdefault(other, []).append(one)
    return _ordered([rows[level] for level in sorted(set(height.values()), reverse=True)], beside)


def _ordered(rows: list[list[str]], beside: dict[str, list[str]]) -> list[list[str]]:
    """Sort each row by the mean place of what its members are joined to, down and up in turn."""
    for sweep in range(_SWEEPS):
        for row, other in pairwise(rows if sweep % 2 == 0 else rows[::-1]):
            place, here = _places(row), _places(other)
            mean = {name: _mean(beside.get(name, []), place, here[name]) for name in other}
            other.sort(key=lambda name, mean=mean: (mean[name], name))  # type: ignore[misc]
    return rows


def _mean(names: Sequence[str], place: dict[str, float], otherwise: float) -> float:
    found = [place[name] for name in names if name in place]
    return sum(found) / len(found) if found else otherwise


def _places(row: Sequence[str]) -> dict[str, float]:
    """Middles of the members of a row, the middle of the row being 0."""
    widths = [_PASSING if _passes(name) else _WIDTH for name in row]
    starts = [sum(widths[:i]) + _ACROSS * i for i in range(len(row))]
    half = (sum(widths) + _ACROSS * (len(row) - 1)) / 2.0
    return {n: x + w / 2.0 - half for n, x, w in zip(row, starts, widths, strict=True)}


def _passes(name: str) -> bool:
    return " > " in name


def drawn(graph: Graph, ran: set[str]) -> dict[str, Any]:
    """Boxes and lines of the picture, in units of its `width` and `height`."""
    rows = layers(graph)
    middles = [_places(row) for row in rows]
    half = max(abs(x) for row in middles for x in row.values()) + _WIDTH / 2.0 + _MARGIN
    at = {
        name: (x + half, float(depth * (_HEIGHT + _DOWN) + _MARGIN))
        for depth, row in enumerate(middles)
        for name, x in row.items()
    }
    boxes = [
        {"name": name, "x": x - _WIDTH / 2.0, "y": y, "ran": name in ran}
        for name, (x, y) in at.items()
        if not _passes(name)
    ]
    return {
        "width": 2.0 * half,
        "height": len(rows) * (_HEIGHT + _DOWN) - _DOWN + 2 * _MARGIN,
        "box": {"width": _WIDTH, "height": _HEIGHT},
        "boxes": boxes,
        "lines": [_line(edge, at) for edge in sorted(graph.edges)],
        "words": "; ".join(f"{a} before {b}" for a, b in sorted(graph.edges)),
    }


def _line(edge: tuple[str, str], at: dict[str, tuple[float, float]]) -> str:
    """Path from the foot of one box to the head of another, straight past the rows between."""
    before, after = edge
    passed = sorted(
        (place for name, place in at.items() if name.rstrip() == f"{before} > {after}"),
        key=lambda place: place[1],
    )
    x, y = at[before]
    path = f"M{x:g} {y + _HEIGHT:g}"
    y += _HEIGHT
    for to_x, to_y in [*passed, at[after]]:
        bend = (to_y - y) / 2.0
        path += f"C{x:g} {y + bend:g} {to_x:g} {to_y - bend:g} {to_x:g} {to_y:g}"
        x, y = to_x, to_y
        if (to_x, to_y) != at[after]:
            y += _HEIGHT
            path += f"V{y:g}"
    return path


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

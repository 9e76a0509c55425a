"""Print a graph of all rules, for Graphviz; `make graph` makes the picture on the page of it."""

import os
import re
import sys
import tempfile
from pathlib import Path

from tests.workflow.conftest import Project
from tests.workflow.studies import write_own

NODE = re.compile(r'(\d+)\[\s*label\s*=\s*"([^"]*)"')
EDGE = re.compile(r"(\d+)\s*->\s*(\d+)")
TARGETS = {"all", "study"}
HEAD = """\
digraph rules {
  graph [bgcolor=transparent, margin=0, nodesep=0.15, ranksep=0.35];
  node [shape=box, width=1.25, height=0.32, fixedsize=true, fontname=sans, fontsize=10];
  edge [arrowhead=none];
"""


def edges(rulegraph):
    """Pairs of rules in what `snakemake --rulegraph dot` prints; the second needs the first."""
    names = dict(NODE.findall(rulegraph))
    return {(names[a], names[b]) for a, b in EDGE.findall(rulegraph) if names[b] not in TARGETS}


def all_edges():
    """Edges of the paper's study and of one on other data; each rule occurs in one of them."""
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder), None, small=True)
        own = os.path.relpath(write_own(project.folder), project.folder)
        asked = ("--rulegraph", "dot")
        return edges(project.snakemake(*asked)) | edges(
            project.snakemake(*asked, "--configfile", own)
        )


def dot():
    """Describe the graph of all rules in Graphviz's language, the same for the same rules."""
    pairs = sorted(all_edges())
    nodes = [f'  {name} [id="rule_{name}"];' for name in sorted({*sum(pairs, ())})]
    return HEAD + "\n".join([*nodes, *(f"  {a} -> {b};" for a, b in pairs)]) + "\n}\n"


if __name__ == "__main__":
    sys.stdout.write(dot())

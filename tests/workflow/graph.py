"""Print the graphs of the rules of two studies, between which every rule of the page occurs."""

import os
import re
import sys
import tempfile
from pathlib import Path

from tests.workflow.conftest import Project
from tests.workflow.studies import write_own


def graphs() -> str:
    """The rules of the paper's study, and of one on a table of its own, cut in pieces."""
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder), None, small=True)
        own = os.path.relpath(write_own(project.folder), project.folder)
        asked = ("--rulegraph", "dot")
        text = project.snakemake(*asked) + project.snakemake(*asked, "--configfile", own)
    found = re.findall(r"^digraph .*?^}$", re.sub(r"[ \t]+$", "", text, flags=re.M), re.M | re.S)
    return re.sub(r' color = "[^"]*",', "", "\n".join(found) + "\n")  # it changes with the run


if __name__ == "__main__":
    sys.stdout.write(graphs())

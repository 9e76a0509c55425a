"""Imported by each Python that a study starts: hide packages that its rule's environment lacks.

As with `--sdm conda`, where each rule has the packages of its file in `workflow/envs` alone.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
WORDS = Path("/proc/self/cmdline")  # sys.argv is not yet what it will be


def dependencies(path):
    return set(re.findall(r"^  - ([\w-]+) =", path.read_text(encoding="utf-8"), re.MULTILINE))


def environment(command):
    """File of the environment of the rule that calls a command of the study."""
    for path in (ROOT / "workflow/rules").glob("*.smk"):
        for rule in re.split(r"\n *rule ", path.read_text(encoding="utf-8")):
            if re.search(rf"study --log \{{log:q\}} {command} ", rule):
                return path.parent / re.search(r'conda:\s+"(.*)"', rule)[1]
    return None


class Hidden:
    def __init__(self, names):
        self.names = names

    def find_spec(self, name, path=None, target=None):  # noqa: ARG002
        if name.split(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def hide():
    words = WORDS.read_text(encoding="utf-8").split("\0") if WORDS.exists() else []
    if "sampled_metrics" in words and "--log" in words:
        command = words[words.index("--log") + 2]
        if found := environment(command):
            whole = dependencies(ROOT / "environment.yml")
            sys.meta_path.insert(0, Hidden(whole - dependencies(found)))


hide()

"""The ways to run the project that its documents, its configurations and its Makefile offer."""

import re

from tests.conftest import ROOT

DOCUMENTS = [
    "README.md",
    *(f"docs/{name}.md" for name in ("study", "artifact", "cluster")),
]
DOCUMENTS.append("docs/other-data.md")
PROGRAMS = (
    "conda",
    "make",
    "pip",
    "pytest",
    "python",
    "sampled-metrics",
    "snakemake",
)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(
    rf"`((?:{'|'.join(PROGRAMS)}) [^`]+)`(?! of\s+commit)"
)  # of this commit
TARGET = re.compile(r"^([a-z0-9-]+):.*##", re.MULTILINE)


def commands(block):
    """Commands of a block, without comments, each in one line."""
    for line in block.replace("\\\n", "").splitlines():
        command = " ".join(line.split("#")[0].removeprefix("$ ").split())
        if command:
            yield command


def of_document(text):
    """Commands of a document, and its blocks in Python and YAML by their first lines."""
    for language, block in BLOCK.findall(text):
        if language in ("python", "yaml"):
            yield f"{language}: {' '.join(block.splitlines()[0].split())}"
        elif language == "console":
            shown = [
                line
                for line in re.split(r"(?<!\\)\n", block)
                if line.startswith("$ ")
            ]
            yield from commands("\n".join(shown))
        elif language in ("", "sh"):
            yield from commands(block)
    for command in INLINE.findall(BLOCK.sub("", text)):
        yield " ".join(command.split())


def documented():
    """Return each way once, with the file that offers it."""
    ways = []
    for name in DOCUMENTS:
        for way in of_document((ROOT / name).read_text(encoding="utf-8")):
            ways.append((name, way))
    for path in sorted((ROOT / "config").glob("*.yaml")):
        ways.append(("config", path.name))
    for target in TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8")):
        ways.append(("Makefile", target))
    return list(dict.fromkeys(ways))

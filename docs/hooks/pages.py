"""Pages that are generated when the documentation is built.

The study's page comes from the reference run, the page of the command
line from its help, and the description of each page from its first
sentence. Signatures get values of defaults, the search a name.
"""

import inspect
import pydoc
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import typer
import yaml
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

from sampled_metrics._base import defaults
from sampled_metrics.cli import app
from sampled_metrics_study.config import STORED_RANKS, Study
from sampled_metrics_study.page import render
from sampled_metrics_study.page.contents import collect

ROOT = Path(__file__).parents[2]
FRAME = ("base", "lens", "page", "frame")  # scripts of the lens alone
REFERENCE = ROOT / "results/reference"
CELL = re.compile(r"(?s)<td[^>]*>.*?</td>")
CODE = re.compile(r"(?<=<code>)[^<]+")
HYPHENATED = re.compile(r"[\w.@-]*-[\w.@-]+")
MENU = '<nav aria-label="Sections">\n'
BACK = '<a href="index.html" target="_top">Documentation</a>\n'
BOOSTS = {"notebooks/plan.py": 10.0}  # of pages without metadata
ALONE = ("report.html", "atlas.html")  # pages without the theme
DEFAULT = re.compile(
    r'<span class="n">(?:<span title="[^"]*">)?'
    r"([A-Z][A-Z_]+)(?:</span>)?</span>"
)
SHORTEST, LONGEST = 25, 160  # characters of a description
NO_SUBJECT = ("make ", "Ranks:", "Commit ")  # do not describe a page


def on_files(files: Files, config: Any) -> Files:
    """Add the study's page, its lens alone, and the commands'."""
    study = study_content()
    alone = {**study, "board": None}
    contents = {
        "report.html": render(study),
        "lens.html": render(alone, "frame.html", FRAME),
        "cli.md": command_line(),
    }
    for name, content in contents.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Add a description of the page, unless it has one."""
    text = markdown
    documented = re.match(r"::: (\S+)", markdown)
    if documented:
        text = inspect.getdoc(pydoc.locate(documented[1])) or ""
    elif page.file.src_uri.endswith(".py"):
        cells = re.findall(
            r"# %% \[markdown\]\n((?:#.*\n)+)", markdown
        )
        text = "\n".join(
            re.sub("(?m)^# ?", "", cell) for cell in cells
        )
    page.meta.setdefault("description", description_of(text))
    if page.file.src_uri in BOOSTS:
        page.meta["search"] = {"boost": BOOSTS[page.file.src_uri]}
    return markdown


def description_of(text: str) -> str:
    """Return the first sentence of some length, without markup."""
    prose = re.sub(r"(?s)```.*?```", "\n", text)
    for paragraph in re.split(r"\n\s*\n", prose):
        if not re.match(r'["A-Z`*\[]', paragraph.strip()):
            continue
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph)
        line = " ".join(re.sub(r'[`*"]', "", plain).split())
        for sentence in re.split(r"(?<=[.?]) (?=[A-Z])", line):
            is_short = len(sentence) < SHORTEST
            if not is_short and not sentence.startswith(NO_SUBJECT):
                return textwrap.shorten(
                    sentence, LONGEST, placeholder=" …"
                )
    return ""


def with_values(html: str) -> str:
    """Replace names of defaults by their values."""

    def value(name: re.Match[str]) -> str:
        default = getattr(defaults, name[1], None)
        if default is None:
            return name[0]
        return f'<span class="s1">{default!r}</span>'

    return DEFAULT.sub(value, html)


def on_post_page(output: str, page: Any = None, **_: Any) -> str:
    """Name the search for screen readers; show default values."""
    if page and page.file.src_uri.startswith("api/"):
        output = with_values(output)
    search = 'data-md-component="search" role="dialog"'
    named = output.replace(search, f'{search} aria-label="Search"')
    # An empty cell is not a column heading.
    named = re.sub(r"<th( [^>]*)?></th>", r"<td\1></td>", named)
    return CELL.sub(lambda cell: with_whole_names(cell[0]), named)


def with_whole_names(cell: str) -> str:
    """Mark names with hyphens in code, where browsers break lines."""
    whole = r'<span class="whole">\g<0></span>'
    return CODE.sub(lambda code: HYPHENATED.sub(whole, code[0]), cell)


def on_post_template(output: str, **_: Any) -> str:
    """Name the search on the page for missing pages too."""
    return on_post_page(output)


def on_post_build(config: Any) -> None:
    """Link pages without the theme back to the documentation."""
    for name in ALONE:
        path = Path(config["site_dir"]) / name
        text = path.read_text("utf-8")
        path.write_text(with_way_back(text), "utf-8")


def with_way_back(page: str) -> str:
    """Return a page whose menu begins with the documentation."""
    if page.count(MENU) != 1:
        raise PluginError("a page has no menu for the way back")
    return page.replace(MENU, MENU + BACK)


def study_content() -> dict[str, Any]:
    """Return the contents of the page of the reference run."""
    text = (ROOT / "config/config.yaml").read_text()
    settings = Study.of(yaml.safe_load(text), "config")
    return collect(
        results=REFERENCE,
        ranks=[REFERENCE / f"ranks/{name}.parquet" for name in "XYZ"],
        config=settings.model_dump(mode="json", by_alias=True),
        is_paper=True,
        audit=REFERENCE / "audit.csv",
        stored=[
            REFERENCE / f"{name}.parquet" for name in STORED_RANKS
        ],
    )


def command_line() -> str:
    """Return the page of all commands with their options."""
    parts = [
        "# Command line\n",
        "The help of all commands, which `sampled-metrics COMMAND "
        "--help` prints.\n",
    ]
    group = typer.main.get_command(app)
    parts += sections(group, "sampled-metrics")
    return "\n".join(parts)


def sections(group: Any, prefix: str) -> list[str]:
    """Return the sections of the commands of a group."""
    parts = []
    for name, command in group.commands.items():
        path = f"{prefix} {name}"
        if hasattr(command, "commands"):
            parts += sections(command, path)
            continue
        parts.append(f"## {path.removeprefix('sampled-metrics ')}\n")
        parts.append(f"```sh\n{usage_of(command, path)}\n```\n")
        prose = re.sub(
            r"(?<![`\w])--[a-z-]+", r"`\g<0>`", command.help or ""
        )
        parts.append(f"{prose}\n")
        example = (command.epilog or "").removeprefix("Example: ")
        parts.append(f"For example `{example}`.\n")
        parts += [
            "| option | meaning | default |",
            "| :-- | :-- | :-- |",
        ]
        for option in command.params:
            parts.append(row_of(option))
        parts.append("")
    return parts


def usage_of(command: Any, path: str) -> str:
    """Return the line that runs a command, with its arguments."""
    words = [path]
    for option in command.params:
        if option.param_type_name == "argument":
            words.append(option.name.upper())
    return " ".join([*words, "[OPTIONS]"])


def row_of(option: Any) -> str:
    """Return the row of an argument or an option."""
    names = ", ".join(f"`{name}`" for name in option.opts)
    if option.param_type_name == "argument":
        names = f"`{option.name.upper()}`"
    default = option.default
    shown = ""
    is_none = default is None or default is False or default == ()
    if not is_none and not callable(default):
        shown = f"`{default}`"
    help_text = (getattr(option, "help", None) or "").replace(
        "|", "\\|"
    )
    help_text = re.sub(r"(?<![`\w])--[a-z-]+", r"`\g<0>`", help_text)
    return f"| {names} | {help_text} | {shown} |"


if __name__ == "__main__":
    sys.stdout.write(command_line())

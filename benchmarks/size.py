"""Size of the package by room: tokens, and tokens a line of each room's densest file.

    python benchmarks/size.py

Comments, docstrings and line breaks do not count. `tests/unit/test_size.py` has the ceilings.
"""

import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def docstring_lines(tree):
    """Numbers of the lines of docstrings; texts about fields of settings are part of the schema."""
    for node in ast.walk(tree):
        match node:
            case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                if ast.get_docstring(node, clean=False) is not None:
                    text = node.body[0]
                    yield from range(text.lineno, text.end_lineno + 1)


def size(path):
    """Tokens of a file, and its lines with any."""
    text = path.read_text("utf-8")
    skipped = set(docstring_lines(ast.parse(text)))
    tokens = 0
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT and token.start[0] not in skipped:
            tokens += 1
            lines.update(range(token.start[0], token.end[0] + 1))
    return tokens, len(lines)


def room(path):
    package, *parts = path.relative_to(SOURCE).parts
    if package == "sampled_metrics_study":
        return "study"
    return parts[0] if len(parts) > 1 else "top"


def table():
    """For each room and in all: tokens, lines, and the tokens a line of the densest file."""
    tokens = Counter()
    lines = Counter()
    densest = {}
    for path in SOURCE.rglob("*.py"):
        n_tokens, n_lines = size(path)
        for name in (room(path), "all"):
            tokens[name] += n_tokens
            lines[name] += n_lines
            density = n_tokens / max(n_lines, 1)
            densest[name] = max(densest.get(name, (0.0, "")), (density, path.name))
    return {name: (tokens[name], lines[name], *densest[name]) for name in tokens}


def main():
    rows = table()
    print(f"{'room':12}{'tokens':>9}{'lines':>8}{'a line':>8}  densest file")
    for name in sorted(rows, key=lambda name: (name == "all", name)):
        n_tokens, n_lines, density, file = rows[name]
        print(f"{name:12}{n_tokens:9,}{n_lines:8,}{n_tokens / n_lines:8.2f}  {density:.2f} {file}")


if __name__ == "__main__":
    main()

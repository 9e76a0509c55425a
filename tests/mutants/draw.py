"""Choose mutants of modules: `draw.py FOLDER SEED < request`, in the environment of cosmic-ray.

The request is JSON: for each subpackage its modules (paths below FOLDER) and the number of mutants.
Prints a JSON list of mutants, each with its source. Positions in a subpackage are chosen at random,
and at each position one of the changes that cosmic-ray knows. Changes that cannot affect the
behaviour of a program are left out: annotations, `==` to `is`, FLAGS and CACHE.
"""

import ast
import difflib
import json
import random
import re
import sys
from collections import defaultdict
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

# Flags that forbid what no code does.
FLAGS = re.compile(r"(frozen|kw_only|slots|strict)=$")
CACHE = re.compile(r"\s*@(lru_)?cache\b|maxsize=$")  # it only saves time
IDENTITY = re.compile(r"_(Eq_Is|NotEq_IsNot|Is_Eq|IsNot_NotEq)$")
LINES_OF_HEADER = 2


def annotations(tree):
    """Spans of the annotations of arguments, results and variables."""
    nodes = list(ast.walk(tree))
    nodes_of_annotations = [
        getattr(node, name, None) for node in nodes for name in ("annotation", "returns")
    ]
    return [
        ((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset))
        for node in nodes_of_annotations
        if node is not None
    ]


def change_positions(source):
    """The possible changes at each position of a module, as operators and occurrences."""
    spans = annotations(ast.parse(source))
    lines = source.split("\n")
    changes = defaultdict(list)
    nodes = list(ast_nodes(get_ast(source)))
    for name in operator_names():
        operator_class = get_operator(name)
        if operator_class.arguments() or IDENTITY.search(name):
            continue
        operator = operator_class()
        starts = [start for node in nodes for start, _ in operator.mutation_positions(node)]
        for occurrence, start in enumerate(starts):
            row, column = start
            if any(first <= start < last for first, last in spans):
                continue
            before = lines[row - 1][:column]
            if FLAGS.search(before) or CACHE.search(before.strip() or lines[row - 1]):
                continue
            changes[start].append((name, occurrence))
    return changes


def changed_lines(source, mutated):
    """The lines that a mutant replaces and the new lines, without indentation."""
    diff = list(difflib.unified_diff(source.split("\n"), mutated.split("\n"), n=0, lineterm=""))
    lines = diff[LINES_OF_HEADER:]
    before = [line[1:].strip() for line in lines if line.startswith("-")]
    after = [line[1:].strip() for line in lines if line.startswith("+")]
    return " ".join(before), " ".join(after)


def makes_a_difference(source, mutated):
    """Whether a mutant can be parsed and differs from its source."""
    try:
        tree = ast.parse(mutated)
    except SyntaxError:
        return False
    return ast.dump(tree) != ast.dump(ast.parse(source))


def choose_mutants(folder, subpackage, modules, count, seed):
    """Choose `count` mutants of the modules of a subpackage."""
    rng = random.Random(f"{seed} {subpackage}")  # noqa: S311
    sources = {module: (folder / module).read_text("utf-8") for module in modules}
    pool = [
        (module, start, changes)
        for module in sorted(modules)
        for start, changes in sorted(change_positions(sources[module]).items())
    ]
    rng.shuffle(pool)
    mutants = []
    for module, (row, _), changes in pool:
        if len(mutants) == count:
            break
        name, occurrence = rng.choice(changes)
        try:
            mutated = mutate_code(sources[module], get_operator(name)(), occurrence)
        except AttributeError:  # cosmic-ray replaces no exceptions with dotted names
            continue
        if not makes_a_difference(sources[module], mutated):
            continue
        before, after = changed_lines(sources[module], mutated)
        mutants.append(
            {
                "subpackage": subpackage,
                "module": module,
                "line": row,
                "before": before,
                "after": after,
                "source": mutated,
            }
        )
    return mutants


def main():
    folder, seed = Path(sys.argv[1]), sys.argv[2]
    mutants = []
    for subpackage, request in json.load(sys.stdin).items():
        mutants += choose_mutants(folder, subpackage, request["modules"], request["count"], seed)
    json.dump(mutants, sys.stdout)


if __name__ == "__main__":
    main()

"""Find the test files that run given lines of functions.

`add_calls` inserts a call before the statements of these lines. A run of all tests then writes the
current test of each call to a file, also from other processes, which inherit the environment.
"""

import ast
from collections import defaultdict

MODULE = "_reach"
# pytest puts the name of the test into the environment.
SOURCE = """
import os

seen = set()


def reach(number):
    test = os.environ.get("PYTEST_CURRENT_TEST")
    if test and (number, test) not in seen:
        seen.add((number, test))
        with open({record!r}, "a") as file:
            file.write(f"{{number}} {{test}}\\n")
"""
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def is_docstring(statement):
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def blocks_of(statement):
    """The lists of statements in a statement."""
    parts = [
        *getattr(statement, "handlers", []),
        *getattr(statement, "cases", []),
        statement,
    ]
    names = ("body", "orelse", "finalbody")
    return [getattr(part, name, None) or [] for part in parts for name in names]


def find_statement(block, line, is_in_function=False):
    """The list and the innermost statement of a line in a function, or None.

    The header of a function, which runs on import, counts as its first statement.
    """
    for statement in block:
        decorators = getattr(statement, "decorator_list", [])
        first = min([statement.lineno, *(each.lineno for each in decorators)])
        if not first <= line <= statement.end_lineno:
            continue
        is_function = isinstance(statement, FUNCTIONS)
        for nested in blocks_of(statement):
            found = find_statement(nested, line, is_in_function or is_function)
            if found:
                return found
        if is_function:
            statements = [each for each in statement.body if not is_docstring(each)]
            return (statement.body, statements[0]) if statements else None
        return (block, statement) if is_in_function else None
    return None


def add_calls(source, lines):
    """The source with a call before the statement of each line, by number, and those numbers.

    >>> print(add_calls("def f(x):\\n    return x + 1\\n", {7: 2})[0])
    def f(x):
        __import__('_reach').reach(7)
        return x + 1
    """
    tree = ast.parse(source)
    places = {number: find_statement(tree.body, line) for number, line in lines.items()}
    places = {number: place for number, place in places.items() if place}
    for number, (block, statement) in places.items():
        call = ast.parse(f"__import__('{MODULE}').reach({number})").body[0]
        block.insert(block.index(statement), call)
    return ast.unparse(ast.fix_missing_locations(tree)), set(places)


def files_by_number(record):
    """The test files of each number in a record of calls."""
    files = defaultdict(set)
    if record.exists():
        for line in record.read_text("utf-8").splitlines():
            number, test = line.split(" ", 1)
            files[int(number)].add(test.split("::")[0])
    return files

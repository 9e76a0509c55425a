"""How much is written on a line of each room; ceilings that may only fall.

Lines can be saved by writing more on each: `x if c else y` for an `if`, `a, b = x, y` for two
assignments, dictionaries joined by `|` for a constructor. The complexity that ruff counts does not
see it.
"""

import ast

import pytest

from tests.conftest import ROOT

SOURCE = ROOT / "src/sampled_metrics"
STUDY = ROOT / "src/sampled_metrics_study"
SLACK = (0.3, 10.0)  # below a ceiling, before it must be lowered
CEILINGS = {  # nodes of syntax a line, and compressed ones in 1,000 lines; peers have 5 and 6
    "_base": (5.7, 12),
    "budget": (6.5, 5),
    "cli": (4.9, 15),
    "estimators": (6.4, 4),
    "evaluation": (5.7, 15),
    "intervals": (6.6, 11),
    "printed": (6.0, 10),
    "metrics": (6.2, 7),
    "inputs": (6.1, 14),
    "pages": (6.5, 10),
    "ranks": (5.4, 6),
    "sampling": (6.6, 12),
    "study": (6.2, 8),
}


def is_compressed(node):
    match node:
        case ast.IfExp() | ast.Assign(targets=[ast.Tuple()], value=ast.Tuple()):
            return True
        case ast.BinOp(op=ast.BitOr(), right=ast.Dict()):
            return True
        case ast.AugAssign(op=ast.BitOr(), value=ast.Dict()):
            return True
    return False


def test_every_room_has_ceilings():
    assert CEILINGS.keys() == {
        "study",
        *(path.parent.name for path in SOURCE.glob("*/__init__.py")),
    }


@pytest.mark.parametrize("room", CEILINGS)
def test_rooms_get_no_denser(room):
    nodes = lines = compressed = 0
    folder = STUDY if room == "study" else SOURCE / room
    for path in folder.rglob("*.py"):
        placed = [
            node
            for node in ast.walk(ast.parse(path.read_text()))
            if hasattr(node, "lineno")
        ]
        nodes += len(placed)
        lines += len({node.lineno for node in placed})
        compressed += sum(map(is_compressed, placed))
    found = nodes / lines, 1000 * compressed / lines
    for number, ceiling, slack in zip(found, CEILINGS[room], SLACK, strict=True):
        assert number <= ceiling, "write statements instead of expressions"
        assert number > ceiling - slack, (
            f"lower the ceiling of {room} to {number + slack / 3:.1f}"
        )

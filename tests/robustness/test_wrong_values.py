"""Functions with wrong values, and commands on damaged files, return or are refused in one line.

Hypothesis chooses values and damages, the same each time, and shows the smallest that fails: a
TypeError from inside the package, say. A call that takes longer than 20 seconds is ended.
Values of polars, ranx, sparse, torch and xarray are among the wrong ones where they are installed.
"""

import contextlib
import signal
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sampled_metrics as sm
from tests.robustness.calls import cases
from tests.robustness.commands import COMMANDS, damaged, write_files
from tests.robustness.values import values

SECONDS = 20
CALLS, RUNS = 60, 40  # of each function, and of each command
HERE = Path(__file__).parent
NAMES = [f"{place} {name}" for place, (name, *_) in enumerate(cases())]
pytestmark = pytest.mark.long
OF_ONE_FOLDER = {
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
}


class SlowCallError(Exception):
    pass


def end_slow_call(*_: Any) -> None:
    raise SlowCallError


def is_of_caller(error: Exception) -> bool:
    """Return whether an error comes from a function among the wrong values."""
    frames = traceback.extract_tb(error.__traceback__)
    is_of_values = Path(frames[-1].filename).parent == HERE
    return is_of_values or (isinstance(error, TypeError) and "<lambda>() " in str(error))


@contextlib.contextmanager
def refusing_in_one_line() -> Iterator[None]:
    """Let through refusals of one line, errors of the caller's functions, and slow calls."""
    signal.signal(signal.SIGALRM, end_slow_call)
    signal.alarm(SECONDS)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    except sm.InputError as error:
        if "\n" in str(error):
            raise
    except SlowCallError:
        pass
    except Exception as error:
        if not is_of_caller(error):
            raise
    finally:
        signal.alarm(0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def wrong_values() -> list[Any]:
    """Return new values, as iterators are used up and arrays may be changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of matrices of numpy
        return list(values())


N_VALUES = len(wrong_values())


@pytest.mark.parametrize("place", range(len(NAMES)), ids=NAMES)
@settings(max_examples=CALLS, **OF_ONE_FOLDER)
@given(data=st.data())
@pytest.mark.usefixtures("folder")
def test_function_returns_or_refuses_wrong_values(place: int, data: st.DataObject) -> None:
    _, function, arguments = cases()[place]
    some = st.lists(st.sampled_from(sorted(arguments)), min_size=1, max_size=2, unique=True)
    names = data.draw(some, label="arguments")
    for name in names:
        number = data.draw(st.integers(0, N_VALUES - 1), label=f"number of the value of {name}")
        arguments[name] = wrong_values()[number]
    np.random.seed(0)  # noqa: NPY002 - in case a value draws
    with refusing_in_one_line():
        function(**arguments)


# Data, the first argument of most functions, has the names of its columns in messages.
DATA = ("data", "pairs", "table", "ranks", "recommended", "scores", "score", "parts", "printed")
OTHER_WORDS = {"metrics": "measure", "metric": "measure"}
STEP, MAX_SHARE_UNNAMED = 20, 0.02  # one of so many values is tried


def refusal_of(place: int, argument: str, number: int) -> str:
    """Return how a call refuses a wrong value, or nothing."""
    _, function, arguments = cases()[place]
    try:
        function(**{**arguments, argument: wrong_values()[number]})
    except sm.InputError as error:
        return str(error)
    except Exception:
        return ""  # the test above reports it
    return ""


@pytest.mark.usefixtures("folder")
@pytest.mark.filterwarnings("ignore")
def test_refusals_name_the_argument() -> None:
    n_refused, unnamed = 0, []
    for place, (name, _, arguments) in enumerate(cases()):
        for argument in sorted(set(arguments) - set(DATA)):
            words = argument.split("_")[0].rstrip("s"), OTHER_WORDS.get(argument, argument)
            for number in range(place % STEP, N_VALUES, STEP):
                message = refusal_of(place, argument, number)
                n_refused += bool(message)
                if message and not any(word in message for word in words):
                    unnamed.append((name, argument, message))
    assert n_refused > 1000
    assert len(unnamed) <= MAX_SHARE_UNNAMED * n_refused, unnamed


@pytest.mark.parametrize(("name", "line"), COMMANDS, ids=[" ".join(row) for row in COMMANDS])
@settings(max_examples=RUNS, **OF_ONE_FOLDER)
@given(data=st.data())
def test_command_ends_with_a_line_on_damaged_files(
    name: str, line: str, data: st.DataObject, folder: Path, run: Any
) -> None:
    write_files(folder)
    path = folder / name
    path.write_bytes(data.draw(damaged(path.read_bytes())))
    with refusing_in_one_line():
        done = run(*line.split())
        assert done.returncode in (0, 1, 2, 3)
        assert done.returncode != 2 or done.stderr.strip()
        assert "Traceback" not in done.stderr


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", [line for _, line in COMMANDS])
def test_command_succeeds_on_sound_files(line: str, folder: Path, run: Any) -> None:
    write_files(folder)
    assert run(*line.split()).returncode in (0, 1, 3)

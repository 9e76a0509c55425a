"""Standard output that is full, closed, or read by nobody: programs as processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sampled_metrics_study as study

BARE = {name: value for name, value in os.environ.items() if "PYTHON" not in name}
STUDY_PROGRAM = """
import sys
from sampled_metrics_study.program import program
with program():
    print("a line")
    sys.exit(1)
"""
LIBRARY, STUDY = ["-m", "sampled_metrics"], ["-c", STUDY_PROGRAM]
BUFFERED, UNBUFFERED = {}, {"PYTHONUNBUFFERED": "1"}


def run_program(command, environment, stdout):
    return subprocess.run(
        [sys.executable, *command],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env=BARE | environment,
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "environment"),
    [
        ([*LIBRARY, "metrics", "--format", "csv"], BUFFERED),
        ([*LIBRARY, "metrics", "--format", "json"], UNBUFFERED),
        ([*LIBRARY, "metrics"], BUFFERED),
        ([*LIBRARY, "correct", "--help"], UNBUFFERED),
        ([*LIBRARY, "--version"], BUFFERED),
        (LIBRARY, UNBUFFERED),
        (STUDY, BUFFERED),
        (STUDY, UNBUFFERED),
    ],
)
def test_full_standard_output_is_an_error_of_one_line(command, environment):
    with Path("/dev/full").open("w") as full:
        done = run_program(command, environment, full)
    line = "standard output: cannot be written (No space left on device)\n"
    assert (done.returncode, done.stderr) == (2, line)


def test_study_programs_check_standard_output():
    start = 'if __name__ == "__main__":\n'
    for script in Path(study.__file__).parent.rglob("*.py"):
        _, is_program, rest = script.read_text("utf-8").partition(start)
        assert not is_program or rest.startswith("    with program():"), script


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "environment"),
    [([*LIBRARY, "metrics"], BUFFERED), ([*LIBRARY, "metrics"], UNBUFFERED), (STUDY, BUFFERED)],
)  # fmt: skip
def test_reader_who_has_left_ends_the_program_silently(command, environment):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as pipe:
        done = run_program(command, environment, pipe)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.long
def test_closed_standard_output_is_no_error():
    command = f"exec {sys.executable} -m sampled_metrics metrics >&-"
    done = subprocess.run(
        ["sh", "-c", command], stderr=subprocess.PIPE, text=True, check=False, env=BARE
    )
    assert (done.returncode, done.stderr) == (0, "")

"""Standard output that is full, closed, or read by nobody."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sampled_metrics_study as study

BARE = {name: value for name, value in os.environ.items() if "PYTHON" not in name}


PRINTED = """
import sys
from sampled_metrics_study.program import program
with program():
    print("a line")
    sys.exit(1)
"""


STUDY_PROGRAM = ["-c", PRINTED]


@pytest.mark.parametrize("unbuffered", [{}, {"PYTHONUNBUFFERED": "1"}])
@pytest.mark.parametrize(
    "command",
    [
        *(
            ["-m", "sampled_metrics", *words.split()]
            for words in (
                "metrics --format csv",
                "metrics --format json",
                "metrics",
                "--help",
                "correct --help",
                "--version",
                "",
            )
        ),
        STUDY_PROGRAM,
    ],
)
def test_full_standard_output_is_an_error_of_one_line(command, unbuffered):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, *command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=BARE | unbuffered,
        )
    assert done.returncode == 2
    assert (
        done.stderr
        == "standard output: cannot be written (No space left on device)\n"
    )


@pytest.mark.parametrize("script", sorted(Path(study.__file__).parent.rglob("*.py")))
def test_study_programs_check_standard_output(script):
    text = script.read_text("utf-8")
    if 'if __name__ == "__main__":' in text:
        assert 'if __name__ == "__main__":\n    with program():' in text


@pytest.mark.parametrize("unbuffered", [{}, {"PYTHONUNBUFFERED": "1"}])
@pytest.mark.parametrize(
    "command", [["-m", "sampled_metrics", "metrics"], STUDY_PROGRAM]
)
def test_reader_who_has_left_ends_the_program_silently(command, unbuffered):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as pipe:
        done = subprocess.run(
            [sys.executable, *command],
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=BARE | unbuffered,
        )
    assert (done.returncode, done.stderr) == (1, "")


def test_closed_standard_output_is_no_error():
    command = f"exec {sys.executable} -m sampled_metrics metrics >&-"
    done = subprocess.run(
        ["sh", "-c", command],
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env=BARE,
    )
    assert (done.returncode, done.stderr) == (0, "")

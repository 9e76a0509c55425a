import logging
import sys
from types import SimpleNamespace

import pytest

from sampled_metrics.cli import main


@pytest.fixture
def run(monkeypatch, capfd):
    """Run the command in this process; its exit status, standard output and standard error."""

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["sampled-metrics", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        return SimpleNamespace(
            returncode=ended.value.code or 0, stdout=out, stderr=err
        )

    yield command
    for handler in logging.getLogger().handlers[:]:
        if type(handler) in (logging.StreamHandler, logging.FileHandler):
            logging.getLogger().removeHandler(handler)
            handler.close()


@pytest.fixture
def refused(run):
    """Run the command and return the one line with which it refuses."""

    def command(*arguments):
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        lines = done.stderr.splitlines()
        assert len(lines) == 1
        return lines[0]

    return command

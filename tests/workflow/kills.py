"""Moments at which a run is killed."""

import time


def after(seconds):
    """Some time after the beginning."""

    def moment(_, running):
        end = time.monotonic() + seconds
        while time.monotonic() < end and running.poll() is None:
            time.sleep(0.01)

    return moment


def before_rename(number):
    """While a result has still its temporary name, for the so manieth time."""

    def moment(folder, running):
        seen = set()
        while len(seen) < number and running.poll() is None:
            seen |= {path.name for path in (folder / "results").rglob(".*") if path.is_file()}
            time.sleep(0.001)

    return moment


def after_rename(number):
    """As soon as so many files have a name, but Snakemake has not yet taken note of the last."""

    def moment(folder, running):
        def count():
            return sum(path.is_file() for path in (folder / "results").glob("*/*"))

        wanted = count() + number
        while count() < wanted and running.poll() is None:
            time.sleep(0.001)

    return moment

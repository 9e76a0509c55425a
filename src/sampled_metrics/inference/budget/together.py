"""Several askers side by side, so that one batch holds what all of them ask."""

from collections.abc import Generator, Iterable
from typing import Any

from sampled_metrics._base.arrays import Float
from sampled_metrics.inference.budget.counts import Asked

Batches = Generator[list[Asked], list[Float], Any]


def alone(task: Generator[Asked, Float, Any]) -> Batches:
    """Run one asker, a request per batch; return what it returns."""
    try:
        asked = next(task)
        while True:
            (scores,) = yield [asked]
            asked = task.send(scores)
    except StopIteration as stop:
        return stop.value


def together(tasks: Iterable[Batches]) -> Batches:
    """Run askers side by side; return the list of what they return.

    A batch has one request of each asker that is not done; the scores come back in that order.
    """
    running = list(tasks)
    results: list[Any] = [None] * len(running)
    replies: dict[int, list[Float] | None] = dict.fromkeys(range(len(running)))
    while replies:
        wanted: dict[int, list[Asked]] = {}
        for place, scores in replies.items():
            try:
                task = running[place]
                wanted[place] = next(task) if scores is None else task.send(scores)
            except StopIteration as stop:
                results[place] = stop.value
        if not wanted:
            break
        answers = iter((yield [asked for batch in wanted.values() for asked in batch]))
        replies = {place: [next(answers) for _ in batch] for place, batch in wanted.items()}
    return results

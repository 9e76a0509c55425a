"""Print how a run ended: `python -m sampled_metrics_study.summary results`.

The step that makes the page has written these lines, see `page.closing`.
"""

import os
import sys
from pathlib import Path

from sampled_metrics._base.errors import InputError
from sampled_metrics_study.program import program


def main(results: Path) -> None:
    """Print how to activate the environment, then the orders, the verdict and what to open."""
    page, summary = results / "report.html", results / "summary.txt"
    for path in (page, summary):
        if not path.exists():
            raise InputError(f"{path} is missing; run the study first: make reproduce")
    if Path(".venv/bin/activate").exists() and "VIRTUAL_ENV" not in os.environ:
        print("For snakemake and sampled-metrics on the path: source .venv/bin/activate\n")
    print(summary.read_text("utf-8"), end="")


if __name__ == "__main__":
    with program():
        main(Path(*sys.argv[1:] or ["results"]))

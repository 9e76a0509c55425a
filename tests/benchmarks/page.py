"""Size of the page, time to build it, and how fast it opens and answers.

`python tests/benchmarks/page.py` prints the milliseconds from opening the page to its first chart
and until all are drawn, with the processor seconds of its process, and a row for each control:
milliseconds from the movement to all panels drawn, over a fixed course of movements.
"""

import os
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from sampled_metrics.report.page.collect import collect
from sampled_metrics.report.page.render import render
from tests.browser.conftest import Opened
from tests.unit.test_page import sources

COURSE = [
    ("metric", ("ap-all", "ndcg-all", "auc", "ndcg", "recall")),
    ("estimator", ("sampled", "rank-estimate", "bv")),
    ("gamma", (0.5, 0.01, 0.001, 0.03, 0.1)),
    ("k", (5, 20, 50, 10)),
    ("n", (10_000, 1_000_000, 500, 3541)),
    ("m", (10, 50, 200, 1000, 100)),
    ("pair", ("0,2", "1,2", "0,1")),
    ("group", (1, 0)),
]
ROUNDS = 4
SIZE = {"width": 1280, "height": 900}


def main() -> None:
    """Build, open and measure."""
    began = time.perf_counter()
    page = render(collect(**sources()))
    built = time.perf_counter() - began
    print(f"page: {len(page.encode()) / 1e6:.2f} MB, built in {built:.2f} s")
    executable = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if executable is None:
        print("no chromium on the path: the explorer is not measured")
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        path.write_text(page, encoding="utf-8")
        measured = measure(executable, path)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    print(f"{'':<16} {'best':>6} {'median':>6} {'worst':>6}  (ms)")
    for what, times in measured.items():
        row = (min(times), statistics.median(times), max(times))
        print(f"{what:<16} " + " ".join(f"{value:6.0f}" for value in row))


def measure(executable: str, path: Path) -> dict[str, list[float]]:
    """Milliseconds of opening the page and of every movement, by control."""
    from playwright.sync_api import sync_playwright

    found = defaultdict(list)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        for _ in range(ROUNDS):
            context = browser.new_context(viewport=SIZE)
            opened = Opened(context, path)
            found["first chart"].append(float(opened.page.get_attribute("#explorer", "data-first")))
            found["all charts"].append(opened.page.evaluate("performance.now()"))
            metrics = context.new_cdp_session(opened.page)
            metrics.send("Performance.enable")
            of_process = metrics.send("Performance.getMetrics")["metrics"]
            (seconds,) = (each["value"] for each in of_process if each["name"] == "ProcessTime")
            found["  processor"].append(1000 * seconds)
            context.close()
        opened = Opened(browser.new_context(viewport=SIZE), path)
        for _ in range(ROUNDS):
            for control, positions in COURSE:
                for position in positions:
                    opened.set(**{control: position})
                    answer = opened.page.get_attribute("#explorer", "data-response-ms")
                    found[control].append(float(answer))
        browser.close()
    return found


if __name__ == "__main__":
    main()

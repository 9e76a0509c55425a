"""Take the picture of the page for the README.

`python -m tests.browser.picture PAGE PICTURE` opens a page in Chromium and writes a PNG.
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.conftest import Opened, executable

SIZE = {"width": 1200, "height": 700}


def main(page: Path, picture: Path) -> None:
    """Open the page and take its picture."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable(), args=["--no-sandbox"])
        context = browser.new_context(viewport=SIZE, color_scheme="light")
        Opened(context, page.resolve()).page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))

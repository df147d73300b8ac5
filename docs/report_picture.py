"""Draw docs/images/report.png: the report of a run on a screen and on a phone.

Needs what the tests need, and a chromium on PATH: python docs/report_picture.py demo/run
"""

import shutil
import sys
from io import BytesIO
from pathlib import Path

from pictures import IMAGES
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from cadda.runs.report import write_report

SCREEN, PHONE = {"width": 1160, "height": 1000}, {"width": 380, "height": 1000}
GAP = 40
WIDTH = 1300


def main(run: Path) -> None:
    """Make the report, look at it and draw what is seen."""
    page = write_report(run).path
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        left = photograph(browser, page, SCREEN, "light", "body")
        right = photograph(browser, page, PHONE, "dark", "#examples .card:nth-child(2)")
        browser.close()
    both = Image.new("RGB", (left.width + GAP + right.width, left.height), "white")
    both.paste(left, (0, 0))
    both.paste(right, (left.width + GAP, 0))
    small = both.resize((WIDTH, round(both.height * WIDTH / both.width)), Image.Resampling.LANCZOS)
    # Fewer colours would leave no room for the one that matters.
    small.quantize(256, dither=Image.Dither.NONE).save(IMAGES / "report.png", optimize=True)


def photograph(
    browser: Browser, page: Path, size: dict[str, int], scheme: str, place: str
) -> Image.Image:
    """Look at a part of the page."""
    window = browser.new_page(viewport=size, color_scheme=scheme)
    window.goto(page.as_uri())
    window.locator(place).evaluate("one => one.scrollIntoView({behavior: 'instant'})")
    return Image.open(BytesIO(window.screenshot())).convert("RGB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

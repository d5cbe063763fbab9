"""Take docs/lesson.png: a lesson in JupyterLab, open at an explorer, as README shows it.

    python tests/browser/take_picture.py

What it needs: see check_lessons.py. The lesson is shown as it is stored.
"""

import sys
import time

from check_lessons import cut_off, launch
from lab_server import ROOT, lab
from lesson_page import CELLS, SHOW, LessonPage
from playwright.sync_api import sync_playwright

LESSON = "00_start_here.ipynb"
EXPLORER = "knife_explorer("  # the first code cell that says this
PICTURE = ROOT / "docs" / "lesson.png"
CLEAR = """() => { const app = window.jupyterapp;
  if (!app.shell.leftCollapsed) app.shell.collapseLeft();
  app.shell.collapseRight?.(); }"""


def main() -> int:
    """Open the lesson, show its explorer, and store what is seen."""
    path = ROOT / "notebooks" / LESSON
    with sync_playwright() as playwright, launch(playwright) as browser, lab([path]) as address:
        page = browser.new_page(viewport={"width": 1100, "height": 760}, device_scale_factor=1.5)
        cut_off(page)
        lesson = LessonPage(page, LESSON, None)
        lesson.open(address.format(LESSON))
        page.evaluate(CLEAR)
        cells = page.evaluate(CELLS)
        places = [
            index
            for index, cell in enumerate(cells)
            if cell["cell_type"] == "code" and EXPLORER in "".join(cell["source"])
        ]
        if not places:
            sys.exit(f"No cell of {LESSON} says {EXPLORER}: name another in this script.")
        node = page.evaluate_handle(SHOW, places[0]).as_element()
        assert node is not None
        node.wait_for_selector(".vega-embed canvas, .vega-embed svg", timeout=15_000)
        time.sleep(1)
        page.evaluate_handle(SHOW, places[0] - 1)  # what is above has grown since
        time.sleep(1)
        page.screenshot(path=PICTURE)
        lesson.stop()
    print(PICTURE.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Take docs/lesson.png: a lesson in JupyterLab, open at an explorer, as README shows it.

    python tests/browser/take_picture.py

What it needs: see check_lessons.py. The lesson is shown as it is stored, with its controls moved
as `MOVES` says.
"""

import sys
import time

from check_lessons import cut_off, launch
from lab_server import ROOT, lab
from lesson_page import CELLS, MOVE, SHOW, LessonPage
from playwright.sync_api import sync_playwright

LESSON = "09_looking_inside.ipynb"
EXPLORER = "heads_explorer("  # the first code cell that says this
MOVES = ("layer",)  # controls moved to their end, by a part of their name
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
        for control in node.query_selector_all("input, select"):
            if any(part in (control.get_attribute("name") or "") for part in MOVES):
                control.evaluate(MOVE, False)
        time.sleep(1)
        page.screenshot(path=PICTURE)
        lesson.stop()
    print(PICTURE.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Open every page of the built site in a browser without a network, and see whether it works.

    python tests/browser/check_site.py [PAGE ...]

`make site` comes first. Each page (all of them by default; PAGE is a path within build/site) is
opened from the folder as a reader would, on a desk, in the dark and on a phone. It must log no
error, ask for nothing elsewhere, have words for every picture, be no wider than its window, and
satisfy axe-core's rules for WCAG 2.2 AA and its own. On a desk every control of every chart is
moved and must change it, and what is folded stays folded. The search must find a page. The exit
status says whether anything was wrong.

It needs what `check_lessons.py` needs, and axe-core:
`python -m experiments check site` sees to both.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import NamedTuple

from check_lessons import AXE, cut_off, judge, launch
from lesson_page import move_controls
from playwright.sync_api import Browser, Error, Page, TimeoutError, sync_playwright

SITE = Path(__file__).resolve().parents[2] / "build" / "site"
LIVE = "live"  # its page reads files, which needs a server: it has a check of its own
SOUGHT, FOUND = "warm-up", "#search-results li"
DRAWN = 30_000  # milliseconds a chart may take to appear
UNDRAWN = "() => document.querySelectorAll('.chart:not(.drawn)').length === 0"
WITHOUT_ALT = """() => [...document.querySelectorAll('article img')]
  .filter(image => !image.alt.trim() || !image.naturalWidth).map(image => image.src)"""
TOO_WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
UNFOLDED = """() => [...document.querySelectorAll('.tag_hide-output .cell_output')]
  .filter(output => !output.closest('details:not([open])')).length"""


class View(NamedTuple):
    """How a reader looks at a page: the window, and light or dark."""

    name: str
    width: int
    height: int
    scheme: str


VIEWS = (
    View("desk", 1280, 900, "light"),
    View("dark", 1280, 900, "dark"),
    View("phone", 390, 844, "light"),
)


class Seen(NamedTuple):
    """What was wrong with a page, a line each; how many charts and moving controls it has."""

    problems: list[str]
    charts: int
    moved: int


def visit(page: Page, address: str, move: bool) -> Seen:
    """Open an address, wait until its charts are drawn, and look.

    Args:
        page: The browser's, on which everything else is refused.
        address: Of the page.
        move: Whether to move every control of every chart.
    """
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(f"the page: {error}"))
    page.on(
        "console",
        lambda said: said.type in ("error", "warning") and problems.append(said.text[:200]),
    )
    page.goto(address)
    try:
        page.wait_for_function(UNDRAWN, timeout=DRAWN)
    except TimeoutError:
        problems.append("a chart was not drawn")
    for source in page.evaluate(WITHOUT_ALT):
        problems.append(f"a picture without alt text, or not there: {source[:90]}")
    if wider := page.evaluate(TOO_WIDE):
        problems.append(f"{wider} pixels wider than the window")
    if unfolded := page.evaluate(UNFOLDED):
        problems.append(f"{unfolded} answers are not folded")
    problems += judge(page)
    charts = page.query_selector_all(".chart")
    tried = [each for chart in charts if move for each in move_controls(page, chart).items()]
    problems += [f"{name} moves nothing" for name, changed in tried if not changed]
    return Seen(problems, len(charts), sum(changed for _, changed in tried))


def check(browser: Browser, path: Path, view: View) -> Seen:
    """Open one page in one view, and give what was seen."""
    size = {"width": view.width, "height": view.height}
    page = browser.new_page(viewport=size, color_scheme=view.scheme)
    outside = cut_off(page, "file")
    try:
        seen = visit(page, path.as_uri(), view is VIEWS[0])
    except Error as error:
        seen = Seen([f"the browser: {error.message.splitlines()[0]}"], 0, 0)
    page.context.close()
    seen.problems.extend(f"asked for {asked}" for asked in outside)
    return seen


def finds(browser: Browser) -> bool:
    """Search from the folder, without a server; the result must name pages."""
    page = browser.new_page()
    cut_off(page, "file")
    page.goto(f"{(SITE / 'search.html').as_uri()}?q={SOUGHT}")
    try:
        page.wait_for_selector(FOUND, timeout=DRAWN)
    except TimeoutError:
        print(f"search: nothing found for {SOUGHT!r}")
        return False
    finally:
        page.context.close()
    return True


def main() -> int:
    """Check the pages named; 1 where something is wrong."""
    parser = argparse.ArgumentParser(description="Try the site in a browser without a network.")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="within build/site")
    given = parser.parse_args()
    pages = [SITE / name for name in given.pages] or sorted(
        path for path in SITE.rglob("*.html") if path.relative_to(SITE).parts[0] != LIVE
    )
    for path in [*pages, AXE]:
        if not path.is_file():
            parser.error(f"there is no {path}: `python -m experiments check site` makes it")
    start, wrong, charts, moved = time.monotonic(), 0, 0, 0
    with sync_playwright() as playwright, launch(playwright) as browser:
        for path in pages:
            for view in VIEWS:
                seen = check(browser, path, view)
                charts, moved = charts + seen.charts, moved + seen.moved
                wrong += bool(seen.problems)
                for problem in seen.problems:
                    print(f"{path.relative_to(SITE)}, {view.name}: {problem}", flush=True)
        found = finds(browser)
    print(
        f"{len(pages)} pages, {len(VIEWS)} views: {wrong} wrong; {charts} charts drawn, "
        f"{moved} controls moved, {time.monotonic() - start:.0f} s"
    )
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main())

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
from typing import Any

from check_lessons import AXE, judge, launch, opened
from lab_server import ROOT
from lesson_page import holds, move_controls
from playwright.sync_api import Page, sync_playwright

SITE = ROOT / "build" / "site"
LIVE = "live"  # its page reads files, which needs a server: it has a check of its own
SEARCH, FOUND = "search.html?q=warm-up", "() => document.querySelector('#search-results li')"
DRAWN = 30  # seconds a chart or a result may take to appear
ALL_DRAWN = "() => document.querySelectorAll('.chart:not(.drawn)').length === 0"
WITHOUT_ALT = """() => [...document.querySelectorAll('article img')]
  .filter(image => !image.alt.trim() || !image.naturalWidth).map(image => image.src)"""
TOO_WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
UNFOLDED = """() => [...document.querySelectorAll('.tag_hide-output .cell_output')]
  .filter(output => !output.closest('details:not([open])')).length"""
DESK = {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"}
VIEWS: dict[str, dict[str, Any]] = {
    "desk": DESK,
    "dark": DESK | {"color_scheme": "dark"},
    "phone": DESK | {"viewport": {"width": 360, "height": 740}},
}


def visit(page: Page, problems: list[str], address: str, move: bool) -> tuple[int, int]:
    """Open an address, wait until its charts are drawn, and look.

    Args:
        page: The browser's, on which everything else is refused.
        problems: What is wrong is added here, a line each.
        address: Of the page.
        move: Whether to move every control of every chart.

    Returns:
        How many charts the page has, and how many controls that change one.
    """
    page.on(
        "console",
        lambda said: said.type in ("error", "warning") and problems.append(said.text[:200]),
    )
    page.goto(address)
    if not holds(page, ALL_DRAWN, DRAWN):
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
    return len(charts), sum(changed for _, changed in tried)


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
    start, wrong, charts, moved, found = time.monotonic(), 0, 0, 0, False
    with sync_playwright() as playwright, launch(playwright) as browser:
        for number, path in enumerate(pages, start=1):
            wrong_before = wrong
            for name, view in VIEWS.items():
                with opened(browser, "file", **view) as (page, problems):
                    seen = visit(page, problems, path.as_uri(), view is DESK)
                    charts, moved = charts + seen[0], moved + seen[1]
                wrong += bool(problems)
                for problem in problems:
                    print(f"{path.relative_to(SITE)}, {name}: {problem}", flush=True)
            place, seconds = f"{number} of {len(pages)}", time.monotonic() - start
            told = f"{wrong - wrong_before} views wrong, {seconds:.0f} s"
            print(f"{place}, {path.relative_to(SITE)}: {told}", flush=True)
        with opened(browser, "file") as (page, _):
            page.goto(f"{SITE.as_uri()}/{SEARCH}")
            found = holds(page, FOUND, DRAWN)
    print(
        f"{len(pages)} pages, {len(VIEWS)} views: {wrong} wrong; {charts} charts drawn, "
        f"{moved} controls moved, {time.monotonic() - start:.0f} s",
        *[f"search: nothing found by {SEARCH}"] * (not found),
        sep="\n",
    )
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main())

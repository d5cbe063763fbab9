"""Open every page of the built site in a browser without a network, and see whether it works.

    python tests/browser/check_site.py [PAGE ...]

`make site` comes first. Each page (all of them by default; PAGE is a path within build/site) is
opened from the folder as a reader would, on a desk, in the dark and on a phone. It must log no
error, ask for nothing elsewhere, have words for every picture, be no wider than its window, and
satisfy axe-core's rules for WCAG 2.2 AA and its own. On a desk every control of every chart is
moved and must change it. The search must find a page. In the end a table says how many places
axe-core objected to; the exit status says whether anything was wrong.

It needs what `check_lessons.py` needs, and axe-core:
`python -m experiments check site` sees to both.
"""

import argparse
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from check_lessons import cut_off, launch
from playwright.sync_api import Browser, Error, sync_playwright
from site_page import SitePage

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site"
AXE = ROOT / ".venv" / "node" / "node_modules" / "axe-core" / "axe.min.js"
LIVE = "live"  # its page reads files, which needs a server: it has a check of its own
SOUGHT, FOUND = "warm-up", "#search-results li"
IMPACTS = ("critical", "serious", "moderate", "minor")


@dataclass(frozen=True)
class View:
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


def check(browser: Browser, path: Path, view: View) -> SitePage:
    """Open one page in one view, and give what was seen."""
    size = {"width": view.width, "height": view.height}
    page = browser.new_page(viewport=size, color_scheme=view.scheme)
    outside = cut_off(page, "file")
    seen = SitePage(page, AXE)
    try:
        seen.open(path.as_uri())
        seen.look()
        seen.judge()
        if view is VIEWS[0]:
            seen.move()
    except Error as error:
        seen.problems.append(f"the browser: {error.message.splitlines()[0]}")
    page.context.close()
    seen.problems.extend(f"asked for {asked}" for asked in outside)
    return seen


def check_search(browser: Browser) -> list[str]:
    """Search from the folder, without a server; the result must name pages."""
    page = browser.new_page()
    cut_off(page, "file")
    seen = SitePage(page, AXE)
    page.goto(f"{(SITE / 'search.html').as_uri()}?q={SOUGHT}")
    try:
        page.wait_for_selector(FOUND, timeout=20_000)
    except Error:
        seen.problems.append(f"search: nothing found for {SOUGHT!r}")
    page.context.close()
    return seen.problems


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
    table = {view.name: Counter[str]() for view in VIEWS}
    with sync_playwright() as playwright, launch(playwright) as browser:
        for path in pages:
            for view in VIEWS:
                seen = check(browser, path, view)
                table[view.name] += seen.impacts
                charts, moved = charts + seen.charts, moved + seen.moved
                wrong += bool(seen.problems)
                for problem in seen.problems:
                    print(f"{path.relative_to(SITE)}, {view.name}: {problem}", flush=True)
        searched = check_search(browser)
    print(*searched, sep="\n", end="\n" if searched else "")
    print("axe-core  " + "".join(f"{impact:>10}" for impact in IMPACTS))
    for name, impacts in table.items():
        print(f"{name:10}" + "".join(f"{impacts[impact]:>10}" for impact in IMPACTS))
    print(
        f"{len(pages)} pages, {len(VIEWS)} views: {wrong} wrong; {charts} charts drawn, "
        f"{moved} controls moved, {time.monotonic() - start:.0f} s"
    )
    return 1 if wrong or searched else 0


if __name__ == "__main__":
    sys.exit(main())

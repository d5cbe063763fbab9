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
from typing import Any

from check_lessons import cut_off, launch
from lesson_page import MOVE, PIXELS
from playwright.sync_api import Browser, ElementHandle, Error, Page, TimeoutError, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site"
AXE = ROOT / ".venv" / "node" / "node_modules" / "axe-core" / "axe.min.js"
LIVE = "live"  # its page reads files, which needs a server: it has a check of its own
SOUGHT, FOUND = "warm-up", "#search-results li"
IMPACTS = ("critical", "serious", "moderate", "minor")
RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
JUDGE = """rules => axe.run(document, {
  runOnly: {type: 'tag', values: rules}, resultTypes: ['violations'], preload: false})
  .then(found => found.violations.map(({id, impact, nodes}) => (
    {id, impact, where: nodes.map(node => node.target.join(' '))})))"""
UNDRAWN = "() => document.querySelectorAll('.chart:not(.drawn)').length === 0"
WITHOUT_ALT = """() => [...document.querySelectorAll('article img')]
  .filter(image => !image.alt.trim() || !image.naturalWidth).map(image => image.src)"""
TOO_WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
CHANGED = """([chart, before]) => {
  const canvas = chart.querySelector('canvas');
  return (canvas ? canvas.toDataURL() : chart.querySelector('svg.marks').outerHTML) !== before; }"""
DRAWN, CHANGE = 30_000, 20_000  # milliseconds a chart may take, to appear and to change


class SitePage:
    """A page that is open.

    Args:
        page: The browser's, on which everything else is refused.

    Attributes:
        problems: What was found wrong, a line each.
        impacts: How many places axe-core objects to, by how much they matter.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        self.impacts: Counter[str] = Counter()
        self.charts = self.moved = 0
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.problems.append(f"the page: {error}"))

    def open(self, address: str) -> None:
        """Open an address, and wait until its charts are drawn."""
        self.page.goto(address)
        self.charts = self.page.locator(".chart").count()
        try:
            self.page.wait_for_function(UNDRAWN, timeout=DRAWN)
        except TimeoutError:
            self.problems.append("a chart was not drawn")

    def look(self) -> None:
        """Every picture is there and said in words, and nothing is wider than the window."""
        for source in self.page.evaluate(WITHOUT_ALT):
            self.problems.append(f"a picture without alt text, or not there: {source[:90]}")
        if wider := self.page.evaluate(TOO_WIDE):
            self.problems.append(f"{wider} pixels wider than the window")

    def move(self) -> None:
        """Move every control of every chart; each must change its chart."""
        for chart in self.page.query_selector_all(".chart"):
            for control in chart.query_selector_all(".vega-bindings input, .vega-bindings select"):
                if self._moves(chart, control):
                    self.moved += 1

    def judge(self) -> None:
        """Ask axe-core; what is moderate or worse is a problem, what is minor is counted."""
        self.page.add_script_tag(path=AXE)
        found: list[dict[str, Any]] = self.page.evaluate(JUDGE, list(RULES))
        for violation in found:
            self.impacts[violation["impact"]] += len(violation["where"])
            if violation["impact"] != "minor":
                places = ", ".join(violation["where"][:3])[:200]
                self.problems.append(f"axe, {violation['impact']}: {violation['id']}: {places}")

    def _moves(self, chart: ElementHandle, control: ElementHandle) -> bool:
        for back in (False, True):
            before = chart.evaluate(PIXELS)
            if not control.evaluate(MOVE, back):
                continue
            try:
                self.page.wait_for_function(CHANGED, arg=[chart, before], timeout=CHANGE)
            except TimeoutError:
                continue
            return True
        kind = control.get_attribute("type")
        if kind != "radio":  # the one that is chosen has no other place
            self.problems.append(
                f"a control ({kind}, {control.get_attribute('name')}) moves nothing"
            )
        return False

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"console: {message.text[:200]}")


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
    seen = SitePage(page)
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
    seen = SitePage(page)
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

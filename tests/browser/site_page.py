"""One page of the site in a browser: is it drawn, does it move, can everybody read it?"""

from collections import Counter
from pathlib import Path
from typing import Any

from lesson_page import MOVE, PIXELS
from playwright.sync_api import ElementHandle, Page, TimeoutError

RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
AXE = """rules => axe.run(document, {
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
        axe: The file of axe-core.

    Attributes:
        problems: What was found wrong, a line each.
        impacts: How many places axe-core objects to, by how much they matter.
    """

    def __init__(self, page: Page, axe: Path) -> None:
        self.page, self.axe = page, axe
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
        self.page.add_script_tag(path=self.axe)
        found: list[dict[str, Any]] = self.page.evaluate(AXE, list(RULES))
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

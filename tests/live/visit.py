"""A visit to the page that translates, in a browser that reaches this computer alone.

Not a script: check_page.py and film.py use it. It needs Playwright and a browser.
"""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "docs"), str(ROOT / "tests" / "browser")]

from check_lessons import AXE, PLAIN_HTTP_HOST, judge, launch, opened  # noqa: E402  (it says what to do without Playwright)
from folder_server import QuietHandler, served_folder  # noqa: E402
from playwright.sync_api import Browser, BrowserType, Page, Playwright  # noqa: E402
from serve_page import PageHandler, lay_out_page  # noqa: E402

LIVE, MODELS = ROOT / "docs" / "live", ROOT / "data" / "models"
OFFERED = ("demo-en-fr", "demo-fr-en", "de-en")  # of the others none is there, to be missed
SIZE = {"width": 1100, "height": 900}
DESK, PHONE = {"width": 1366, "height": 768}, {"width": 360, "height": 740}
SETTLED = """before => (document.body.dataset.done ?? "0") !== before
  && !document.body.classList.contains("busy")"""
# What a stock Firefox is started with, since Playwright can set no media feature of its pages.
MEDIA_PREFS: dict[tuple[str, str], dict[str, int]] = {
    ("color_scheme", "light"): {"layout.css.prefers-color-scheme.content-override": 1},
    ("color_scheme", "dark"): {"layout.css.prefers-color-scheme.content-override": 0},
    ("reduced_motion", "reduce"): {"ui.prefersReducedMotion": 1},
}
MEDIA_OPTIONS = {name for name, _ in MEDIA_PREFS}
PATIENCE = 60_000  # milliseconds that anything may take, on a computer with other work


class QuietPageHandler(QuietHandler, PageHandler):
    """Serves as `make live` does, and says nothing of it."""


@contextmanager
def served() -> Iterator[str]:
    """Serve the page with some of its models as `make live` does, and yield its address."""
    with TemporaryDirectory() as temporary:
        lay_out_page(Path(temporary), OFFERED)
        with served_folder(Path(temporary), QuietPageHandler) as address:
            yield f"{address}/index.html"


def launch_firefox(playwright: Playwright) -> Browser:
    """Start the Firefox that the variable FIREFOX names, or Playwright's own.

    Playwright 1.65 asks it for `emulation.setMediaFeaturesOverride`, which Firefox 153 does not
    have. Hence 1.64 in constraints.txt.
    """
    return _start_firefox(playwright.firefox, {})


def _start_firefox(kind: BrowserType, prefs: dict[str, int]) -> Browser:
    """Start a Firefox with these preferences."""
    named = os.environ.get("FIREFOX")
    own: dict[str, Any] = {"executable_path": named, "channel": "moz-firefox"} if named else {}
    all_prefs = {"network.dns.localDomains": PLAIN_HTTP_HOST, **prefs}
    return kind.launch(firefox_user_prefs=all_prefs, **own)


class Visit:
    """One visit to the page: what was tried, and what was wrong."""

    def __init__(self, page: Page, problems: list[str]) -> None:
        self.page, self.problems = page, problems
        self.missed_on_purpose = False
        page.set_default_timeout(PATIENCE)
        page.on("console", self._listen)

    def _listen(self, message: Any) -> None:
        if message.type == "error" and not self.missed_on_purpose:
            self.problems.append(f"the console: {message.text}")

    def expect(self, what: str, found: object, wanted: object) -> None:
        """Print what was tried, and keep it where it went wrong."""
        right = found == wanted
        print(f"right: {what}" if right else f"WRONG: {what}: {found!r}", flush=True)
        if not right:
            self.problems.append(f"{what}: {found!r}, not {wanted!r}")

    def text(self, selector: str) -> str:
        """Return the words of an element."""
        return self.page.inner_text(selector).strip()

    def says(self, selector: str, what: str, wanted: str) -> None:
        """Expect an element's words to be these, or to hold them where "..." stands before."""
        found = self.text(selector)
        held = wanted.startswith("...") and wanted[3:] in found
        self.expect(what, found, found if held else wanted)

    def shows(self, selector: str, what: str, wanted: object) -> None:
        """Expect that many elements, or, of True and False, whether one can be seen."""
        visible = isinstance(wanted, bool)
        found = self.page.is_visible(selector) if visible else self.page.locator(selector).count()
        self.expect(what, found, wanted)

    def judge(self, what: str) -> None:
        """Expect axe-core to find nothing that shuts readers out."""
        if AXE.is_file():
            self.expect(f"axe-core finds nothing, {what}", judge(self.page), [])
        else:
            print(f"left out: axe-core, {what}; `python -m experiments check live` gets it")

    def choose(self, model: str) -> None:
        """Choose a model, and wait for its translation."""
        self.settle(lambda: self.page.select_option("#model", model))

    def click(self, selector: str) -> None:
        """Click, and wait for what that brings."""
        self.settle(lambda: self.page.click(selector))

    def settle(self, act: Callable[[], object], opens: bool = False) -> None:
        """Do something, or open a page, and wait until the page has drawn what it brings."""
        drawn = "document.body.dataset.done ?? '0'"
        before = "0" if opens else self.page.evaluate(drawn)
        act()
        self.page.wait_for_function(SETTLED, arg=before)

    def open(self, address: str) -> None:
        """Open an address, in a page that has shown nothing before."""
        self.page.goto("about:blank")
        self.settle(lambda: self.page.goto(address), opens=True)

    def put(self, field: str, number: str) -> None:
        """Put a number in place of another, and wait for what that brings."""
        self.settle(lambda: self.write(field, number))

    def write(self, field: str, number: str) -> None:
        """Type a number in place of another, by keys: Firefox does not select what it fills."""
        self.page.focus(field)
        self.page.keyboard.press("Control+A")
        self.page.keyboard.type(number)

    def type(self, sentence: str) -> None:
        """Type a sentence, and wait for its translation."""
        self.settle(lambda: self.page.fill("#sentence", sentence))


class Check:
    """A browser, the page's address in it, and what was found wrong so far."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.browser, self.address = browser, address
        self.found = list[str]()

    @contextmanager
    def visit(self, **options: Any) -> Iterator[Visit]:
        """Open a page of its own; what goes wrong there is kept."""
        # Playwright's own waiting evaluates strings, which the page's policy forbids.
        options = {"viewport": SIZE, "bypass_csp": True} | options
        with self._browser_for(options) as browser, opened(browser, **options) as (page, problems):
            yield Visit(page, problems)
        self.found += problems

    @property
    def is_stock_firefox(self) -> bool:
        """Whether Playwright drives the computer's own Firefox, where it lacks some calls."""
        return self.browser.browser_type.name == "firefox" and "FIREFOX" in os.environ

    def _browser_for(self, options: dict[str, Any]) -> AbstractContextManager[Browser]:
        """Return the browser for a page of these options: another where they need preferences."""
        prefs = [MEDIA_PREFS[item] for item in options.items() if item[0] in MEDIA_OPTIONS]
        if not prefs or not self.is_stock_firefox:
            return nullcontext(self.browser)
        merged = {name: value for each in prefs for name, value in each.items()}
        return _start_firefox(self.browser.browser_type, merged)


__all__ = ["Check", "Visit", "launch", "launch_firefox", "served", "served_folder"]

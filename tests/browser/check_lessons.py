"""Open the lessons in JupyterLab, in a browser without a network, and see whether they work.

    python tests/browser/check_lessons.py [--dark] [NOTEBOOK ...]

Each lesson (all of them by default) is opened as it is stored, and looked at; then all its cells
are run, and it is looked at again. Looking means: every picture and every chart is drawn, and
every control of every chart, moved, changes the chart; a sentence typed into a line for one
changes the chart below. Only this computer can be reached; whoever
asks for an address elsewhere is refused and reported. It prints a line for each lesson, and
what is wrong below it; the exit status says whether anything was.

It is not part of `make test`. It needs Playwright, `pip install -e '.[course,browser]'`, and
Chromium: one on the PATH (or named by the variable CHROMIUM), or `playwright install chromium`.
"""

import argparse
import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from lab_server import ROOT, lab

try:
    from lesson_page import LessonPage
    from playwright.sync_api import Browser, Error, Page, Playwright, Route, sync_playwright
except ModuleNotFoundError as error:
    sys.exit(f"The browser check needs Playwright: pip install -e '.[browser]' ({error})")

AXE = ROOT / ".venv" / "node" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
JUDGE = """([runOnly, rules, part]) =>
  axe.run(part || document, {runOnly, rules, resultTypes: ['violations'], preload: false})
  .then(found => found.violations.map(({id, impact, nodes}) => `axe, ${impact}: ${id}: `
    + nodes.slice(0, 3).map(node => node.target.join(' ')).join(', ').slice(0, 200)))"""
PLAIN_HTTP_HOST = "classroom.test"  # this computer by a name that browsers do not trust as such
HERE = ("127.0.0.1", "localhost", PLAIN_HTTP_HOST)
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
CUT_OFF = (
    f"--host-resolver-rules=MAP {PLAIN_HTTP_HOST} 127.0.0.1, MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
)


def launch(playwright: Playwright) -> Browser:
    """Start Chromium, the system's own or Playwright's."""
    named = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM)), None)
    path = named or playwright.chromium.executable_path
    if not Path(path).is_file():
        sys.exit("The browser check needs Chromium: install it, or `playwright install chromium`")
    return playwright.chromium.launch(executable_path=path, args=[*CUT_OFF])


@contextmanager
def opened(browser: Browser, *schemes: str, **options: Any) -> Iterator[tuple[Page, list[str]]]:
    """Return a page that reaches this computer only, and the list of what goes wrong there.

    Args:
        browser: Where it is opened; it is closed in the end.
        schemes: That it may use besides, such as "file".
        options: Of the page.
    """
    page, problems = browser.new_page(**options), list[str]()

    def is_here(address: str) -> bool:
        asked = urlsplit(address)
        here = asked.scheme in ("data", "blob", *schemes) or asked.hostname in HERE
        if not here:
            problems.append(f"asked for {address}")
        return here

    def guard(route: Route) -> None:
        route.continue_() if is_here(route.request.url) else route.abort()

    page.context.route("**/*", guard)
    page.on("websocket", lambda socket: is_here(socket.url))
    page.on("pageerror", lambda error: problems.append(f"the page: {error}"))
    try:
        yield page, problems
    except Error as error:
        problems.append(f"the browser: {error.message.splitlines()[0]}")
    page.context.close()


def judge(
    page: Page, rules: Sequence[str] = RULES, without: Sequence[str] = (), part: str = ""
) -> list[str]:
    """Return a line for each rule of axe-core, of what shuts readers out, that a page breaks.

    Args:
        page: The browser's.
        rules: Names of rules, or of sets of them.
        without: Names of rules that are left out.
        part: A selector of what is judged; all of the page where it is empty.
    """
    # Not as a script's element, which the live page's own policy forbids in Firefox.
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(f"() => {{ {AXE.read_text(encoding='utf-8')} }}")
    left_out = {rule: {"enabled": False} for rule in without}
    found: list[str] = page.evaluate(JUDGE, [list(rules), left_out, part])
    return found


def check(browser: Browser, address: str, name: str) -> list[str]:
    """Check one lesson, print its line, and return what is wrong with it."""
    start = time.monotonic()
    with opened(browser, viewport={"width": 1200, "height": 1000}) as (page, problems):
        lesson = LessonPage(page, problems)
        lesson.open(address.format(name))
        lesson.look("stored")
        lesson.run()
        lesson.look("run")
        lesson.type()
        lesson.stop()
    verdict = "wrong" if problems else "right"
    print(
        f"{name}: {verdict}; {lesson.pictures} pictures and {lesson.charts} charts drawn, "
        f"{lesson.moved} controls moved, {time.monotonic() - start:.0f} s",
        *(f"  {problem}" for problem in problems),
        sep="\n",
        flush=True,
    )
    return problems


def main() -> int:
    """Check the lessons named; 1 where something is wrong."""
    parser = argparse.ArgumentParser(description="Try the lessons in a browser without a network.")
    parser.add_argument("notebooks", nargs="*", type=Path, metavar="NOTEBOOK")
    parser.add_argument("--dark", action="store_true", help="in JupyterLab's dark theme")
    given = parser.parse_args()
    notebooks = given.notebooks or sorted((ROOT / "notebooks").glob("*.ipynb"))
    for path in notebooks:
        if not path.is_file():
            parser.error(f"there is no {path}")
    lessons = lab(notebooks, given.dark)
    with sync_playwright() as playwright, launch(playwright) as browser, lessons as address:
        found = [check(browser, address, path.name) for path in notebooks]
    return 1 if any(found) else 0


if __name__ == "__main__":
    sys.exit(main())

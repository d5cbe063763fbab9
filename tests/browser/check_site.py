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
from typing import Literal, NamedTuple

from check_lessons import AXE, judge, launch, opened
from lab_server import ROOT
from lesson_page import holds, move_controls
from playwright.sync_api import Page, ViewportSize, sync_playwright

SITE = ROOT / "build" / "site"
LIVE = "live"  # its page reads files, which needs a server: it has a check of its own
SEARCH, FOUND = "search.html?q=warm-up", "() => document.querySelector('#search-results li')"
DRAWN = 30  # seconds a chart or a result may take to appear
CHANGE = 3  # seconds a chart may take to follow a control, which takes Vega a few milliseconds
ALL_DRAWN = "() => document.querySelectorAll('.chart:not(.drawn)').length === 0"
WITHOUT_ALT = """() => [...document.querySelectorAll('article img')]
  .filter(image => !image.alt.trim() || !image.naturalWidth).map(image => image.src)"""
TOO_WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
UNFOLDED = """() => [...document.querySelectorAll('.tag_hide-output .cell_output')]
  .filter(output => !output.closest('details:not([open])')).length"""
AT_REST = "() => document.getAnimations().every(each => each.playState !== 'running')"
# In the dark a page differs by its colours alone, and on a phone by its layout and its head. The
# contrast of every word takes longer to judge than everything else together.
COLOUR_RULES = ("color-contrast", "link-in-text-block")
PHONE_HEAD = ".mobile-header"
# The size of the window, and the colours that the system asks for.
VIEWS: dict[str, tuple[ViewportSize, Literal["light", "dark"]]] = {
    "desk": ({"width": 1280, "height": 900}, "light"),
    "dark": ({"width": 1280, "height": 900}, "dark"),
    "phone": ({"width": 360, "height": 740}, "light"),
}


class Seen(NamedTuple):
    """What was seen of a page in all views.

    Attributes:
        wrong: What is wrong, a line each, which begins with the view's name.
        charts, moved: How many charts were drawn, and how many controls changed one.
    """

    wrong: list[str]
    charts: int
    moved: int


def visit(page: Page, problems: list[str], address: str) -> Seen:
    """Open an address, and look at it in every view; on a desk, move every control.

    Args:
        page: The browser's.
        problems: What goes wrong there is added to it; it is empty before and after.
        address: Where the page goes.
    """
    wrong, charts, moved = list[str](), 0, 0
    for name, (size, colours) in VIEWS.items():
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=colours)
        # Loading takes longer than looking. What a script draws may depend on the view in which the
        # page was loaded; everything else follows from the style sheets.
        if name == "desk" or charts:
            page.goto(address)
        look(page, problems)
        problems += judge_view(page, name)
        drawn = page.query_selector_all(".chart")
        charts += len(drawn)
        for chart in drawn if name == "desk" else []:
            for control, changed in move_controls(page, chart, CHANGE).items():
                moved += changed
                problems += [f"{control} moves nothing"] * (not changed)
        wrong += [f"{name}: {problem}" for problem in problems]
        problems.clear()
    return Seen(wrong, charts, moved)


def look(page: Page, problems: list[str]) -> None:
    """Wait until a page is drawn, and add what is wrong with it, a line each."""
    if not holds(page, ALL_DRAWN, DRAWN):
        problems.append("a chart was not drawn")
    if not holds(page, AT_REST, DRAWN):
        problems.append("it never comes to rest")
    for source in page.evaluate(WITHOUT_ALT):
        problems.append(f"a picture without alt text, or not there: {source[:90]}")
    if wider := page.evaluate(TOO_WIDE):
        problems.append(f"{wider} pixels wider than the window")
    if unfolded := page.evaluate(UNFOLDED):
        problems.append(f"{unfolded} answers are not folded")


def judge_view(page: Page, name: str) -> list[str]:
    """Return what axe-core finds in a view: everything on a desk, elsewhere what differs there."""
    if name == "desk":
        return judge(page)
    if name == "dark":
        return judge(page, rules=COLOUR_RULES)
    found = judge(page, without=COLOUR_RULES)
    if page.query_selector(PHONE_HEAD):  # the page for wrong addresses has none
        found += judge(page, rules=COLOUR_RULES, part=PHONE_HEAD)
    return found


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
    # One page of the browser for all of the site's: a new one would compile every script again.
    with (
        sync_playwright() as playwright,
        launch(playwright) as browser,
        opened(browser, "file") as (page, problems),
    ):
        page.on(
            "console",
            lambda said: said.type in ("error", "warning") and problems.append(said.text[:200]),
        )
        for number, path in enumerate(pages, start=1):
            seen = visit(page, problems, path.as_uri())
            wrong, charts, moved = wrong + len(seen.wrong), charts + seen.charts, moved + seen.moved
            for problem in seen.wrong:
                print(f"{path.relative_to(SITE)}, {problem}", flush=True)
            place, seconds = f"{number} of {len(pages)}", time.monotonic() - start
            told = f"{len(seen.wrong)} wrong, {seconds:.0f} s"
            print(f"{place}, {path.relative_to(SITE)}: {told}", flush=True)
        page.goto(f"{SITE.as_uri()}/{SEARCH}")
        found = holds(page, FOUND, DRAWN)
    wrong += len(problems)  # the browser's own, which end the check
    print(*(f"the browser: {problem}\n" for problem in problems), sep="", end="")
    print(
        f"{len(pages)} pages, {len(VIEWS)} views: {wrong} wrong; {charts} charts drawn, "
        f"{moved} controls moved, {time.monotonic() - start:.0f} s",
        *[f"search: nothing found by {SEARCH}"] * (not found),
        sep="\n",
    )
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main())

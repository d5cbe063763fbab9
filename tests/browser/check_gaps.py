"""Fill in, in a browser without a network, every gap that the site's pages judge.

    python tests/browser/check_gaps.py [PAGE ...]

`make site` comes first; its pages are served from this computer. In each gap (of all lessons by
default; PAGE is a path within build/site) the dots are "not attempted", the solution that the page
gives passes, and every mistake that the course names is wrong and gets its own hint. In one gap,
besides: a cell that cannot run
gets one line with a folded traceback, and so does one that ends Python itself; a loop without an
end is stopped; Reset can be undone; all of it by keyboard, and what was typed is there when the
page is opened again. A page without its server says what to do, and so does a browser without
modules in workers. axe-core finds nothing in a cell that has judged. The exit status says whether
anything was wrong.

It needs what `check_lessons.py` needs, and axe-core: `python -m experiments check gaps`.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Mapping

from check_lessons import judge, launch, opened
from folder_server import served_folder
from lab_server import ROOT
from playwright.sync_api import Locator, Page, sync_playwright

sys.path[:0] = [str(ROOT / "docs" / "site"), str(ROOT)]

from course_site.gaps import judged_exercises  # noqa: E402

from lessonkit.exercises.edit_source import apply_edits  # noqa: E402
from lessonkit.exercises.exercise import Exercise  # noqa: E402

SITE = ROOT / "build" / "site"
GAP = "section.gap-cell"
LOADED = 240_000  # milliseconds in which Python starts, on a machine that is busy
JUDGED = f"""name => !['busy', undefined].includes(
  document.getElementById(`gap-${{name}}`).closest('{GAP}').dataset.status)"""
RATE_PAGE, RATE = "notebooks/06_training.html", "warmup_rate"
DEFINITION = "def my_warmup_rate(step, d_model, warmup_steps):\n    "
MISTAKE = DEFINITION + "return d_model**-0.5 * step * warmup_steps**-1.5"
ENDLESS = DEFINITION + "while True:\n        pass"
PLAIN_WORKERS = """(() => { const { Worker } = window;
  window.Worker = class extends Worker { constructor(address) { super(address); } }; })()"""


def gap_of(page: Page, name: str) -> Locator:
    """Return the cell of a gap."""
    return page.locator(GAP).filter(has=page.locator(f"#gap-{name}"))


def verdict(page: Page, name: str) -> tuple[str, str]:
    """Check what stands in a gap; return the status and what is said."""
    gap = gap_of(page, name)
    gap.get_by_role("button", name="Check").press("Enter")
    page.wait_for_function(JUDGED, arg=name, timeout=LOADED)
    said = gap.locator(".gap-said")
    return gap.get_attribute("data-status") or "", said.text_content() or ""


def try_every_gap(page: Page, exercises: Mapping[str, Exercise]) -> Iterator[str]:
    """Judge the dots, the solution and the mistakes of each gap of a page; yield what is wrong."""
    for name in page.locator(f"{GAP} textarea").evaluate_all("all => all.map(each => each.id)"):
        name = name.removeprefix("gap-")
        gap = gap_of(page, name)
        if (status := verdict(page, name)[0]) != "not attempted":
            yield f"{name}: the dots are {status!r}"
        hint = gap.locator(".gap-buttons button").nth(2)
        while hint.text_content() != "Solution":
            hint.press("Enter")
        hint.press("Enter")
        gap.locator("textarea").fill(gap.locator(".gap-said").text_content() or "")
        if "passed" not in (said := verdict(page, name)):
            yield f"{name}: its solution: {said}"
        yield from try_every_mistake(page, exercises[name])


def try_every_mistake(page: Page, exercise: Exercise) -> Iterator[str]:
    """Make each mistake that an exercise names; yield those that do not get their hint."""
    for mistake, edits in exercise.mistake_edits.items():
        answer = apply_edits(exercise.name, exercise.solution_source(), edits)
        gap_of(page, exercise.name).locator("textarea").fill(answer)
        status, said = verdict(page, exercise.name)
        hint = " ".join(exercise.hint_of_mistake[mistake].split())
        if status != "wrong" or hint not in " ".join(said.split()):
            yield f"{exercise.name}, {mistake}: {status!r}, {said!r}"


def try_one_thoroughly(page: Page, address: str) -> Iterator[str]:
    """Yield what is wrong where learners type into the learning rate's gap."""
    page.goto(address)
    gap = gap_of(page, RATE)
    editor = gap.locator("textarea")
    editor.fill(MISTAKE)
    status, said = verdict(page, RATE)
    if status != "wrong" or "keeps rising" not in said:
        yield f"a mistake: {status!r}, {said!r}"
    yield from judge(page)
    editor.fill("1 +")
    status, said = verdict(page, RATE)
    folded = gap.locator("details:not([open])").is_visible()
    if status != "error" or said.count("\n") or not folded:
        yield f"a cell that cannot run: {status!r}, {said!r}"
    editor.fill("raise KeyboardInterrupt")
    status, said = verdict(page, RATE)
    if status != "error" or "broke off" not in said:
        yield f"a cell that ends Python: {status!r}, {said!r}"
    editor.fill(ENDLESS)
    page.reload()
    if editor.input_value() != ENDLESS:
        yield "what was typed is lost when the page is opened again"
    editor.focus()
    page.keyboard.press("Tab")  # it leaves the cell
    page.keyboard.press("Enter")
    gap.get_by_role("button", name="Stop").press("Enter", timeout=LOADED)
    if (status := gap.get_attribute("data-status")) != "stopped":
        yield f"a loop that is stopped: {status!r}"
    gap.get_by_role("button", name="Reset").press("Enter")
    if (status := verdict(page, RATE)[0]) != "not attempted":
        yield f"after the stop the dots are {status!r}"
    gap.get_by_role("button", name="Undo reset").press("Enter")
    if editor.input_value() != ENDLESS:
        yield f"Undo reset does not put the answer back: {editor.input_value()!r}"


def try_without_server(page: Page, address: str) -> Iterator[str]:
    """Check a gap where Python cannot be fetched; yield what is wrong."""
    page.goto(address)
    page.context.route("**/gaps/**", lambda route: route.abort())
    status, said = verdict(page, RATE)
    if status != "error" or "could not be loaded" not in said:
        yield f"without a server: {status!r}, {said!r}"


def try_without_module_workers(page: Page, address: str) -> Iterator[str]:
    """Check a gap where every worker is a plain script, as in old browsers; yield what is wrong."""
    page.add_init_script(PLAIN_WORKERS)
    page.goto(address)
    status, said = verdict(page, RATE)
    if status != "error" or "modules in workers" not in said:
        yield f"without modules in workers: {status!r}, {said!r}"


def main() -> int:
    """Check the pages named; 1 where something is wrong."""
    parser = argparse.ArgumentParser(description="Fill in the gaps that the site judges.")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="within build/site")
    names = parser.parse_args().pages or [
        path.relative_to(SITE).as_posix()
        for path in sorted((SITE / "notebooks").glob("*.html"))
        if 'class="gap"' in path.read_text(encoding="utf-8")
    ]
    if missing := [name for name in [*names, RATE_PAGE] if not (SITE / name).is_file()]:
        parser.error(f"there is no {missing[0]} in {SITE}: `make site` makes it")
    exercises = {name: it for each in judged_exercises().values() for name, it in each.items()}
    start, wrong, tried = time.monotonic(), list[str](), 0
    with (
        sync_playwright() as playwright,
        launch(playwright) as browser,
        served_folder(SITE) as site,
    ):
        for name in names:
            found: list[str] = []
            with opened(browser) as (page, problems):
                page.goto(f"{site}/{name}")
                tried += page.locator(GAP).count()
                found.extend(try_every_gap(page, exercises))
            found += problems
            wrong += [f"{name}: {each}" for each in found]
            print(f"{name}: {len(found)} wrong, {time.monotonic() - start:.0f} s", flush=True)
        address = f"{site}/{RATE_PAGE}"
        for try_it in (try_one_thoroughly, try_without_server, try_without_module_workers):
            with opened(browser) as (page, problems):
                wrong.extend(try_it(page, address))
            wrong += problems
    print(*wrong, sep="\n")
    print(f"{tried} gaps of {len(names)} pages judged, {len(wrong)} wrong")
    return 1 if wrong or not tried else 0


if __name__ == "__main__":
    sys.exit(main())

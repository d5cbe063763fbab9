"""Open the page that translates in Chromium, without a network, and use it as a visitor does.

    python tests/live/check_page.py [--shots FOLDER]

A copy of the page is served from this computer, the only one that can be reached. A sentence is
typed and its translation read; boxes, heads, cuts and steps are tried by mouse and by keyboard; the
tour is taken from stop to stop; what is wrong is to be told in one line. axe-core looks for what
shuts readers out, in light, in dark and on a phone, where npm has put it: `python -m experiments
check live`. It prints a line for each thing tried; the exit status says whether anything was wrong.

It is not part of `make test`. It needs Playwright and Chromium.
"""

import argparse
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "browser")]

from check_lessons import AXE, PLAIN_HTTP_HOST, judge, launch, opened  # noqa: E402  (it says what to do without Playwright)
from playwright.sync_api import Page, Route, sync_playwright  # noqa: E402

from engines.live_page import write_live_page  # noqa: E402
from transformer.models.folder import write_manifest  # noqa: E402
from transformer.support.files import read_json, write_json  # noqa: E402

LIVE, MODELS = ROOT / "docs" / "live", ROOT / "data" / "models"
OFFERED = ("demo-en-fr", "demo-fr-en", "de-en")  # of the others none is there, to be missed
SIZE = {"width": 1100, "height": 900}
FRAME = {"width": 640, "height": 480}  # as docs/publishing.md embeds a box
SETTLED = """before => (document.body.dataset.done ?? "0") !== before
  && !document.body.classList.contains("busy")"""
EDGES = "element => (({ left, top, right, bottom }) => [left, top, right, bottom])"
EDGES += "(element.getBoundingClientRect())"
MODEL_FILES = ("recipe.json", "src_tokenizer.json", "tgt_tokenizer.json", "model.safetensors")
DROP = """files => {
  const dataTransfer = new DataTransfer();
  for (const [name, bytes] of Object.entries(files)) {
    dataTransfer.items.add(new File([Uint8Array.from(bytes)], name));
  }
  const drop = { dataTransfer, bubbles: true, cancelable: true };
  document.body.dispatchEvent(new DragEvent("drop", drop));
}"""
TYPED = {  # what is told of a text that is typed
    "the small cat is sleeping.": "begins in lower case",
    "THE SMALL CAT IS SLEEPING.": "all in capitals",
    "The small cat is sleeping": "no full stop",
    "The cat is sleeping. The dog is eating.": "2 sentences",
    "The cat \U0001f600 is sleeping.": "a picture",
    "Attention is all you need.": "The paper's title!",
}
PATIENCE = 60_000  # milliseconds that anything may take, on a computer with other work


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing of it: the terminal is the check's."""

    def log_message(self, format: str, *arguments: object) -> None:
        pass


class QuietServer(ThreadingHTTPServer):
    """Serves on when a browser goes away before it has all that it asked for."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def served_folder(folder: Path) -> Iterator[str]:
    """Serve a folder, and yield the address of its page."""
    server = QuietServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/index.html"
    finally:
        server.shutdown()


@contextmanager
def served() -> Iterator[str]:
    """Serve the page with some of its models, and yield its address."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for path in LIVE.iterdir():
            (folder / path.name).symlink_to(path)
        (folder / "models").mkdir()
        for name in OFFERED:
            (folder / "models" / name).symlink_to(MODELS / name)
        with served_folder(folder) as address:
            yield address


def model_of_languages(folder: Path, src_lang: str, tgt_lang: str) -> Path:
    """Write a model folder that says it translates between these languages; return it."""
    folder.mkdir()
    for file in (MODELS / "demo-fr-en").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    recipe = read_json(folder / "recipe.json")
    recipe["data"] |= {"src_lang": src_lang, "tgt_lang": tgt_lang}
    write_json(folder / "recipe.json", recipe)
    write_manifest(folder)
    return folder


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
        print(f"{'right' if right else 'WRONG'}: {what}", flush=True)
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

    def type(self, sentence: str) -> None:
        """Type a sentence, and wait for its translation."""
        self.settle(lambda: self.page.fill("#sentence", sentence))


def translates(visit: Visit, address: str) -> None:
    """Type, and read; by Enter no line is broken into the sentence's tokens."""
    page = visit.page
    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url))
    visit.settle(lambda: page.goto(address))
    visit.says("#translation", "it translates as it opens", "Le petit chat dort dans le jardin.")
    page.wait_for_load_state("networkidle")
    models = {url.split("/models/")[1].split("/")[0] for url in asked if "/models/" in url}
    visit.expect("it fetches the chosen model alone", models, {"demo-en-fr"})
    page.fill("#sentence", "")
    page.type("#sentence", "The black cat is not sleeping in the garden.")
    visit.settle(lambda: page.press("#sentence", "Enter"))
    visit.says("#translation", "as typed", "Le chat noir ne dort pas dans le jardin.")
    print(f"       {visit.text('#status')}")
    visit.type("   ")
    visit.says("#status", "nothing typed", "Type a sentence.")
    visit.shows("#architecture", "nothing to show then", False)
    visit.type("cat " * 300)
    line = '..." has 300 tokens, and this model takes 255: split the sentence'
    visit.says("#error", "too long: one line says so", line)
    visit.type("The clever saleswoman is reading an interesting novel.")
    visit.shows("#error", "and the line goes away", False)


def unseen(visit: Visit) -> None:
    """Words that the model has never read are marked, and a sentence that it has is offered."""
    page = visit.page
    visit.type("Wolfgang is reading a novel.")
    page.wait_for_selector("#remarks mark")
    visit.says("#remarks mark", "an unseen word is marked", "Wolfgang")
    visit.click("#remarks button")
    page.wait_for_selector("#remarks", state="hidden")
    for typed, told in TYPED.items():
        visit.type(typed)
        page.wait_for_selector("#remarks:not([hidden])")
        page.wait_for_function(
            "told => document.querySelector('#remarks').innerText.includes(told)", arg=told
        )
        print(f"right: {typed} is answered: {visit.text('#remarks')}", flush=True)


def explores(visit: Visit) -> None:
    """Choose a head, walk over its map with the keys, follow tokens, take things away, step."""
    page = visit.page
    visit.type("The clever saleswoman is reading an interesting novel.")
    page.click("[data-box=cross]")
    page.focus("#head-picker input[value='1.1']")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    visit.expect("the arrow keys choose a head", page.input_value("#head-picker :checked"), "1.3")
    page.focus("#map td[tabindex='0']")
    for key in ("ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    visit.says("#readout", "and a square", "vendeuse attends to saleswoman: 1.00")
    page.hover("#src-tokens [data-at='2']")
    visit.shows(".lit", "a token lights up in tokens, map, scores and cuts", 4)
    page.click("[data-box=decoder]")
    visit.says("#map thead th:nth-child(2)", "the decoder's map begins with bos", "<bos>")
    page.click("#tgt-tokens [data-at='0']")
    masked = page.locator("#numbers td", has_text="masked").count()
    tokens = page.locator("#tgt-tokens button").count()
    visit.expect("and what is to come is masked", masked, tokens - 2)
    page.check("#mode-picker input[value='before']", force=True)
    visit.click("#places button:nth-child(3)")
    cut = "Le roman intelligent lit un roman intéressant."
    visit.says("#cut", "a hidden noun loses its gender", cut)
    marked = page.locator("#cut mark").all_inner_texts()
    visit.expect("with the changed words marked", marked, ["Le", "roman", "intelligent"])
    visit.says("#chances tbody tr:first-child td:last-child", "as lesson 00 has it", "0.15")
    visit.click("#remove-head")
    visit.says("#removed", "a head removed", "decoder 1.3 ×")
    visit.click("#put-back")
    visit.says("#cut", "all put back", "Nothing is taken away yet.")


def searches(visit: Visit) -> None:
    """Step through the search, play it, draw."""
    page = visit.page
    page.keyboard.press("Escape")
    page.click("[data-box=output]")
    page.focus("#step")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    visit.expect("the search steps on", visit.text("#step-said").split(" ")[0], "2")
    visit.shows("#candidates tbody tr", "8 candidates a step", 8)
    page.click("#play")
    page.wait_for_function("document.querySelector('#step-said').textContent.startsWith('3 ')")
    page.click("#play")
    page.click("#options summary")
    visit.settle(lambda: page.fill("#beam_size", "1"))
    visit.shows("#candidates tbody tr", "2 for greedy search", 2)
    visit.settle(lambda: page.check("#search-picker input[value='draw']", force=True))
    visit.settle(lambda: page.fill("#temperature", "3"))
    visit.settle(lambda: page.fill("#top_p", "1"))
    drawn = {visit.text("#translation")}
    for _ in range(3):
        visit.click("#draw-again")
        drawn.add(visit.text("#translation"))
    visit.expect("hot draws differ", len(drawn) > 1, True)
    visit.says("#search-does", "and the box tells of draws", "...drawn by chance")
    visit.settle(lambda: page.check("#search-picker input[value='beam']", force=True))
    visit.settle(lambda: page.fill("#beam_size", "4"))
    page.keyboard.press("Escape")
    visit.shows("#beam_size", "Escape closes the options", False)


def boxes_and_tour(visit: Visit) -> None:
    """Open every box; go to every stop by the keyboard; each has something to see, no error."""
    page = visit.page
    for index in range(page.locator("[data-box]").count()):
        box = page.locator("[data-box]").nth(index)
        box.click()
        visit.expect(f"{box.get_attribute('data-box')}", page.is_visible("#numbers *"), True)
        page.keyboard.press("Escape")
    visit.shows("#panel", "Escape closes a box", False)
    page.focus("#stops button")
    visit.settle(lambda: page.keyboard.press("Enter"))
    for number in range(1, 9):
        page.wait_for_function("document.activeElement.id === 'stop-title'")
        at_stop(visit, number)
        if number < 8:
            page.focus("#stop-on")
            visit.settle(lambda: page.keyboard.press("Enter"))
    for _ in ("the box", "the tour"):
        page.keyboard.press("Escape")
    visit.shows("#stop", "the tour can be left", False)
    visit.expect("a link then names no stop", "stop=" in page.url, False)


def at_stop(visit: Visit, number: int) -> None:
    """Look at a stop of the tour, and let it show its task."""
    page = visit.page
    title = visit.text("#stop-title")
    visit.expect(title, title.startswith(f"{number} of 8."), True)
    visit.shows("#error", "  no error", False)
    (left, top, *_), card = (page.eval_on_selector(place, EDGES) for place in (".toured", "#stop"))
    wide, high = page.evaluate("[document.documentElement.clientWidth, innerHeight]")
    visit.expect("  its target is in the window", -1 <= left < wide and -1 <= top < high, True)
    inside = card[0] >= 0 and card[1] >= 0 and card[2] <= wide and card[3] <= high
    visit.expect("  and its card is inside", inside, True)
    visit.shows("#stop.done", "  its task is still to be done", 0)
    page.click("#stop-show")
    page.wait_for_selector("#stop.done")
    print("right:   which is shown, and found to be done", flush=True)


def waits(visit: Visit) -> None:
    """A long search tells how far it is, marks what stands there as old, and can be stopped."""
    page = visit.page
    visit.type("The cat is black.")
    page.fill("#sentence", "The cat is black and " * 45)
    told = "document.querySelector('.slow #progress-said')?.innerText.includes('token')"
    page.wait_for_function(told)
    visit.shows("#old", "a long search: the translation is told to be old", True)
    visit.click("#stop-search")
    visit.says("#status", "it can be stopped", "...Stopped")
    visit.shows("#progress", "and says no more", False)
    visit.shows("#old", "what stands there is still told to be old", True)
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    visit.expect("nothing sticks out", wide <= 0, True)
    visit.type("The dog is black.")
    visit.says("#translation", "and the next sentence is translated", "Le chien est noir.")


def links(visit: Visit, address: str) -> None:
    """What the address says is shown again, and a page within a page has no furniture."""
    page = visit.page
    visit.settle(lambda: page.locator("#stops button").nth(4).click())
    places = ("#stop-title", "#translation", "#box-title", "#cut")
    said, copied = [visit.text(place) for place in places], page.url

    def opened(address: str) -> None:
        page.goto("about:blank")
        visit.settle(lambda: page.goto(address), opens=True)

    opened(copied)
    visit.expect("a link restores the stop", [visit.text(place) for place in places], said)
    visit.expect("and its cut", page.locator("#places .after").count(), 1)
    visit.settle(lambda: page.locator("#places button").nth(1).click())
    visit.click("#remove-head")
    cut = [*places[1:], "#removed"]
    said, copied = [visit.text(place) for place in cut], page.url
    opened(copied)
    page.wait_for_selector("#removed button")
    visit.expect("a link keeps the cuts", [visit.text(place) for place in cut], said)
    opened(f"{address}?embed#s=The+cat.&box=output")
    visit.shows("h1", "embedded, without its head", False)
    visit.says("#box-title", "and with the box that was asked for", "Linear & softmax")
    visit.shows("#ignored", "with nothing to be told", False)
    page.set_viewport_size(FRAME)
    opened(f"{address}?embed=box#s=The+cat.&box=cross&after=1&shown=cut")
    fits = page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    visit.expect("or one box alone, at the height of its frame", fits, True)
    page.keyboard.press("Escape")
    visit.shows("#panel", "which Escape does not close", True)
    page.set_viewport_size(SIZE)
    opened(f"{address}#beam_size=1.999&head=cross.9.9&colour=red&alpha=1.5")
    for name in ("beam_size=1.999", "head=cross.9.9", "colour=red"):
        visit.says("#ignored", f"a link's {name} is told", f"...{name}")
    visit.says("#options-said", "and not used, what is right is", "beam of 4, α 1.5")
    if AXE.is_file():
        visit.expect("axe-core finds nothing in that line", judge(page), [])
    visit.type("The cat.")
    visit.shows("#ignored", "the line goes away", False)
    page.evaluate("location.hash = 's=The+cat+is+black.&box=output'")
    page.wait_for_function("document.querySelector('#box-title')?.innerText.startsWith('Linear')")
    visit.says("#translation", "a link put into the open page's address", "Le chat est noir.")
    opened(address)


def options(visit: Visit) -> None:
    """A number that an option cannot be is told where it is typed, and not used."""
    page = visit.page
    page.click("#options summary")
    for name, wrong, right in (("beam_size", "1.5", "3"), ("alpha", "4", "0.65")):
        page.fill(f"#{name}", wrong)
        visit.says("#option-wrong", f"{name} {wrong} is told", "...: give a")
        visit.settle(partial(page.fill, f"#{name}", right))
        visit.says("#option-wrong", f"{name} {right} is taken", "")
        visit.says("#options-said", "and said", f"...{right}")


def over_plain_http(visit: Visit, address: str) -> None:
    """Where a browser has no check sums of its own, as in a class's network, files are checked."""
    page = visit.page
    plain = address.replace("127.0.0.1", PLAIN_HTTP_HOST)
    visit.settle(lambda: page.goto(plain))
    lacks = page.evaluate("crypto.subtle === undefined")
    visit.expect("over plain http a browser has no check sums", lacks, True)
    visit.says("#translation", "it translates", "Le petit chat dort dans le jardin.")
    page.click("#copy")
    page.wait_for_selector("#copied:not(:empty)")
    visit.says("#copied", "a link is copied all the same", "Copied.")
    damages(visit)


def opens_folders(visit: Visit, address: str, folder: Path) -> None:
    """A model folder that is chosen or dropped translates; a damaged or foreign one is told."""
    page = visit.page
    visit.settle(lambda: page.goto(address))
    page.get_by_text("Open a model of your own").click()

    def choose(folder: Path) -> None:
        page.set_input_files("#folder", folder)

    mine = model_of_languages(folder / "mine", "ar", "ja")
    visit.settle(lambda: choose(mine))
    visit.says("#model :checked", "a chosen folder is a model", "Arabic to Japanese (mine (yours))")
    visit.expect("it asks for a sentence", page.evaluate("document.activeElement.id"), "sentence")
    visit.type("Le chat dort.")
    visit.says("#translation", "and translates", "The cat is sleeping.")
    marks = [
        (page.get_attribute(place, "lang"), page.get_attribute(place, "dir"))
        for place in ("#sentence", "#src-tokens", "#translation", "#tgt-tokens")
    ]
    visit.expect("marked as their languages", marks, [("ar", "rtl")] * 2 + [("ja", "ltr")] * 2)
    (mine / "model.safetensors").write_bytes(b"x")
    choose(mine)
    page.wait_for_selector("#error:not([hidden])")
    visit.says("#error", "a damaged one is told", "...mine/model.safetensors is damaged")
    visit.says("#translation", "what was there stays", "The cat is sleeping.")
    (mine / "model.safetensors").unlink()
    choose(mine)
    page.wait_for_function("document.querySelector('#error').innerText.includes('missing')")
    visit.says("#error", "and one without weights", "...mine/model.safetensors is missing: choose")
    files = {
        file: list((MODELS / "demo-fr-en" / file).read_bytes())
        for file in ("manifest.json", *MODEL_FILES)
    }
    visit.settle(lambda: page.evaluate(DROP, files))
    visit.type("Le chat dort.")
    visit.says(
        "#model :checked", "dropped files are a model", "French to English (a model (yours))"
    )
    visit.says("#translation", "that translates", "The cat is sleeping.")
    visit.shows("#error", "and the line goes away", False)


def shows_own_model(visit: Visit, folder: Path) -> None:
    """The page that `page` writes has its model alone, without what is the course's."""
    page = visit.page
    mine = model_of_languages(folder / "mine & co", "qaa", "he")
    written = write_live_page(mine, folder / "page", ["Le chat dort."])
    with served_folder(written) as address:
        visit.settle(lambda: page.goto(address), opens=True)
        visit.says("#translation", "a page of one's own", "The cat is sleeping.")
        visit.says("#model", "it has one model", "qaa to Hebrew (mine & co)")
        visit.expect("its direction", page.get_attribute("#translation", "dir"), "rtl")
        visit.shows("#tour", "no tour of other models", False)
        visit.shows("#course", "no link to a course that is not there", False)
        if AXE.is_file():
            visit.expect("axe-core finds nothing in it", judge(page), [])


def obeys_its_own_policy(visit: Visit, address: str) -> None:
    """With the page's Content-Security-Policy in force it translates, and nothing is blocked."""
    visit.page.goto(address)
    visit.page.wait_for_selector("#architecture:not([hidden])")
    visit.expect("it obeys its own policy", visit.problems, [])


def damages(visit: Visit) -> None:
    """A flipped bit in any file of a model, or another direction's model, is told by its name."""
    page, folder = visit.page, MODELS / "demo-fr-en"
    manifest = (folder / "manifest.json").read_text(encoding="utf-8")
    for file in (*json.loads(manifest)["sha256"], "manifest.json"):
        flipped = bytearray((folder / file).read_bytes())
        flipped[len(flipped) // 2] ^= 1
        if file == "manifest.json":
            flipped = bytearray(b"{")
        route = f"**/demo-fr-en/{file}"
        page.route(route, partial(Route.fulfill, body=bytes(flipped)))
        visit.settle(page.reload, opens=True)
        visit.choose("demo-fr-en")
        visit.says("#error", f"a damaged {file} is told", f"...models/demo-fr-en/{file} is damaged")
        visit.says("#error", "with the remedy", "...copy the model's folder there")
        page.unroute(route)
    other, route = MODELS / "demo-en-fr", "**/demo-fr-en/*"
    page.route(route, lambda asked: asked.fulfill(path=other / asked.request.url.split("/")[-1]))
    visit.settle(page.reload, opens=True)
    visit.choose("demo-fr-en")
    told = "...models/demo-fr-en holds a model from en to fr, not fr-en: copy"
    visit.says("#error", "and another direction's model", told)
    page.unroute(route)
    visit.settle(page.reload, opens=True)
    visit.choose("demo-fr-en")  # whole again, and kept


def without_models(visit: Visit, address: str) -> None:
    """A missing model, a network that goes away, and a page opened from a file."""
    page = visit.page
    visit.missed_on_purpose = True
    visit.choose("en-fr")
    line = (
        "... is missing (404): copy the model's folder there again, whole, or choose another model"
    )
    visit.says("#error", "a missing model is told in a line", line)
    damages(visit)
    page.context.set_offline(True)
    visit.choose("demo-en-fr")
    said = "Le petit chat dort dans le jardin."
    visit.says("#translation", "offline the models that it has go on", said)
    visit.choose("fr-en")
    visit.says("#error", "others cannot be fetched", "...cannot be fetched")
    page.context.set_offline(False)
    page.route("**/worker.js", lambda route: route.fulfill(body="this is no program"))
    visit.settle(page.reload, opens=True)
    visit.says("#error", "a worker that does not start is told", "...did not start")
    from_file = page.context.browser.new_page()  # type: ignore[union-attr]
    from_file.goto(LIVE.joinpath("index.html").as_uri())
    told = from_file.inner_text("#error")
    visit.expect("opened from a file it says what to do", "serve the folder" in told, True)
    from_file.close()


def looks(visit: Visit, address: str, name: str, shots: Path | None) -> None:
    """Check with axe-core that nobody is shut out, and that nothing is wider than the window."""
    page = visit.page
    visit.settle(lambda: page.goto(address))
    visit.settle(page.locator("#stops button").nth(5).click)
    page.wait_for_selector("#stop:not([hidden])")
    if AXE.is_file():
        visit.expect(f"axe-core finds nothing, {name}", judge(page), [])
    else:
        print(f"left out: axe-core, {name}; `python -m experiments check live` gets it")
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    visit.expect(f"nothing sticks out, {name}", wide <= 0, True)
    if shots:
        page.screenshot(path=shots / f"{name}.png", full_page=True)
    visit.missed_on_purpose = True
    visit.choose("fr-en")  # it is not there
    if AXE.is_file():
        visit.expect(f"nor with an error, {name}", judge(page), [])
    if shots:
        page.screenshot(path=shots / f"{name}-error.png")


def main() -> int:
    """Try the page; 1 where something is wrong."""
    parser = argparse.ArgumentParser(description="Try the live page in a browser.")
    parser.add_argument("--shots", type=Path, metavar="FOLDER", help="where to put screenshots")
    shots, found = parser.parse_args().shots, list[str]()
    with sync_playwright() as playwright, launch(playwright) as browser, served() as address:
        # Playwright's own waiting evaluates strings, which the page's policy forbids.
        with opened(browser, viewport=SIZE, bypass_csp=True) as (page, problems):
            visit = Visit(page, problems)
            translates(visit, address)
            unseen(visit)
            explores(visit)
            searches(visit)
            waits(visit)
            boxes_and_tour(visit)
            links(visit, address)
            options(visit)
            without_models(visit, address)
        found += problems
        with opened(browser, viewport=SIZE, bypass_csp=True) as (page, problems):
            over_plain_http(Visit(page, problems), address)
        found += problems
        with (
            TemporaryDirectory() as temporary,
            opened(browser, viewport=SIZE, bypass_csp=True) as (page, problems),
        ):
            opens_folders(Visit(page, problems), address, Path(temporary))
            shows_own_model(Visit(page, problems), Path(temporary))
        found += problems
        with opened(browser, viewport=SIZE) as (page, problems):
            obeys_its_own_policy(Visit(page, problems), address)
        found += problems
        for scheme, (device, width) in product(("light", "dark"), (("desk", 1366), ("phone", 360))):
            view = {"viewport": {"width": width, "height": 800}, "bypass_csp": True}
            view |= {"color_scheme": scheme, "reduced_motion": "reduce"}
            with opened(browser, **view) as (page, problems):
                looks(Visit(page, problems), address, f"{device}-{scheme}", shots)
            found += problems
    print(*(f"  {problem}" for problem in found), sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

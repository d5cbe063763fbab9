"""Open the page that translates in a browser, without a network, and use it as a visitor does.

    python tests/live/check_page.py [--shots FOLDER] [--firefox] [PART ...]

A copy of the page is served from this computer, the only one that can be reached. A sentence is
typed and its translation read; boxes, heads, cuts and steps are tried by mouse and by keyboard;
the tour's tasks are done by hand at a desk's size and a phone's; links are opened anew; what is
wrong is to be told in one line; what the page costs is measured. axe-core looks for what shuts
readers out, in light, in dark and on a phone, where npm has put it: `python -m experiments check
live`. It prints a line for each thing tried; the exit status says whether anything was wrong.

It is not part of `make test`. It needs Playwright and Chromium, or a Firefox: Playwright's own, or
the one that the variable FIREFOX names.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from pathlib import Path

from check_costs import check_costs
from check_keyboard import check_keyboard
from check_links import check_links
from check_models import check_missing_models, check_own_models, check_plain_http
from check_tour import check_tour
from playwright.sync_api import ViewportSize, sync_playwright
from visit import DESK, PHONE, Check, Visit, launch, launch_firefox, served

# The boxes' buttons that the panel of the open one covers.
COVERED = """() => {
  const panel = document.querySelector("#panel").getBoundingClientRect();
  const buttons = [...document.querySelectorAll(".boxes button, .tokens button")];
  return buttons.filter(button => {
    const { left, right, top, bottom } = button.getBoundingClientRect();
    return left < panel.right && right > panel.left && top < panel.bottom && bottom > panel.top;
  }).map(button => button.textContent);
}"""
# The boxes whose names do not fit into them, in width or in height.
CUT_OFF = """() => [...document.querySelectorAll(".boxes button")]
  .filter(button => button.scrollWidth > button.clientWidth + 1
    || button.scrollHeight > button.clientHeight + 1)
  .map(button => button.textContent)"""
# Whether the drawing is as wide as its place, which it is a frame after the window's change.
IS_LAID_OUT = """() => document.querySelector("#drawing").viewBox.baseVal.width
  === document.querySelector("#stage").clientWidth"""
TYPED = {  # what is told of a text that is typed
    "the small cat is sleeping.": "begins in lower case",
    "THE SMALL CAT IS SLEEPING.": "all in capitals",
    "The small cat is sleeping": "no full stop",
    "The cat is sleeping. The dog is eating.": "2 sentences",
    "The cat \U0001f600 is sleeping.": "a picture",
    "Attention is all you need.": "The paper's title!",
}


def check_translating(check: Check) -> None:
    """Type, look, take away, search, wait."""
    with check.visit() as visit:
        translates(visit, check.address)
        unseen(visit)
        explores(visit)
        searches(visit)
        waits(visit)
        opens_boxes(visit)
        if check.is_stock_firefox:
            print("left out: motion that is to rest meanwhile, which cannot be asked for here")
        else:
            rests_meanwhile(visit)


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
    masked = page.locator("#numbers td", has_text="masked")
    tokens = page.locator("#tgt-tokens button").count()
    # The box's numbers follow a step after a moment.
    masked.nth(tokens - 3).wait_for(state="attached")
    visit.expect("and what is to come is masked", masked.count(), tokens - 2)
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
    page.wait_for_function(
        "() => document.querySelector('#step-said').textContent.startsWith('3 ')"
    )
    page.click("#play")
    page.click("#options summary")
    visit.put("#beam_size", "1")
    visit.shows("#candidates tbody tr", "2 for greedy search", 2)
    visit.settle(lambda: page.check("#search-picker input[value='draw']", force=True))
    visit.put("#temperature", "3")
    visit.put("#top_p", "1")
    drawn = {visit.text("#translation")}
    for _ in range(3):
        visit.click("#draw-again")
        drawn.add(visit.text("#translation"))
    visit.expect("hot draws differ", len(drawn) > 1, True)
    visit.says("#search-does", "and the box tells of draws", "...drawn by chance")
    visit.settle(lambda: page.check("#search-picker input[value='beam']", force=True))
    visit.put("#beam_size", "4")
    page.keyboard.press("Escape")
    visit.shows("#beam_size", "Escape closes the options", False)


def waits(visit: Visit) -> None:
    """A long search tells how far it is, marks what stands there as old, and can be stopped."""
    page = visit.page
    visit.type("The cat is black.")
    # The demo model goes on to its limit after such a sentence, which takes seconds.
    page.fill("#sentence", "and " * 220)
    told = "() => document.querySelector('.slow #progress-said')?.innerText.includes('token')"
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


def opens_boxes(visit: Visit) -> None:
    """Open every box: each has something to see, and covers no other box."""
    page = visit.page
    for index in range(page.locator("[data-box]").count()):
        box = page.locator("[data-box]").nth(index)
        box.click()
        visit.expect(f"{box.get_attribute('data-box')}", page.is_visible("#numbers *"), True)
        page.keyboard.press("Escape")
    visit.shows("#panel", "Escape closes a box", False)
    for width in (PHONE["width"], 740, 768, 900, 1024, DESK["width"]):
        page.set_viewport_size(ViewportSize(width=width, height=DESK["height"]))
        page.wait_for_function(IS_LAID_OUT)
        visit.expect(f"at {width} pixels every box's name is whole", page.evaluate(CUT_OFF), [])
    page.set_viewport_size(DESK)
    for name in ("source", "cross", "output"):
        page.locator(f"[data-box={name}]").first.click()
        covered = page.evaluate(COVERED)
        visit.expect(f"{name}'s numbers stand beside, and cover no box", covered, [])
    shown_unasked(visit)


def shown_unasked(visit: Visit) -> None:
    """Try what stands there unasked: a head's matrices, and the next token at a temperature."""
    page = visit.page
    page.keyboard.press("Escape")
    page.check("#lit-picker input[value='2']", force=True)
    page.click("#glance")
    visit.says("#head-picker :checked + canvas + span", "a head's matrices open its box", "1.2")
    page.keyboard.press("Escape")
    page.click("#tgt-tokens button:nth-child(3)")
    page.fill("#next-temperature", "1")
    written = page.locator(".next.written .told")
    first = float(written.text_content() or "nan")
    page.fill("#next-temperature", "3")
    flatter = float(written.text_content() or "nan") < first
    visit.expect("a higher temperature flattens the next token's probabilities", flatter, True)


def rests_meanwhile(visit: Visit) -> None:
    """Where motion is to rest while a box is open, what one presses there goes on working."""
    page = visit.page
    page.keyboard.press("Escape")
    page.click("[data-box=cross]")
    for motion, offered in (("reduce", 0), ("no-preference", 1)):
        page.emulate_media(reduced_motion=motion)  # type: ignore[arg-type]
        page.click("#step-back")
        page.wait_for_function(
            "wanted => document.querySelectorAll('#numbers > button').length === wanted",
            arg=offered,
        )
        page.check("#equation-picker input[value='2']", force=True)
        shown = page.locator("#numbers .steps").get_attribute("data-step")
        visit.expect(f"motion set to {motion} beside an open box: steps are chosen", shown, "2")
    page.click("#numbers > button")
    page.wait_for_selector("#numbers .steps[data-step='4']")
    print("right: and played", flush=True)


def check_policy(check: Check) -> None:
    """With the page's Content-Security-Policy in force it translates, and nothing is blocked."""
    with check.visit(bypass_csp=False) as visit:
        visit.page.goto(check.address)
        visit.page.wait_for_selector("#architecture:not([hidden])")
        visit.expect("it obeys its own policy", visit.problems, [])


def check_looks(check: Check, shots: Path | None) -> None:
    """Look at it at a desk and on a phone, in light and in dark, where motion rests."""
    sizes = {"desk": DESK, "phone": PHONE}
    for scheme, (device, size) in product(("light", "dark"), sizes.items()):
        view = {"viewport": size, "color_scheme": scheme, "reduced_motion": "reduce"}
        with check.visit(**view) as visit:
            looks(visit, check.address, f"{device}-{scheme}", shots)


def looks(visit: Visit, address: str, name: str, shots: Path | None) -> None:
    """Nobody is shut out, nothing is wider than the window, nothing moves of itself."""
    page = visit.page
    visit.open(address)
    visit.judge(name)
    visit.settle(page.locator("#stops button").nth(5).click)
    page.wait_for_selector("#stop:not([hidden])")
    visit.judge(f"at a stop, {name}")
    wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    visit.expect(f"nothing sticks out, {name}", wide <= 0, True)
    page.click("#step-back")
    moving = page.evaluate("document.getAnimations().length")
    visit.expect(f"nothing moves where motion is to rest, {name}", moving, 0)
    visit.shows("#numbers > button", f"nor offers to, {name}", 0)
    if shots:
        page.screenshot(path=shots / f"{name}.png", full_page=True)
    visit.missed_on_purpose = True
    visit.choose("fr-en")  # it is not there
    visit.judge(f"with an error, {name}")
    if shots:
        page.screenshot(path=shots / f"{name}-error.png")


Part = Callable[[Check], None]


def main() -> int:
    """Try the page; 1 where something is wrong."""
    parser = argparse.ArgumentParser(description="Try the live page in a browser.")
    parser.add_argument("--shots", type=Path, metavar="FOLDER", help="where to put screenshots")
    parser.add_argument("--firefox", action="store_true", help="in Firefox, not in Chromium")
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help="of the check; all of them if none"
    )
    given = parser.parse_args()
    parts: Mapping[str, Part] = {
        "translating": check_translating,
        "tour": check_tour,
        "keyboard": check_keyboard,
        "links": check_links,
        "missing-models": check_missing_models,
        "own-models": check_own_models,
        "plain-http": check_plain_http,
        "policy": check_policy,
        "costs": check_costs,
        "looks": partial(check_looks, shots=given.shots),
    }
    for name in given.parts:
        if name not in parts:
            parser.error(f"there is no part {name}; there are {', '.join(parts)}")
    start = launch_firefox if given.firefox else launch
    with sync_playwright() as playwright, start(playwright) as browser, served() as address:
        check = Check(browser, address)
        for name in given.parts or parts:
            print(f"-- {name}", flush=True)
            parts[name](check)
    print(*(f"  {problem}" for problem in check.found), sep="\n")
    return 1 if check.found else 0


if __name__ == "__main__":
    sys.exit(main())

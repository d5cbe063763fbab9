"""The tour, at a desk and on a phone: each stop's target in the window, its task done by hand.

Not a script: check_page.py runs it.
"""

from collections.abc import Mapping

from playwright.sync_api import Page
from visit import DESK, PHONE, Check, Visit

NUM_STOPS = 8
NOVEL = 7  # the place of "novel" among the source's tokens
# Of the outlined target: the share that is in the window, its height there above the card, and how
# much of it the card covers (square pixels).
SEEN = """() => {
  const [target, card] = [".toured", "#stop"].map(place =>
    document.querySelector(place).getBoundingClientRect());
  const [wide, high] = [document.documentElement.clientWidth, innerHeight];
  const room = { left: 0, top: 0, right: wide, bottom: high };
  const shared = (a, b) => {
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    return Math.max(across, 0) * Math.max(down, 0);
  };
  return {
    share: shared(target, room) / (target.width * target.height),
    above_card: Math.min(target.bottom, card.top) - Math.max(target.top, 0),
    covered: shared(target, card),
    card: shared(card, room) / (card.width * card.height),
  };
}"""

# Whether nothing covers the first line of the translation.
TRANSLATION_SEEN = """() => {
  const range = document.createRange();
  range.selectNodeContents(document.querySelector("#translation"));
  const { left, right, top, bottom } = range.getClientRects()[0];
  const seen = x => document.elementFromPoint(x, (top + bottom) / 2)?.id === "translation";
  return [left + 2, (left + right) / 2, right - 2].every(seen);
}"""


def check_tour(check: Check) -> None:
    """Take the tour by hand at both sizes, and once shown by the page."""
    for where, size in {"desk": DESK, "phone": PHONE}.items():
        with check.visit(viewport=size) as visit:
            visit.open(check.address)
            for number in range(1, NUM_STOPS + 1):
                at_stop(visit, number, where)
    with check.visit(viewport=DESK) as visit:
        shown_by_the_page(visit, check.address)


def at_stop(visit: Visit, number: int, where: str) -> None:
    """Go to a stop by its button, see that its target is in the window, and do its task."""
    page = visit.page
    visit.settle(lambda: page.locator("#stops button").nth(number - 1).click())
    page.wait_for_function("() => document.activeElement.id === 'stop-title'")
    visit.says("#stop-title", f"{where}: {visit.text('#stop-title')}", f"...{number} of 8.")
    seen: Mapping[str, float] = page.evaluate(SEEN)
    told = f"{seen['share']:.0%} of it, {seen['above_card']:.0f} pixels above the card"
    if where == "desk":
        visit.expect(f"  its target is in the window: {told}", seen["share"] > 0.99, True)
        visit.expect("  and its card covers nothing of it", seen["covered"], 0)
    else:
        # A panel is longer than a phone's window: its beginning has two fifths of it.
        whole = seen["share"] > 0.99 and seen["covered"] == 0
        begins = seen["above_card"] > 0.4 * PHONE["height"]
        visit.expect(f"  its target is in the window: {told}", whole or begins, True)
    visit.expect("  its card is inside", seen["card"] > 0.999, True)
    visit.shows("#stop.done", "  its task is still to be done", 0)
    TASKS[number](page, visit)
    page.wait_for_selector("#stop.done")
    print("right:   done by hand, it is found to be done", flush=True)


def press_two_tokens(page: Page, visit: Visit) -> None:
    """Stop 1: press "the" and then "The"."""
    page.click("#src-tokens [data-at='6']")
    page.click("#src-tokens [data-at='0']")


def choose_another_head(page: Page, visit: Visit) -> None:
    """Stop 2."""
    page.check("#head-picker input[value='1.2']", force=True)


def play(page: Page, visit: Visit) -> None:
    """Stop 3: to the end of the translation."""
    page.click("#play")


def type_black_dog(page: Page, visit: Visit) -> None:
    """Stop 4: another sentence, in another head."""
    visit.type("The black dog is not sleeping.")
    page.check("#head-picker input[value='2.2']", force=True)


def hide_all_but_the(page: Page, visit: Visit) -> None:
    """Stop 5: the noun is hidden already."""
    for at in (1, *range(3, 10)):
        visit.settle(lambda at=at: page.locator("#places button").nth(at).click())


def hide_novel_instead(page: Page, visit: Visit) -> None:
    """Stop 6: put the noun back, and hide another."""
    visit.click("#put-back")
    visit.settle(lambda: page.locator("#places button").nth(NOVEL).click())


def draw_hot(page: Page, visit: Visit) -> None:
    """Stop 7: draw until two sentences differ."""
    visit.settle(lambda: page.check("#search-picker input[value='draw']", force=True))
    visit.put("#temperature", "2")
    visit.put("#top_p", "1")
    seen = page.evaluate(TRANSLATION_SEEN)
    visit.expect("  what is drawn is seen beside options and card", seen, True)
    for _ in range(5):
        if page.locator("#stop.done").count() == 0:
            visit.click("#draw-again")


def step_to_the_parting(page: Page, visit: Visit) -> None:
    """Stop 8: step on until the second best sentence parts from the best."""
    while page.locator("#stop.done").count() == 0 and page.is_enabled("#step-on"):
        page.click("#step-on")


TASKS = {
    1: press_two_tokens,
    2: choose_another_head,
    3: play,
    4: type_black_dog,
    5: hide_all_but_the,
    6: hide_novel_instead,
    7: draw_hot,
    8: step_to_the_parting,
}


def shown_by_the_page(visit: Visit, address: str) -> None:
    """Go from stop to stop by the keyboard, and let each show its task."""
    page = visit.page
    visit.open(address)
    page.focus("#stops button")
    visit.settle(lambda: page.keyboard.press("Enter"))
    for number in range(1, NUM_STOPS + 1):
        page.wait_for_function("() => document.activeElement.id === 'stop-title'")
        visit.shows("#error", f"stop {number} by the keyboard: no error", False)
        page.focus("#stop-show")
        page.keyboard.press("Enter")
        page.wait_for_selector("#stop.done")
        print("right:   it shows its task, and finds it done", flush=True)
        if number < NUM_STOPS:
            page.focus("#stop-on")
            visit.settle(lambda: page.keyboard.press("Enter"))
    for _ in ("the box", "the tour"):
        page.keyboard.press("Escape")
    visit.shows("#stop", "the tour can be left", False)
    visit.expect("a link then names no stop", "stop=" in page.url, False)

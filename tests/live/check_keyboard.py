"""The page by the keyboard alone: Tab reaches everything, the focus is seen, nothing traps it.

Not a script: check_page.py runs it.
"""

from functools import partial

from visit import DESK, PHONE, Check, Visit

# Marks each element that can be pressed, chosen or typed into, and returns their number; of the
# radio buttons of a group and the cells of a map one is reached, and the arrows walk on.
MARK = """() => {
  for (const old of document.querySelectorAll("[data-key]")) old.removeAttribute("data-key");
  const all = document.querySelectorAll(
    "a[href], button:enabled, select, textarea, summary, input:enabled, [tabindex='0']");
  const here = [...all].filter(element => element.checkVisibility({ visibilityProperty: true })
    && !(element.type === "radio" && !element.checked));
  here.forEach((element, i) => element.setAttribute("data-key", i));
  return here.length;
}"""
# What has the focus: its mark, its name, whether its outline is drawn, and whether it can be seen.
FOCUS = """async () => {
  await new Promise(requestAnimationFrame); // Firefox scrolls to the focus with the next frame
  const element = document.activeElement;
  if (element === document.body) return null;
  const is_radio = element.type === "radio"; // the box beside it, or its label, stands for it
  const shown = is_radio ? [element.nextElementSibling, element.parentElement] : [element];
  const outlined = shown.some(it => it && getComputedStyle(it).outlineStyle !== "none"
    && parseFloat(getComputedStyle(it).outlineWidth) >= 2);
  const { left, top, right, bottom } = shown[0].getBoundingClientRect();
  const [x, y] = [(left + right) / 2, (top + bottom) / 2];
  const corners = [left + 3, right - 3].flatMap(a => [top + 3, bottom - 3].map(b => [a, b]));
  const label = element.closest("label");
  const is_seen = ([x, y]) => {
    const found = document.elementFromPoint(x, y);
    return found && (element.contains(found) || label?.contains(found));
  };
  const name = element.id || element.getAttribute("aria-label") || element.textContent.slice(0, 20);
  return { key: element.dataset.key ?? null, name: `${element.localName} ${name}`, outlined,
    seen: [[x, y], ...corners].some(is_seen) };
}"""
MOST_TABS = 250


def check_keyboard(check: Check) -> None:
    """Walk through the page, with nothing open and with all that can be open at once."""
    for where, size in {"desk": DESK, "phone": PHONE}.items():
        with check.visit(viewport=size) as visit:
            visit.open(check.address)
            walks(visit, f"{where}, as it opens")
            page = visit.page
            page.focus("[data-box=cross]")
            page.keyboard.press("Enter")
            page.wait_for_selector("#panel:not([hidden])")
            print("right: Enter opens a box", flush=True)
            walks(visit, f"{where}, with a box open")
            page.focus("#stops li:nth-child(2) button")
            visit.settle(partial(page.keyboard.press, "Enter"))
            page.focus("#options summary")
            page.keyboard.press("Enter")
            walks(visit, f"{where}, with a box, the tour and the options open")
    with check.visit(viewport=DESK) as visit:
        visit.open(check.address)
        escapes(visit)


def walks(visit: Visit, where: str) -> None:
    """Press Tab through the page, and Shift+Tab back: all is reached, seen, and left again."""
    page = visit.page
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    page.evaluate("getSelection().collapse(document.body, 0)")
    wanted = page.evaluate(MARK)
    reached, faults = list[str](), list[str]()
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        focus = page.evaluate(FOCUS)
        if focus is None or focus["key"] in reached:
            break
        reached.append(focus["key"])
        for wrong, what in ((not focus["outlined"], "no outline"), (not focus["seen"], "hidden")):
            if wrong:
                faults.append(f"{focus['name']}: {what}")
    missed = page.evaluate(
        """reached => [...document.querySelectorAll("[data-key]")]
          .filter(element => !reached.includes(element.dataset.key))
          .map(element => element.id || element.outerHTML.slice(0, 60))""",
        reached,
    )
    visit.expect(f"{where}: Tab reaches all {wanted} controls", missed, [])
    visit.expect("  each with an outline, none hidden", faults, [])
    back = 0
    while back < MOST_TABS:
        page.keyboard.press("Shift+Tab")
        focus = page.evaluate(FOCUS)
        if focus is None:
            break
        back += 1
    visit.expect("  and Shift+Tab leads back out", back < MOST_TABS, True)


def escapes(visit: Visit) -> None:
    """Escape closes the options, a box and the tour, and returns the focus to what opened them."""
    page = visit.page
    focused = "document.activeElement.id || document.activeElement.dataset.box"
    page.focus("[data-box=encoder]")
    page.keyboard.press("Enter")
    page.focus("#map td[tabindex='0']")
    page.keyboard.press("Escape")
    visit.shows("#panel", "Escape closes a box", False)
    visit.expect("and returns to its button", page.evaluate(focused), "encoder")
    page.focus("#options summary")
    page.keyboard.press("Enter")
    page.focus("#beam_size")
    page.keyboard.press("Escape")
    visit.shows("#beam_size", "Escape closes the options", False)
    closed = page.evaluate("document.activeElement === document.querySelector('#options summary')")
    visit.expect("and returns to their line", closed, True)
    page.focus("#stops li:nth-child(6) button")
    visit.settle(lambda: page.keyboard.press("Enter"))
    for _ in ("its box", "its card"):
        page.keyboard.press("Escape")
    visit.shows("#stop", "Escape closes the tour", False)
    stop = "document.activeElement.textContent"
    visit.expect("and returns to the stop's button", page.evaluate(stop), "6")

"""What a link restores, what of it is refused, and a page within a page.

Not a script: check_page.py runs it.
"""

from visit import Check, Visit

FRAME = {"width": 640, "height": 480}  # as docs/publishing.md embeds a box
# All that the page shows, but how long it took: its elements, its canvases' pixels, its controls.
SHOWN = """() => {
  const places = "#translate .sides, #architecture, #cuts, #stop:not([hidden])";
  const parts = [...document.querySelectorAll(places)];
  const place = part => part.querySelectorAll("canvas, input, textarea, select");
  const controls = parts.flatMap(part => [...place(part)]);
  // Not `toDataURL`: Firefox writes a chunk of its own into each picture, `deBG`, at random.
  const pixels = it => it.getContext("2d").getImageData(0, 0, it.width, it.height).data;
  const state = it => [it.id, it.name, it.value, it.checked];
  const values = controls.map(it => it.getContext ? pixels(it) : state(it));
  const copies = parts.map(part => part.cloneNode(true));
  const lit = copies.flatMap(copy => [...copy.querySelectorAll(".lit")]);
  for (const place of lit) place.classList.remove("lit"); // under the pointer
  const clean = text => text.replaceAll(' class=""', "");
  return [...copies.map(copy => clean(copy.outerHTML)), ...values.map(String)];
}"""


def check_links(check: Check) -> None:
    """Restore from links, refuse what is wrong in one, embed, and take numbers."""
    copied = dict[str, tuple[str, list[str]]]()
    with check.visit() as visit:
        visit.open(check.address)
        copied["a stop"] = visit_fifth_stop(visit)
        copied["cuts"] = take_away(visit)
        refused(visit, check.address)
        numbers(visit)
    for name, (link, shown) in copied.items():
        with check.visit() as anew:
            anew.open(link)
            found = anew.page.evaluate(SHOWN)
            differs = [(a[:300], b[:300]) for a, b in zip(found, shown, strict=False) if a != b]
            what = f"a link with {name}, opened anew, shows all that it was copied from"
            anew.expect(f"{what}: {len(shown)} parts", (len(found), differs), (len(shown), []))
    with check.visit(viewport=FRAME) as visit:
        embeds(visit, check.address)


def visit_fifth_stop(visit: Visit) -> tuple[str, list[str]]:
    """Go to a stop with a cut; return its link, and what the page shows."""
    visit.settle(lambda: visit.page.locator("#stops button").nth(4).click())
    visit.shows("#places .after", "a stop's cut", 1)
    return visit.page.url, visit.page.evaluate(SHOWN)


def take_away(visit: Visit) -> tuple[str, list[str]]:
    """Hide tokens in both ways, and remove heads; return the link, and what the page shows."""
    page = visit.page
    visit.settle(lambda: page.locator("#places button").nth(1).click())
    page.check("#mode-picker input[value='before']", force=True)
    visit.settle(lambda: page.locator("#places button").nth(7).click())
    visit.click("#remove-head")
    page.keyboard.press("Escape")
    page.click("[data-box=encoder]")
    page.check("#head-picker input[value='2.4']", force=True)
    visit.click("#remove-head")
    page.click("#src-tokens [data-at='3']")
    page.click("#step-on")
    hidden = [page.locator(f"#places .{mode}").count() for mode in ("after", "before")]
    removed = page.locator("#removed button").count()
    visit.expect("tokens hidden in both ways, heads removed", [*hidden, removed], [2, 1, 2])
    page.click("#stop-close")
    return page.url, page.evaluate(SHOWN)


def refused(visit: Visit, address: str) -> None:
    """What a link says wrong is told, and not used."""
    page = visit.page
    visit.open(f"{address}#beam_size=1.999&head=cross.9.9&colour=red&alpha=1.5")
    for name in ("beam_size=1.999", "head=cross.9.9", "colour=red"):
        visit.says("#ignored", f"a link's {name} is told", f"...{name}")
    visit.says("#options-said", "and not used, what is right is", "beam of 4, α 1.5")
    visit.judge("with that line")
    visit.type("The cat.")
    visit.shows("#ignored", "the line goes away", False)
    page.evaluate("location.hash = 's=The+cat+is+black.&box=output'")
    page.wait_for_function(
        "() => document.querySelector('#box-title')?.innerText.startsWith('Linear')"
    )
    visit.says("#translation", "a link put into the open page's address", "Le chat est noir.")


def embeds(visit: Visit, address: str) -> None:
    """A page within a page has no furniture, or one box alone."""
    page = visit.page
    visit.open(f"{address}?embed#s=The+cat.&box=output")
    visit.shows("#tour", "embedded, without its head", False)
    visit.says("#box-title", "and with the box that was asked for", "Linear & softmax")
    visit.shows("#ignored", "with nothing to be told", False)
    visit.open(f"{address}?embed=box#s=The+cat.&box=cross&after=1&shown=cut")
    fits = page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    visit.expect("or one box alone, at the height of its frame", fits, True)
    page.keyboard.press("Escape")
    visit.shows("#panel", "which Escape does not close", True)
    for wrong in ("", "&box=nonsense"):
        visit.open(f"{address}?embed=box#s=The+cat.{wrong}")
        visit.shows("#embeddable a", f"box '{wrong}': those there are", 15)
        visit.judge("in their list")
    page.locator("#embeddable a").nth(9).click()
    page.wait_for_selector("#panel:not([hidden])")
    visit.says("#box-title", "each a link", "Cross-attention")
    visit.shows("#embeddable", "and the list goes away", False)


def numbers(visit: Visit) -> None:
    """A number that an option cannot be is told where it is typed, and not used."""
    page = visit.page
    page.click("#options summary")
    for name, wrong, right in (("beam_size", "1.5", "3"), ("alpha", "4", "0.65")):
        visit.write(f"#{name}", wrong)
        visit.says("#option-wrong", f"{name} {wrong} is told", "...: give a")
        visit.put(f"#{name}", right)
        visit.says("#option-wrong", f"{name} {right} is taken", "")
        visit.says("#options-said", "and said", f"...{right}")
    visit.open(page.url.partition("#")[0] + "#s=The+cat.&temperature=0.25")
    visit.says("#next-temperature-said", "a temperature is said as the link has it", "0.25")

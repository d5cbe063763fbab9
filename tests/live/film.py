"""Film the page that translates for README: `python tests/live/film.py docs/live.webp`.

It begins with a finished translation, which is what a reader sees where WebP does not move. Then
one word is hidden and the article of the translation turns, and three boxes are opened. With
`--still docs/live/preview.png` its first frame is written as a picture, too: what a link to the
page shows. It needs Playwright and Chromium, as check_page.py does.
"""

import argparse
import io
import sys
from pathlib import Path
from urllib.parse import quote

from PIL import Image
from playwright.sync_api import Page, sync_playwright
from visit import Visit, launch, served

SENTENCE = "The clever saleswoman is reading an interesting novel."
HIDDEN = "saleswoman"
TRANSLATIONS = (
    "La vendeuse intelligente lit un roman intéressant.",
    "Le roman intelligent lit un roman intéressant.",  # without the hidden word
)
SIZE = {"width": 1366, "height": 768}
WIDTH = 1000  # of the film, pixels
BOXES = ("encoder", "cross", "output")


class Film:
    """Frames of a page, and how long each is shown."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.frames, self.lengths = list[Image.Image](), list[int]()  # milliseconds

    def shoot(self, milliseconds: int) -> None:
        """Take a frame of what the page shows."""
        picture = Image.open(io.BytesIO(self.page.screenshot()))
        height = picture.height * WIDTH // picture.width
        self.frames.append(picture.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS))
        self.lengths.append(milliseconds)

    def write(self, out: Path, still: Path | None) -> None:
        """Write the film, and its first frame as a still, where one is asked for."""
        first, *others = self.frames
        if still is not None:
            first.quantize(128).save(still, optimize=True)
        timing = {"duration": self.lengths, "loop": 0}
        first.save(out, save_all=True, append_images=others, **timing, quality=60, method=4)


def film_cut(visit: Visit, film: Film, address: str) -> None:
    """Show a translation, hide a word of its source, and put it back."""
    page = visit.page
    visit.settle(lambda: page.goto(f"{address}#s={quote(SENTENCE)}&step=2&layer=2"), opens=True)
    # How long this computer took is no part of the film.
    page.evaluate("document.querySelector('#status').hidden = true")
    film.shoot(2500)
    page.evaluate("document.querySelector('#cuts').scrollIntoView({ block: 'end' })")
    page.check("#mode-picker input[value='before']", force=True)
    film.shoot(1500)
    visit.settle(lambda: page.locator("#places button", has_text=HIDDEN).click())
    film.shoot(3500)
    said = visit.text("#whole"), visit.text("#cut")
    if said != TRANSLATIONS:
        sys.exit(f"the film would show {said}: choose another sentence")
    page.click("#put-back")
    page.evaluate("scrollTo(0, 0)")


def film_boxes(page: Page, film: Film) -> None:
    """Open each of `BOXES`, and step through the translation in it."""
    for box in BOXES:
        page.click(f"[data-box={box}]")
        steps, milliseconds = (8, 700) if box == "cross" else (3, 500)
        for place in page.locator("#tgt-tokens button").all()[:steps]:
            place.click()
            page.evaluate("scrollTo(0, 0)")  # a click may move the page by a few pixels
            film.shoot(milliseconds)
        film.shoot(1200)
        page.keyboard.press("Escape")


def main(out: Path, still: Path | None) -> None:
    """Write the film, and print how large it is."""
    with sync_playwright() as playwright, launch(playwright) as browser, served() as address:
        page = browser.new_page(viewport=SIZE, bypass_csp=True, reduced_motion="reduce")
        film = Film(page)
        film_cut(Visit(page, []), film, address)
        film_boxes(page, film)
    film.write(out, still)
    print(f"{out}: {len(film.frames)} frames, {out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Film the page that translates.")
    parser.add_argument("out", type=Path, metavar="FILE.webp", help="where the film is written")
    parser.add_argument("--still", type=Path, metavar="FILE.png", help="its first frame")
    options = parser.parse_args()
    out = options.out
    if out.suffix != ".webp":
        parser.error(f"{out} is no .webp: give a name that ends so")
    main(out, options.still)

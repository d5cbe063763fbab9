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
from playwright.sync_api import sync_playwright
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


def main(out: Path, still: Path | None) -> None:
    """Write the film, and print how large it is."""
    frames, lengths = list[Image.Image](), list[int]()  # of each frame, milliseconds

    def shoot(milliseconds: int) -> None:
        picture = Image.open(io.BytesIO(page.screenshot()))
        height = picture.height * WIDTH // picture.width
        frames.append(picture.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS))
        lengths.append(milliseconds)

    with sync_playwright() as playwright, launch(playwright) as browser, served() as address:
        page = browser.new_page(viewport=SIZE, bypass_csp=True, reduced_motion="reduce")
        visit = Visit(page, [])
        visit.settle(lambda: page.goto(f"{address}#s={quote(SENTENCE)}&step=2&layer=2"), opens=True)
        # How long this computer took is no part of the film.
        page.evaluate("document.querySelector('#status').hidden = true")
        shoot(2500)
        page.evaluate("document.querySelector('#cuts').scrollIntoView({ block: 'end' })")
        page.check("#mode-picker input[value='before']", force=True)
        shoot(1500)
        visit.settle(lambda: page.locator("#places button", has_text=HIDDEN).click())
        shoot(3500)
        said = visit.text("#whole"), visit.text("#cut")
        if said != TRANSLATIONS:
            sys.exit(f"the film would show {said}: choose another sentence")
        page.click("#put-back")
        page.evaluate("scrollTo(0, 0)")
        for box in BOXES:
            page.click(f"[data-box={box}]")
            steps, long = (8, 700) if box == "cross" else (3, 500)
            for place in page.locator("#tgt-tokens button").all()[:steps]:
                place.click()
                shoot(long)
            shoot(1200)
            page.keyboard.press("Escape")
    first, *others = frames
    if still is not None:
        first.quantize(128).save(still, optimize=True)
    first.save(
        out, save_all=True, append_images=others, duration=lengths, loop=0, quality=60, method=4
    )
    print(f"{out}: {len(frames)} frames, {out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Film the page that translates.")
    parser.add_argument("out", type=Path, metavar="FILE.webp", help="where the film is written")
    parser.add_argument("--still", type=Path, metavar="FILE.png", help="its first frame")
    options = parser.parse_args()
    out = options.out
    if out.suffix != ".webp":
        parser.error(f"{out} is no .webp: give a name that ends so")
    main(out, options.still)

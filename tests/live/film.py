"""Film the page that translates for README: `python tests/live/film.py docs/live.webp`.

A sentence is typed, the translation is played token by token, and three boxes are opened. It needs
Playwright and Chromium, as check_page.py does.
"""

import argparse
import io
from pathlib import Path

from check_page import Visit, launch, served
from PIL import Image
from playwright.sync_api import sync_playwright

SENTENCE = "The black cat is not sleeping."
SIZE = {"width": 1000, "height": 860}
WIDTH = 800  # of the film, pixels
BOXES = ("encoder", "cross", "output")


def main(out: Path) -> None:
    """Write the film, and print how large it is."""
    frames, lengths = list[Image.Image](), list[int]()  # of each frame, milliseconds

    def shoot(milliseconds: int) -> None:
        picture = Image.open(io.BytesIO(page.screenshot()))
        height = picture.height * WIDTH // picture.width
        frames.append(picture.convert("RGB").resize((WIDTH, height), Image.Resampling.LANCZOS))
        lengths.append(milliseconds)

    with sync_playwright() as playwright, launch(playwright) as browser, served() as address:
        page = browser.new_page(viewport=SIZE, bypass_csp=True)
        visit = Visit(page, [])
        page.goto(f"{address}?embed")
        page.wait_for_selector("#architecture:not([hidden])")
        for end in range(4, len(SENTENCE) + 1, 4):
            visit.type(SENTENCE[:end] if end + 4 <= len(SENTENCE) else SENTENCE)
            shoot(250)
        shoot(1200)
        page.evaluate("document.querySelector('#architecture').scrollIntoView()")
        for box in BOXES:
            page.click(f"[data-box={box}]")
            steps, long = (8, 700) if box == "cross" else (3, 500)
            for place in page.locator("#tgt-tokens button").all()[:steps]:
                place.click()
                shoot(long)
            shoot(1200)
    first, *others = frames
    first.save(
        out, save_all=True, append_images=others, duration=lengths, loop=0, quality=60, method=6
    )
    print(f"{out}: {len(frames)} frames, {out.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Film the page that translates.")
    parser.add_argument("out", type=Path, metavar="FILE.webp", help="where the film is written")
    out = parser.parse_args().out
    if out.suffix != ".webp":
        parser.error(f"{out} is no .webp: give a name that ends so")
    main(out)

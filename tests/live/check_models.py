"""What the page does with models: folders of one's own, damaged files, files that are missing.

Not a script: check_page.py runs it.
"""

import gzip
from base64 import b64encode
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urljoin

from playwright.sync_api import Route
from visit import LIVE, MODELS, PLAIN_HTTP_HOST, Check, Visit, served_folder

from engines.live_page import write_live_page
from transformer.models.folder import write_manifest
from transformer.support.files import read_json, write_json

MODEL_FILES = ("recipe.json", "src_tokenizer.json", "tgt_tokenizer.json", "model.safetensors")
DROP = """files => {
  const dataTransfer = new DataTransfer();
  for (const [name, bytes] of Object.entries(files)) {
    const content = Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0));
    dataTransfer.items.add(new File([content], name));
  }
  const drop = { dataTransfer, bubbles: true, cancelable: true };
  document.body.dispatchEvent(new DragEvent("drop", drop));
}"""

# Gives the page's input a folder's files, as a browser's own dialog does.
CHOOSE = """([folder, files]) => {
  const chosen = Object.entries(files).map(([name, bytes]) => {
    const content = Uint8Array.from(atob(bytes), (letter) => letter.charCodeAt(0));
    const file = new File([content], name);
    return Object.defineProperty(file, "webkitRelativePath", { value: `${folder}/${name}` });
  });
  const input = document.querySelector("#folder");
  Object.defineProperty(input, "files", { value: chosen, configurable: true });
  input.dispatchEvent(new Event("change"));
}"""


def in_base64(file: Path) -> str:
    """Return a file's bytes in base64, which a browser takes faster than a list of numbers."""
    return b64encode(file.read_bytes()).decode()


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


def opens_folders(visit: Visit, address: str, folder: Path, is_stock_firefox: bool) -> None:
    """A model folder that is chosen or dropped translates; a damaged or foreign one is told."""
    page = visit.page
    visit.settle(lambda: page.goto(address))
    page.get_by_text("Open a model of your own").click()

    def choose(folder: Path) -> None:
        if is_stock_firefox:  # Playwright can choose no folder there
            files = {file.name: in_base64(file) for file in folder.iterdir()}
            page.evaluate(CHOOSE, [folder.name, files])
        else:
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
    cut = gzip.compress((mine / "model.safetensors").read_bytes(), compresslevel=1)[:-9]
    (mine / "model.safetensors").write_bytes(cut)
    choose(mine)
    page.wait_for_selector("#error:not([hidden])")
    told = "...mine/model.safetensors is damaged (it cannot be decompressed): choose"
    visit.says("#error", "compressed weights that were cut short are told", told)
    visit.type("Le chat dort.")
    (mine / "model.safetensors").write_bytes(b"x")
    choose(mine)
    page.wait_for_selector("#error:not([hidden])")
    visit.says("#error", "a damaged one is told", "...mine/model.safetensors is damaged")
    visit.says("#translation", "what was there stays", "The cat is sleeping.")
    (mine / "model.safetensors").unlink()
    choose(mine)
    page.wait_for_function("() => document.querySelector('#error').innerText.includes('missing')")
    visit.says("#error", "and one without weights", "...mine/model.safetensors is missing: choose")
    files = {
        file: in_base64(MODELS / "demo-fr-en" / file) for file in ("manifest.json", *MODEL_FILES)
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
        visit.settle(lambda: page.goto(f"{address}/index.html"), opens=True)
        visit.says("#translation", "a page of one's own", "The cat is sleeping.")
        offered = page.locator("#model option").all_text_contents()
        visit.expect("it has one model", offered, ["qaa to Hebrew (mine & co)"])
        visit.expect("its direction", page.get_attribute("#translation", "dir"), "rtl")
        visit.shows("#tour", "no tour of other models", False)
        visit.shows("#course", "no link to a course that is not there", False)
        visit.judge("in it")


def damages(visit: Visit) -> None:
    """A flipped bit in any file of a model, or another direction's model, is told by its name."""
    page = visit.page
    here = page.url.replace(PLAIN_HTTP_HOST, "127.0.0.1")  # whose name the browser alone knows
    folder = urljoin(here, "models/demo-fr-en/")
    for file in (*MODEL_FILES, "manifest.json"):
        flipped = bytearray(page.request.get(urljoin(folder, file)).body())
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


def stops_loading(visit: Visit) -> None:
    """A model whose files are slow to come can be given up, and asked for again."""
    page, route = visit.page, "**/demo-fr-en/*"
    held = list[Route]()
    page.route(route, lambda asked: held.append(asked))
    page.select_option("#model", "demo-fr-en")
    page.wait_for_selector(".slow #stop-search")
    visit.click("#stop-search")
    visit.says("#status", "a model that is slow to come can be given up", "...Stopped")
    for asked in held:
        asked.continue_()
    page.unroute(route)
    visit.type("Le chat dort.")
    visit.says("#translation", "and asked for again", "The cat is sleeping.")
    visit.choose("demo-en-fr")  # which the page's address names now, as before


def without_models(visit: Visit) -> None:
    """A missing model, a slow one, a network that goes away, and a page opened from a file."""
    page = visit.page
    visit.missed_on_purpose = True
    visit.choose("en-fr")
    line = (
        "... is missing (404): copy the model's folder there again, whole, or choose another model"
    )
    visit.says("#error", "a missing model is told in a line", line)
    stops_loading(visit)
    damages(visit)
    page.context.set_offline(True)
    visit.choose("demo-en-fr")
    said = "Le petit chat dort dans le jardin."
    visit.says("#translation", "offline the models that it has go on", said)
    visit.choose("fr-en")
    visit.says("#error", "others cannot be fetched", "...cannot be fetched")
    page.context.set_offline(False)
    page.route(
        "**/worker.js",
        lambda route: route.fulfill(body="no program", content_type="text/javascript"),
    )
    visit.settle(page.reload, opens=True)
    visit.says("#error", "a worker that does not start is told", "...did not start")
    from_file = page.context.browser.new_page()  # type: ignore[union-attr]
    from_file.goto(LIVE.joinpath("index.html").as_uri())
    told = from_file.inner_text("#error")
    visit.expect("opened from a file it says what to do", "serve the folder" in told, True)
    from_file.close()


def check_missing_models(check: Check) -> None:
    """A missing model, a slow one, a network that goes away, damaged files."""
    with check.visit() as visit:
        visit.open(check.address)
        without_models(visit)


def check_plain_http(check: Check) -> None:
    """As in a class's network."""
    with check.visit() as visit:
        over_plain_http(visit, check.address)


def check_own_models(check: Check) -> None:
    """Folders that a visitor opens, and the page that `attention-course page` writes."""
    with TemporaryDirectory() as temporary, check.visit() as visit:
        opens_folders(visit, check.address, Path(temporary), check.is_stock_firefox)
        shows_own_model(visit, Path(temporary))

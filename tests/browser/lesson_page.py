"""One lesson open in a browser: run it, look at each picture, move each chart's controls."""

import re
import time
from collections.abc import Iterator
from contextlib import suppress

from playwright.sync_api import ElementHandle, Error, Page, TimeoutError

VEGALITE = "application/vnd.vegalite.v5+json"
WIDGET = "application/vnd.jupyter.widget-view+json"
TYPED = "The cat."  # into every line that a lesson has for a sentence
OPEN, RUN = 90, 600  # seconds that a lesson may take to open, and to run
DRAWN, CHANGE = 15, 20  # seconds that a picture may take to appear, and a chart to change

READY = """() => { const panel = window.jupyterapp?.shell.currentWidget;
  return panel?.content?.widgets?.length > 0 && panel.context.isReady
    && panel.sessionContext.isReady
    && panel.sessionContext.session?.kernel?.status === 'idle'; }"""
RUN_ALL = """() => { window.lessonHasRun = false;
  window.jupyterapp.commands.execute('notebook:run-all-cells')
    .then(() => { window.lessonHasRun = true; }); }"""
HAS_RUN = """() => window.lessonHasRun && window.jupyterapp.shell.currentWidget
  .sessionContext.session.kernel.status === 'idle'"""
CELLS = "() => window.jupyterapp.shell.currentWidget.content.model.sharedModel.toJSON().cells"
SHOW = """async index => { const notebook = window.jupyterapp.shell.currentWidget.content;
  await notebook.scrollToItem(index, 'start'); return notebook.widgets[index].node; }"""
STOP = "() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()"
# An image with its width; a canvas with whether any of its pixels differs from the first.
IMAGES = "node => [...node.querySelectorAll('img')].map(i => i.complete ? i.naturalWidth : 0)"
FILLED = """node => [...node.querySelectorAll('.vega-embed')].map(chart => {
  const svg = chart.querySelector('svg.marks'), canvas = chart.querySelector('canvas');
  if (svg) return svg.querySelectorAll('path, text, rect').length > 0;
  if (!canvas || !canvas.width) return false;
  const seen = new Uint32Array(
    canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  return seen.some(pixel => pixel !== seen[0]); })"""
# Whether every chart leaves the ground to the page, which may be white or dark.
GROUNDS = """node => [...node.querySelectorAll('.vega-embed canvas')].map(canvas =>
  [...canvas.getContext('2d').getImageData(1, 1, 1, 1).data].every(value => value === 0))"""
PIXELS = """chart => { const canvas = chart.querySelector('canvas');
  return canvas ? canvas.toDataURL() : chart.querySelector('svg.marks').outerHTML; }"""
ALL_PIXELS = """node => [...node.querySelectorAll('.vega-embed canvas')]
  .map(canvas => canvas.toDataURL()).join()"""
CHANGED = "([node, before]) => !['', before].includes(({})(node))"
ALL_DRAWN = f"""([node, pictures, charts]) => {{
  const widths = ({IMAGES})(node), filled = ({FILLED})(node);
  return widths.length === pictures && filled.length === charts
    && [...widths, ...filled].every(Boolean); }}"""
CHOOSE = """(menu, place) => { menu.selectedIndex = place;
  for (const kind of ['input', 'change']) menu.dispatchEvent(new Event(kind, {bubbles: true})); }"""
# Moves a control as far as it goes, one way or the other; false where there is no other place.
MOVE = """(control, back) => {
  const tell = () => { for (const kind of ['input', 'change'])
    control.dispatchEvent(new Event(kind, {bubbles: true})); };
  if (control.type === 'radio') { if (control.checked) return false; control.click(); return true; }
  if (control.type === 'checkbox') { control.click(); return true; }
  if (control.tagName === 'SELECT') {
    const place = back ? 0 : control.options.length - 1;
    if (control.selectedIndex === place) return false;
    control.selectedIndex = place; tell(); return true; }
  if (control.type !== 'range') return false;
  const goal = back ? control.min : control.max;
  if (control.value === goal) return false;
  control.value = goal; tell(); return true; }"""


def move_controls(page: Page, chart: ElementHandle, seconds: float = CHANGE) -> dict[str, bool]:
    """Move every control of a chart; tells by its name whether that changed the picture.

    Args:
        page: The browser's.
        chart: The chart, on that page.
        seconds: That a change may take. So long it takes, twice over, to see that there is none.
    """
    tried: dict[str, bool] = {}
    for control in chart.query_selector_all("input, select"):
        name = str(control.evaluate("control => control.name || control.type"))
        tried[name] = tried.get(name, False) or _changes(page, chart, control, seconds)
    # Some count under one choice of a list alone.
    menu = chart.query_selector("select")
    for place in range(menu.evaluate("menu => menu.options.length") if menu else 0):
        missing = [name for name, changed in tried.items() if not changed]
        if missing:
            menu.evaluate(CHOOSE, place)
        for name in missing:
            control = chart.query_selector(f'[name="{name}"]')
            tried[name] = control is not None and _changes(page, chart, control, seconds)
    return tried


def _changes(page: Page, chart: ElementHandle, control: ElementHandle, seconds: float) -> bool:
    """Move a control one way, and if need be the other; tell whether the chart changed."""
    for back in (False, True):
        before = chart.evaluate(PIXELS)
        if control.evaluate(MOVE, back) and holds(
            page, CHANGED.format(PIXELS), seconds, [chart, before]
        ):
            time.sleep(0.3)  # let it come to rest
            return True
    return False


def holds(page: Page, condition: str, seconds: float, *given: object) -> bool:
    """Wait until a condition holds; tell whether it does after so many seconds."""
    with suppress(TimeoutError):
        page.wait_for_function(condition, arg=next(iter(given), None), timeout=1000 * seconds)
        return True
    return False


class LessonPage:
    """A lesson in JupyterLab.

    Attributes:
        problems: What was found wrong, a line each.
        pictures, charts, moved: How many were seen drawn, and how many controls changed a chart.
    """

    def __init__(self, page: Page, problems: list[str]) -> None:
        self.page, self.problems = page, problems
        self.pictures = self.charts = self.moved = 0

    def open(self, address: str) -> None:
        """Open the lesson as it is stored, and wait for its kernel."""
        self.page.goto(address)
        self._wait(READY, OPEN, "open with its kernel ready")

    def run(self) -> None:
        """Run all cells; every one must have run, without an error."""
        self.page.evaluate(RUN_ALL)
        self._wait(HAS_RUN, RUN, "run")
        for index, cell in enumerate(self.page.evaluate(CELLS)):
            if cell["cell_type"] != "code" or not "".join(cell["source"]).strip():
                continue
            if cell["execution_count"] is None:
                self.problems.append(f"cell {index} did not run")
            for output in cell["outputs"]:
                if output["output_type"] == "error":
                    self.problems.append(f"cell {index} ends in {output['ename']}")

    def look(self, kind: str) -> None:
        """Scroll through the lesson: every picture must be drawn, and every control must work.

        Args:
            kind: What the problems are called by: stored or run.
        """
        self.pictures = self.charts = self.moved = 0
        for index, pictures, charts in self._expected(kind):
            node, where = self._show(index), f"{kind}, cell {index}"
            if holds(self.page, ALL_DRAWN, DRAWN, [node, pictures, charts]):
                self.pictures += pictures
                self.charts += charts
            else:
                self.problems.append(
                    f"{where}: {pictures} pictures and {charts} charts, drawn are "
                    f"images {node.evaluate(IMAGES)} wide and charts {node.evaluate(FILLED)}"
                )
            if not all(node.evaluate(GROUNDS)):
                self.problems.append(f"{where}: a chart has a ground of its own")
            for chart in node.query_selector_all(".vega-embed"):
                tried = move_controls(self.page, chart)
                if not tried:
                    self.problems.append(f"{where}: a chart without a control")
                self.moved += sum(tried.values())
                self.problems += [
                    f"{where}: {name} moved, and the chart stayed the same"
                    for name, changed in tried.items()
                    if not changed
                ]

    def type(self) -> None:
        """Type a sentence into each line for one; the chart below must become another."""
        for index, cell in enumerate(self.page.evaluate(CELLS)):
            if any(WIDGET in output.get("data", {}) for output in cell.get("outputs", [])):
                node = self._show(index)
                line = node.wait_for_selector(".widget-text input", timeout=1000 * DRAWN)
                node.wait_for_selector(".vega-embed canvas", timeout=1000 * DRAWN)
                before = node.evaluate(ALL_PIXELS)
                line.fill(TYPED)  # type: ignore[union-attr]
                line.press("Enter")  # type: ignore[union-attr]
                if holds(self.page, CHANGED.format(ALL_PIXELS), DRAWN, [node, before]):
                    self.moved += 1
                else:
                    self.problems.append(f"cell {index}: a sentence typed, and no other chart")

    def stop(self) -> None:
        """End the kernel."""
        self.page.evaluate(STOP)

    def _wait(self, condition: str, seconds: int, what: str) -> None:
        if not holds(self.page, condition, seconds):
            raise Error(f"the lesson is not {what} after {seconds} s")

    def _show(self, index: int) -> ElementHandle:
        """Scroll to a cell, and return it."""
        node = self.page.evaluate_handle(SHOW, index).as_element()
        assert node is not None
        return node

    def _expected(self, kind: str) -> Iterator[tuple[int, int, int]]:
        """Return every cell that shows something: its place, its pictures, its charts.

        What stands behind a prediction is folded until it is run.
        """
        for index, cell in enumerate(self.page.evaluate(CELLS)):
            if kind == "stored" and cell["metadata"].get("jupyter", {}).get("outputs_hidden"):
                continue
            if cell["cell_type"] == "code":
                shown = [output.get("data", {}) for output in cell["outputs"]]
                charts = sum(VEGALITE in data for data in shown)
                pictures = sum("image/png" in data and VEGALITE not in data for data in shown)
            else:
                pictures, charts = len(re.findall(r"!\[|<img", "".join(cell["source"]))), 0
            if pictures or charts:
                yield index, pictures, charts

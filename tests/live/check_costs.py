"""What the page costs: bytes and seconds to the first translation, and processor time a step.

Not a script: check_page.py runs it. Text comes compressed, as from GitHub Pages, over HTTP/1.1.
Times are of the computer that runs it: other work makes them longer, least with a slow network.
"""

from collections.abc import Mapping
from statistics import median

from playwright.sync_api import CDPSession, Page
from visit import DESK, PATIENCE, PHONE, Check, Visit

MAX_BYTES = 1_200_000  # to the first translation
MAX_SECONDS = 7  # at `BITS_A_SECOND`
MAX_STEP_MS = 1000 / 60  # of the main thread's processor time
BITS_A_SECOND = 1.6e6
LATENCIES = (40, 150)  # milliseconds, of each request
NUM_LOCAL_VISITS = 5
NUM_STEPS = 20
BOXES = (None, "cross", "decoder", "output", "decoder_feed")  # open while one steps; None: no box
# Notes when the first translation stands there.
LISTEN = """addEventListener("DOMContentLoaded", () => {
  const place = document.querySelector("#translation");
  const note = () => { if (place.textContent) window.firstTranslation ??= performance.now(); };
  new MutationObserver(note).observe(place, { childList: true });
})"""
STEP = """async number => {
  const slider = document.querySelector("#step");
  for (let i = 0; i < number; i++) {
    slider.value = 1 + i % slider.max;
    slider.dispatchEvent(new Event("input"));
    await new Promise(requestAnimationFrame);
  }
}"""


def check_costs(check: Check) -> None:
    """Open the page anew at each speed, and step with each box open: in Chromium alone."""
    if check.browser.browser_type.name != "chromium":
        print("left out: only Chromium measures these")
        return
    seconds, num_bytes = first_translations(check, NUM_LOCAL_VISITS, None)
    print(f"       from this computer: {median(seconds):.2f} s, the median of {len(seconds)}")
    told = f"{num_bytes / 1e6:.2f} MB"
    report(check, f"{told} to the first translation", num_bytes <= MAX_BYTES)
    for latency in LATENCIES:
        (second,), _ = first_translations(check, 1, latency)
        network = f"{BITS_A_SECOND / 1e6} Mbit/s and {latency} ms"
        report(check, f"at {network}: translated after {second:.1f} s", second <= MAX_SECONDS)
    for size in (DESK, PHONE):
        page = check.browser.new_page(viewport=size, bypass_csp=True)
        Visit(page, []).open(check.address)
        for box in BOXES:
            if box is not None:
                page.evaluate(f"document.querySelector('[data-box={box}]').click()")
            ms = step_milliseconds(page)
            told = f"{size['width']} pixels, {box or 'no box'} open: {ms:.1f} ms a step"
            report(check, told, ms <= MAX_STEP_MS)
        page.close()


def report(check: Check, what: str, right: bool) -> None:
    """Print what was measured, and keep it where it is too much."""
    print(f"right: {what}" if right else f"WRONG: {what}", flush=True)
    if not right:
        check.found.append(what)


def first_translations(
    check: Check, num_visits: int, latency: int | None
) -> tuple[list[float], int]:
    """Return the seconds to the first translation of new visitors, and the bytes of one of them."""
    seconds, num_bytes = [], 0
    for _ in range(num_visits):
        with check.browser.new_context(viewport=DESK, bypass_csp=True) as context:
            page = context.new_page()
            if latency is not None:
                slow_down(context.new_cdp_session(page), latency)
            requests = list[int]()
            page.on(
                "requestfinished", lambda r, to=requests: to.append(r.sizes()["responseBodySize"])
            )
            page.add_init_script(LISTEN)
            page.goto(check.address, wait_until="commit")
            page.wait_for_function("window.firstTranslation", timeout=PATIENCE)
            seconds.append(page.evaluate("window.firstTranslation") / 1000)
            num_bytes = sum(requests)
    return seconds, num_bytes


def slow_down(session: CDPSession, latency: int) -> None:
    """Emulate a network of `BITS_A_SECOND` with a latency (milliseconds) for a page."""
    bytes_a_second = BITS_A_SECOND / 8
    speed = {"downloadThroughput": bytes_a_second, "uploadThroughput": bytes_a_second}
    session.send("Network.enable")
    session.send(
        "Network.emulateNetworkConditions", {"offline": False, "latency": latency, **speed}
    )


def step_milliseconds(page: Page) -> float:
    """Return the main thread's processor time of a step (milliseconds), one step a frame.

    The least of three times `NUM_STEPS`: other work on the computer lengthens it, too.
    """
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def seconds() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        values: Mapping[str, float] = {metric["name"]: metric["value"] for metric in metrics}
        return values["TaskDuration"]

    page.evaluate(STEP, NUM_STEPS)  # compiled now
    took = []
    for _ in range(3):
        begun = seconds()
        page.evaluate(STEP, NUM_STEPS)
        took.append(1000 * (seconds() - begun) / NUM_STEPS)
    session.detach()
    return min(took)

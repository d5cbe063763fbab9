// The tour: a stop sets the page up, outlines what it speaks of, floats its card beside it, and says
// when its task is done.

import { by_id, make, say } from "./dom.js";
import { overlap, place_card } from "./placement.js";

const PHONE = "(max-width: 48rem)"; // there the card stands at the window's lower edge
const A_DEED = 1100; // milliseconds between what "Show me" does

/** The card of one stop after the other, and what was seen since a stop began. */
export class TourView {
  /**
   * @param {object[]} stops See tour.js.
   * @param {object} act go_to(number), close(), deed(patch): what the card's buttons do; go_to
   *   returns a promise that is kept once the stop is shown.
   */
  constructor(stops, act) {
    Object.assign(this, { stops, act, number: null, trail: [], showing: 0 });
    by_id("tour").hidden = stops.length === 0;
    stops.forEach(({ title }, i) => {
      const button = make("button", { type: "button", title, "aria-label": `${i + 1}. ${title}` }, String(i + 1));
      button.addEventListener("click", () => this._go_to(i + 1));
      by_id("stops").append(make("li", {}, button));
    });
    by_id("stop-back").addEventListener("click", () => this._go_to(this.number - 1));
    by_id("stop-on").addEventListener("click", () => this._go_to(this.number + 1));
    by_id("stop-show").addEventListener("click", () => this.show_how());
    by_id("stop-close").addEventListener("click", () => this.leave());
    for (const event of ["resize", "scroll", "focusin"]) addEventListener(event, () => this.place(), { passive: true });
  }

  /** Show a stop's card beside its target, and bring both into the window. */
  open(number, seen) {
    const { title, see, todo, target } = this.stops[number - 1];
    Object.assign(this, { number, trail: [seen] });
    by_id("stop").hidden = false;
    say(by_id("stop-title"), `${number} of ${this.stops.length}. ${title}`);
    say(by_id("stop-see"), see);
    say(by_id("stop-todo"), todo);
    by_id("stop-back").disabled = number === 1;
    by_id("stop-on").disabled = number === this.stops.length;
    this._mark(false);
    by_id("stops").querySelector("[aria-current]")?.removeAttribute("aria-current");
    by_id("stops").children[number - 1].firstChild.setAttribute("aria-current", "step");
    this._outline(target);
    const is_phone = matchMedia(PHONE).matches;
    document.querySelector(target)?.scrollIntoView({ block: is_phone ? "start" : "nearest" });
    this.place();
  }

  /** Put the card beside its target, as the window is now, and not over what has the focus. */
  place() {
    if (this.number === null) return;
    const [card, target] = [by_id("stop"), document.querySelector(".toured")];
    if (matchMedia(PHONE).matches || target === null) {
      for (const edge of ["left", "top"]) card.style.removeProperty(edge);
      return;
    }
    const room = { width: document.documentElement.clientWidth, height: innerHeight };
    const { width, height } = card.getBoundingClientRect();
    let spot = place_card(target.getBoundingClientRect(), { width, height }, room);
    const focused = document.activeElement;
    const rect = focused.getBoundingClientRect();
    const is_elsewhere = focused !== document.body && !card.contains(focused);
    if (is_elsewhere && overlap(rect, spot, { width, height })) spot = place_card(rect, { width, height }, room);
    for (const edge of ["left", "top"]) card.style[edge] = `${spot[edge]}px`;
  }

  /** Take what the page shows now, and say whether the task is done. */
  follow(seen) {
    if (this.number === null) return;
    this.trail.push(seen);
    const { target, is_done } = this.stops[this.number - 1];
    this._outline(target);
    this.place();
    if (is_done(this.trail)) this._mark(true);
  }

  /** Leave the tour, and return the focus to its stop; return whether there was one to leave. */
  leave() {
    if (this.number === null) return false;
    const button = by_id("stops").children[this.number - 1].firstChild;
    this.act.close();
    button.focus({ preventScroll: true });
    return true;
  }

  /** Close the card. */
  close() {
    this.number = null;
    this.showing += 1;
    by_id("stop").hidden = true;
    by_id("stops").querySelector("[aria-current]")?.removeAttribute("aria-current");
    this._outline(null);
  }

  /** Do a stop's task, one deed after the other. */
  async show_how() {
    const [mine, number] = [++this.showing, this.number];
    for (const deed of this.stops[number - 1].deeds) {
      if (mine !== this.showing || number !== this.number) return;
      await this.act.deed(deed);
      await new Promise((go_on) => setTimeout(go_on, A_DEED));
    }
  }

  /** Go to a stop, and put the focus on its card, which stands at the page's end. */
  async _go_to(number) {
    await this.act.go_to(number);
    by_id("stop-title").focus({ preventScroll: true }); // does nothing where no card is shown
  }

  _mark(is_done) {
    by_id("stop").classList.toggle("done", is_done);
    say(by_id("stop-done"), is_done ? "Done." : "");
  }

  _outline(target) {
    for (const other of document.querySelectorAll(".toured")) other.classList.remove("toured");
    if (target !== null) document.querySelector(target)?.classList.add("toured");
  }
}

// The drawn architecture: boxes to open, and the tokens that flow through them.

import { BOXES } from "./boxes.js";
import { by_id, make, readable, say } from "./dom.js";

/** Draw the boxes, bottom to top, as the paper's Figure 1 has them. */
export function draw_boxes(act) {
  for (const stack of ["encoder", "decoder"]) {
    const names = Object.keys(BOXES).filter((name) => BOXES[name].stack === stack);
    const buttons = names.map((name) => {
      const kind = name.endsWith("_norm") ? "norm" : (BOXES[name].head ?? name);
      const button = make("button", { type: "button", className: kind }, BOXES[name].name);
      button.dataset.box = name;
      button.addEventListener("click", () => act.open_box(name));
      return button;
    });
    by_id(`${stack}-boxes`).replaceChildren(...buttons);
  }
}

/** Mark the opened box. */
export function mark_box(opened) {
  for (const button of document.querySelectorAll("[data-box]")) {
    button.setAttribute("aria-pressed", String(button.dataset.box === opened));
  }
}

/**
 * Draw the tokens of both sides as buttons; those not written yet are open places.
 * @param {object} state src_at, step.
 * @param {object} tokens src and tgt.
 * @param {object} act choose_source, choose_step.
 */
export function draw_tokens(state, tokens, act) {
  const row = (id, side, chosen, choose, shown = () => true) => {
    const focused = by_id(id).contains(document.activeElement);
    const buttons = tokens[side].map((token, i) => {
      const text = shown(i) ? readable(token) : "·";
      const button = make("button", { type: "button", "data-side": side, "data-at": i }, text);
      button.setAttribute("aria-pressed", String(i === chosen));
      if (!shown(i)) button.setAttribute("aria-label", `place ${i + 1}, not written yet`);
      button.addEventListener("click", () => choose(i));
      return button;
    });
    by_id(id).replaceChildren(...buttons);
    if (focused) buttons[chosen]?.focus();
  };
  row("src-tokens", "src", state.src_at, act.choose_source);
  const last = Math.min(state.step, tokens.tgt.length) - 1;
  row("tgt-tokens", "tgt", last, (i) => act.choose_step(i + 1), (i) => i <= last);
  draw_step(last + 1, tokens.tgt.length);
}

/** Say how much of the translation is written. */
function draw_step(step, steps) {
  const [slider, said] = [by_id("step"), `${step} of ${steps}`];
  Object.assign(slider, { max: steps, value: step });
  slider.setAttribute("aria-valuetext", said);
  by_id("step-back").disabled = step === 1;
  by_id("step-on").disabled = step === steps;
  say(by_id("step-said"), said);
}

/** Light up every place of a token, in every view, while the pointer or the focus is on one. */
export function light_tokens() {
  const light = ({ target }) => {
    for (const lit of document.querySelectorAll(".lit")) lit.classList.remove("lit");
    const place = target.closest?.("[data-side]");
    if (!place) return;
    const { side, at } = place.dataset;
    for (const same of document.querySelectorAll(`[data-side="${side}"][data-at="${at}"]`)) {
      same.classList.add("lit");
    }
  };
  document.addEventListener("pointerover", light);
  document.addEventListener("focusin", light);
}

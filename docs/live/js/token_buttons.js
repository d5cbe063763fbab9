// The tokens of both sides as buttons beside the drawing, and the steps of the translation.

import { by_id, make, readable, say } from "./dom.js";

/**
 * Draw the tokens that both stacks read as buttons; those not written yet are open places.
 * @param {object} state src_at, step.
 * @param {object} tokens src, tgt, and read: what the decoder reads at each step.
 * @param {object} act choose_source, choose_step.
 */
export function draw_tokens(state, tokens, act) {
  const row = (id, texts, [side, first], chosen, choose, shown = () => true) => {
    const focused = by_id(id).contains(document.activeElement);
    const buttons = texts.map((token, i) => {
      const text = shown(i) ? readable(token) : "·";
      const place = { "data-side": side, "data-at": i + first };
      const button = make("button", { type: "button", title: text, ...place }, text);
      button.setAttribute("aria-pressed", String(i === chosen));
      if (!shown(i)) button.setAttribute("aria-label", `place ${i + 1}, not read yet`);
      button.addEventListener("click", () => choose(i));
      return button;
    });
    by_id(id).replaceChildren(...buttons);
    if (focused) buttons[chosen]?.focus();
  };
  row("src-tokens", tokens.src, ["src", 0], state.src_at, act.choose_source);
  const last = Math.min(state.step, tokens.tgt.length) - 1;
  row("tgt-tokens", tokens.read, ["tgt", -1], last, (i) => act.choose_step(i + 1), (i) => i <= last);
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

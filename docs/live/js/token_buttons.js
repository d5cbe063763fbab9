// The tokens of both sides as buttons beside the drawing, and the steps of the translation.

import { by_id, make, readable, say } from "./dom.js";

/**
 * Draw the tokens that both stacks read as buttons; those not written yet are open places.
 * @param {object} state src_at, step.
 * @param {object} tokens src, tgt, and read: what the decoder reads at each step.
 * @param {object} act choose_source, choose_step.
 */
export function draw_tokens(state, tokens, act) {
  const last = Math.min(state.step, tokens.tgt.length) - 1;
  draw_row("src-tokens", tokens.src, ["src", 0], state.src_at, Infinity, act.choose_source);
  draw_row("tgt-tokens", tokens.read, ["tgt", -1], last, last, (i) => act.choose_step(i + 1));
  draw_step(last + 1, tokens.tgt.length);
}

/** Draw one side's buttons; those that are there already are changed in place, which costs less. */
function draw_row(id, texts, place, chosen, last, choose) {
  const row = by_id(id);
  const focused = row.contains(document.activeElement);
  if (row.children.length !== texts.length) row.replaceChildren(...texts.map((_, i) => make_button(place, i, choose)));
  texts.forEach((token, i) => {
    const [button, text] = [row.children[i], i <= last ? readable(token) : "·"];
    const told = { title: text, "aria-label": i <= last ? text : `place ${i + 1}, not read yet` };
    say(button, text);
    for (const [name, value] of Object.entries({ ...told, "aria-pressed": String(i === chosen) })) {
      if (button.getAttribute(name) !== value) button.setAttribute(name, value);
    }
  });
  if (focused) row.children[chosen]?.focus();
}

/** Return the button of a token's place. */
function make_button([side, first], i, choose) {
  const button = make("button", { type: "button", "data-side": side, "data-at": i + first });
  button.addEventListener("click", () => choose(i));
  return button;
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

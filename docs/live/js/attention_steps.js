// Equation 1 in steps: the dot products of a query with all keys, scaled, masked, through the softmax.

import { by_id, chance_text, draw_bar, fill_radios, make, two_decimals } from "./dom.js";

const MAX_PRODUCTS = 4; // of a dot product that are written out
const A_STEP = 900; // milliseconds that a step is shown while they play
const STEPS = [
  ["1", "dot product"],
  ["2", "÷ √d_k"],
  ["3", "mask"],
  ["4", "softmax"],
];
const CALM = "(prefers-reduced-motion: reduce)";
let shown = "4"; // the step up to which columns are shown; it stays from box to box
let timer = 0;

/**
 * Return what each step makes of one query's scores: a number for each key, null where it is masked.
 * @param {object} row products, allowed and weights of the query's row; d_k.
 */
export function scores_by_step({ products, allowed, weights, d_k }) {
  const scaled = Array.from(products, (product) => product / Math.sqrt(d_k));
  return {
    product: [...products],
    scaled,
    masked: scaled.map((score, j) => (allowed[j] ? score : null)),
    weight: [...weights],
  };
}

/**
 * Return the elements that show the steps.
 * @param {object} row query, and key of the `best`; products, allowed, weights; keys, each its text
 *   and place; caption.
 */
export function draw_attention_steps({ query, key, products, allowed, weights, keys, best, caption }) {
  clearInterval(timer);
  const d_k = query.length;
  const scores = scores_by_step({ products, allowed, weights, d_k });
  const rows = keys.map(({ text, place }, j) => {
    const masked = scores.masked[j] === null ? "masked" : two_decimals(scores.masked[j]);
    const cells = [
      make("td", { className: "step-1" }, two_decimals(scores.product[j])),
      make("td", { className: "step-2" }, two_decimals(scores.scaled[j])),
      make("td", { className: "step-3" }, masked),
      make("td", { className: "step-4" }, draw_bar(weights[j]), chance_text(weights[j])),
    ];
    return make("tr", { className: j === best ? "best" : "" }, make("th", { scope: "row", ...place }, text), ...cells);
  });
  const titles = ["key of", "q·k", "÷ √d_k", "mask", "softmax: weight"];
  const heads = titles.map((title, i) => make("th", { scope: "col", className: i ? `step-${i}` : "" }, title));
  const table = make(
    "table",
    { className: "scores" },
    make("caption", {}, caption),
    make("thead", {}, make("tr", {}, ...heads)),
    make("tbody", {}, ...rows),
  );
  const place = make("div", { className: "scrolls steps", role: "region", "aria-label": "Scores and weights", tabIndex: 0 }, table);
  const written = [...query.slice(0, MAX_PRODUCTS)].map((value, i) => `(${two_decimals(value)})(${two_decimals(key[i])})`);
  const sum = `q·k = ${written.join(" + ")} + … = ${two_decimals(products[best])}`;
  const formula = `${sum}; divided by √${d_k}: ${two_decimals(scores.scaled[best])}`;
  place.dataset.step = shown;
  return [make("p", { className: "formula" }, formula), ...draw_step_controls(), place];
}

/**
 * Return the choice of a step and, where motion is welcome, a button that plays all. What they change is
 * looked for when they are pressed: another drawing may have put other elements there.
 */
function draw_step_controls() {
  const picker = make("fieldset", { id: "equation-picker", className: "segments" });
  picker.append(make("legend", {}, "Attention, step by step"));
  fill_step_picker(picker);
  if (matchMedia(CALM).matches) return [picker];
  const play = make("button", { type: "button" }, "Play the steps");
  play.addEventListener("click", play_steps);
  return [picker, play];
}

function fill_step_picker(picker) {
  fill_radios(picker, STEPS, shown, (step) => {
    clearInterval(timer);
    show_step(step);
  });
}

/** Show the columns up to a step; return whether there are any. */
function show_step(step) {
  const place = document.querySelector("#numbers .steps");
  if (place === null) return false;
  shown = step;
  place.dataset.step = step;
  return true;
}

/** Show the first step, and the others one after the other. */
function play_steps() {
  clearInterval(timer);
  const show = (step) => {
    if (!show_step(step)) return clearInterval(timer);
    fill_step_picker(by_id("equation-picker"));
    if (step === STEPS.at(-1)[0]) clearInterval(timer);
  };
  show("1");
  timer = setInterval(() => show(String(Number(shown) + 1)), A_STEP);
}

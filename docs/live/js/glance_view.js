// Equation 1 in one picture, without a box being opened: the cross-attention of the head that is lit, or of
// the one that looks at the source most strongly at this step.

import { by_id, make, readable, say } from "./dom.js";
import { describe_step } from "./flow_layout.js";
import { paint, viridis } from "./heat_map.js";
import { largest_magnitude, signed_colour } from "./strip.js";

const PARTS = {
  query: "queries Q",
  key: "keys Kᵀ",
  weights: "weights",
  value: "× values V",
  output: "= output",
};
const BY_ROW = ["query", "weights", "output"]; // with a row for each target token

let drawn_of = []; // the values that the matrices were drawn of

/** Put the picture's parts into its button, which opens the head that is shown. */
export function set_up_glance(open_head) {
  const parts = Object.entries(PARTS).map(([name, caption]) => {
    const covers = BY_ROW.includes(name) ? [make("i", { className: "unread" }), make("i", { className: "at" })] : [];
    const matrix = make("span", { className: "matrix" }, make("canvas"), ...covers);
    return make("span", { className: `part-of-glance ${name}` }, matrix, make("span", { className: "name" }, caption));
  });
  const words = ["title", "row-token", "col-token"].map((className) => make("span", { className }));
  by_id("glance").replaceChildren(...words, ...parts);
  by_id("glance").addEventListener("click", () => open_head(drawn_of[0]));
}

/**
 * Draw the cross-attention at a step.
 * @param {object} state layer, lit (0 for the strongest head at this step), step; langs, of both sides.
 * @param {object} traced The worker's (see trace.js).
 * @param {object} tokens src, tgt and read.
 */
export function draw_glance({ layer, lit, step, langs }, traced, tokens) {
  const place = by_id("glance");
  const at = Math.min(step, tokens.tgt.length) - 1;
  const { heads } = traced.decoder[layer - 1].cross;
  const head = lit || describe_step(tokens, at, heads, traced.next[at][0]).head;
  const values = heads[head - 1];
  if (drawn_of[1] !== values) draw_matrices(place, values, { stack: "cross", layer, head });
  const { cols, data } = values.weights;
  const row = data.subarray(at * cols, (at + 1) * cols);
  const best = row.indexOf(Math.max(...row));
  const shares = { "--row": at, "--rows": tokens.tgt.length, "--col": best, "--cols": cols };
  for (const [name, value] of Object.entries(shares)) place.style.setProperty(name, value);
  for (const [side, name, token] of [["tgt", ".row-token", tokens.read[at]], ["src", ".col-token", tokens.src[best]]]) {
    const shown = place.querySelector(name);
    shown.lang = langs[side];
    say(shown, readable(token));
  }
}

/** Paint a head's matrices, and say whose they are. */
function draw_matrices(place, values, head) {
  drawn_of = [head, values];
  say(place.querySelector(".title"), `Inside the cross-attention, layer ${head.layer}, head ${head.head}: softmax(QKᵀ ÷ √d_k) V`);
  for (const name of Object.keys(PARTS)) {
    const matrix = name === "key" ? transposed(values.key) : values[name];
    const most = largest_magnitude(matrix.data) || 1;
    const colour_of = name === "weights" ? viridis : (value) => signed_colour(value / most);
    paint(place.querySelector(`.${name} canvas`), matrix, colour_of);
  }
}

/** Return a matrix whose rows are the columns of another. */
export function transposed({ rows, cols, data }) {
  return { rows: cols, cols: rows, data: data.map((_, i) => data[(i % rows) * cols + Math.floor(i / rows)]) };
}

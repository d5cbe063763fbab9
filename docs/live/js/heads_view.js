// An attention's heads: a picker, and the map of the one chosen.

import { by_id, make, refill, say } from "./dom.js";
import { draw_map, draw_small, mark_row } from "./heat_map.js";

/** Return a head's name as the package writes it: "cross 2.1". */
export const head_name = ({ stack, layer, head }) => `${stack} ${layer}.${head}`;

/** Return whether two heads are the same. */
export const same_head = (a, b) => head_name(a) === head_name(b);

let drawn_of = []; // the values that the section was drawn of

/**
 * Draw the section, where anything but the step has changed; the step's row is marked.
 * @param {object} state head, shown ("whole" or "cut"), cuts; src_at and step, for the row.
 * @param {object} result The worker's: whole and cut.
 * @param {object} act choose_head, toggle_head: what the controls do.
 */
export function draw_heads(state, result, act) {
  const { cut, whole } = result;
  const looked = state.shown === "cut" && cut !== null ? cut : whole;
  const { stack, layer, head } = state.head;
  const current = stack === "encoder" ? state.src_at : Math.min(state.step, looked.tgt_tokens.length) - 1;
  const values = [looked, head_name(state.head), JSON.stringify(state.cuts)];
  if (values.every((value, i) => value === drawn_of[i])) {
    mark_row(by_id("map"), current);
    return;
  }
  drawn_of = values;
  draw_head_picker(state, looked.maps[stack], act);
  draw_remove_button(state, act);
  const sides = { encoder: ["src", "src"], decoder: ["said", "read"], cross: ["said", "src"] };
  const tokens = {
    src: looked.src_tokens,
    said: looked.tgt_tokens,
    read: ["<bos>", ...looked.tgt_tokens.slice(0, -1)],
  };
  const [rows, cols] = sides[stack].map((side) => tokens[side]);
  const row_side = stack === "encoder" ? "src" : "tgt";
  const map = {
    row_places: rows.map((_, i) => [row_side, i]),
    col_places: cols.map((_, j) => (stack === "decoder" ? ["tgt", j - 1] : ["src", j])),
    weights: looked.maps[stack][layer - 1][head - 1],
    row_tokens: rows,
    col_tokens: cols,
    langs: state.langs,
    hidden: hidden_columns(state, looked === cut),
    caption: `Attention weights of ${head_name(state.head)}, 0 to 1`,
  };
  say(by_id("readout"), "Point at a square, or walk with the arrow keys.");
  draw_map(by_id("map"), map, by_id("readout"));
  mark_row(by_id("map"), current);
}

/** Return the places that the stack shown cannot attend to. */
function hidden_columns({ head: { stack }, cuts }, is_cut) {
  if (!is_cut || stack === "decoder") return new Set();
  return new Set(stack === "encoder" ? cuts.before : [...cuts.before, ...cuts.after]);
}

/** Draw each head of the stack small, as a radio button. */
function draw_head_picker(state, layers, act) {
  const picker = by_id("head-picker");
  const rows = layers.map((heads, l) => {
    const labels = heads.map((weights, h) => {
      const one = { stack: state.head.stack, layer: l + 1, head: h + 1 };
      const removed = state.cuts.removed.some((other) => same_head(other, one));
      const chosen = same_head(one, state.head);
      const value = `${one.layer}.${one.head}`;
      const name = `Layer ${one.layer}, head ${one.head}${removed ? ", removed" : ""}`;
      const input = make("input", { type: "radio", name: "head", value, checked: chosen });
      input.setAttribute("aria-label", name);
      input.addEventListener("change", () => act.choose_head(one));
      const text = make("span", { "aria-hidden": "true" }, value);
      return make("label", { className: removed ? "removed" : "" }, input, draw_small(weights), text);
    });
    return make("div", { className: "layer" }, ...labels);
  });
  refill(picker, ...rows);
}

/** Name the button after the head that it removes or puts back. */
function draw_remove_button(state, act) {
  const button = by_id("remove-head");
  const removed = state.cuts.removed.some((other) => same_head(other, state.head));
  button.setAttribute("aria-pressed", String(removed));
  say(button, `${removed ? "Put back" : "Remove"} head ${head_name(state.head)}`);
  button.onclick = () => act.toggle_head(state.head);
}

// What an opened box shows: the numbers that flow through it at the chosen token.

import { BOXES, is_layered } from "./boxes.js";
import { by_id, chance_text, draw_bar, fill_radios, make, readable, say, two_decimals } from "./dom.js";
import { isolate } from "./languages.js";
import { draw_strip } from "./strip.js";

const MAX_PRODUCTS = 4; // of a dot product that are written out

/**
 * Draw the opened box.
 * @param {object} state box, layer, head, src_at, step.
 * @param {object} traced The worker's (see trace.js).
 * @param {object} tokens src, and tgt with what it has read, `read`.
 * @param {object} act choose_layer: what the controls do.
 */
export function draw_box(state, traced, tokens, act) {
  const box = BOXES[state.box];
  say(by_id("box-title"), box.name);
  by_id("box-section").textContent = `${box.section} · `;
  by_id("box-section").append(make("a", { href: `js/${box.file}` }, box.file));
  say(by_id("box-does"), box.does);
  const picker = by_id("layer-picker");
  picker.hidden = !is_layered(state.box) || box.head !== undefined;
  const layers = traced.encoder.map((_, l) => [String(l + 1), `layer ${l + 1}`]);
  fill_radios(picker, layers, String(state.layer), (layer) => act.choose_layer(Number(layer)));
  const on_source = box.stack === "encoder";
  const at = on_source ? state.src_at : Math.min(state.step, tokens.tgt.length) - 1;
  const [read, said] = [tokens.read, tokens.tgt].map((side) => in_english(side[at] ?? ""));
  const token = on_source ? `“${in_english(tokens.src[at])}”` : `“${read}”, before “${said}”`;
  by_id("numbers").replaceChildren(...numbers(state, traced, tokens, at, token));
}

/** Return a token as it may stand in an English sentence. */
const in_english = (token) => isolate(readable(token));

/** Return the elements of a box at a place. */
function numbers(state, traced, tokens, at, token) {
  const box = BOXES[state.box];
  if (state.box === "output") return next_tokens(traced.next[at], readable(tokens.tgt[at]));
  if (!is_layered(state.box)) return embedding(traced[state.box], at, token);
  const layer = traced[box.stack][(box.head ? state.head.layer : state.layer) - 1];
  if (box.head) return attention(layer[box.head], state, tokens, at, token);
  if (box.frame) return frame(layer[box.frame], at, token);
  return feed_forward(layer[state.box], at, token);
}

function embedding({ ids, word, position, sum }, at, token) {
  return [
    make("p", {}, make("b", {}, token), ` has the id ${ids[at]} in the vocabulary, and stands at position ${at}.`),
    draw_strip("its row × √d_model", row_of(word, at)),
    draw_strip(`encoding of position ${at}`, row_of(position, at)),
    draw_strip("sum", row_of(sum, at)),
  ];
}

/** One head's way from queries and keys to its output (§3.2.1, Eq. 1). */
function attention({ heads, mask }, { box, head }, tokens, at, token) {
  const { query, key, products, weights, output } = heads[head.head - 1];
  const row = row_of(weights, at);
  const best = row.indexOf(Math.max(...row));
  const columns = box === "decoder" ? tokens.read : tokens.src;
  const q = row_of(query, at);
  const k = row_of(key, best);
  const d_k = q.length;
  const score = row_of(products, at)[best] / Math.sqrt(d_k);
  const written = [...q.slice(0, MAX_PRODUCTS)].map(
    (value, i) => `(${two_decimals(value)})(${two_decimals(k[i])})`,
  );
  const allowed = (j) => row_of(mask, mask.rows === 1 ? 0 : at)[j];
  const rows = columns.map((column, j) => {
    const scaled = row_of(products, at)[j] / Math.sqrt(d_k);
    const cells = [
      make("th", { scope: "row", ...place_of(box, j) }, readable(column)),
      make("td", {}, allowed(j) ? two_decimals(scaled) : "masked"),
      make("td", {}, draw_bar(row[j]), chance_text(row[j])),
    ];
    return make("tr", { className: j === best ? "best" : "" }, ...cells);
  });
  const titles = ["key of", "q·k / √d_k", "softmax: weight"];
  const table = make(
    "table",
    { className: "scores" },
    make("caption", {}, `The query of ${token}, layer ${head.layer}, head ${head.head}`),
    make("thead", {}, make("tr", {}, ...titles.map((title) => make("th", { scope: "col" }, title)))),
    make("tbody", {}, ...rows),
  );
  const sum = `q·k = ${written.join(" + ")} + … = ${two_decimals(row_of(products, at)[best])}`;
  return [
    draw_strip(`query of ${token}`, q),
    draw_strip(`key of “${in_english(columns[best])}”, its best`, k),
    make("p", { className: "formula" }, `${sum}; divided by √${d_k}: ${two_decimals(score)}`),
    make("div", { className: "scrolls", role: "region", "aria-label": "Scores and weights", tabIndex: 0 }, table),
    draw_strip("output: values, averaged with these weights", row_of(output, at)),
  ];
}

/** Return the place of a key's token: the decoder's first key is <bos>'s, its next the first token's. */
function place_of(box, j) {
  const side = box === "decoder" ? "tgt" : "src";
  return { "data-side": side, "data-at": box === "decoder" ? j - 1 : j };
}

function frame({ hidden, output, sum }, at, token) {
  const share = length(row_of(output, at)) / length(row_of(hidden, at));
  return [
    draw_strip(`${token}, as it went in`, row_of(hidden, at)),
    draw_strip("what the sub-layer adds", row_of(output, at)),
    draw_strip("sum", row_of(sum, at)),
    make("p", {}, `The sub-layer's vector is ${two_decimals(share)} times as long as what went in.`),
  ];
}

function feed_forward({ hidden, inner, output }, at, token) {
  const open = row_of(inner, at).filter((value) => value > 0).length;
  return [
    draw_strip(`${token}, as it went in`, row_of(hidden, at)),
    draw_strip("inner numbers, after ReLU", row_of(inner, at)),
    make("p", {}, `${open} of ${inner.cols} are above 0.`),
    draw_strip("output", row_of(output, at)),
  ];
}

function next_tokens(next, written) {
  const rows = next.map(({ piece, logit, chance }) =>
    make(
      "tr",
      { className: readable(piece) === written ? "best" : "" },
      make("th", { scope: "row" }, readable(piece)),
      make("td", {}, two_decimals(logit)),
      make("td", {}, draw_bar(chance), chance_text(chance)),
    ),
  );
  const titles = ["token", "logit", "softmax: probability"];
  return [
    make(
      "table",
      { className: "scores" },
      make("caption", {}, `The most probable tokens where “${isolate(written)}” was written`),
      make("thead", {}, make("tr", {}, ...titles.map((title) => make("th", { scope: "col" }, title)))),
      make("tbody", {}, ...rows),
    ),
  ];
}

/** Return a row of a matrix that has come from the worker, and has lost its methods on the way. */
const row_of = ({ cols, data }, at) => data.subarray(at * cols, (at + 1) * cols);

const length = (values) => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));

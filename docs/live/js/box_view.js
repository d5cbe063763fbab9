// What an opened box shows: the numbers that flow through it at the chosen token.

import { draw_attention_steps } from "./attention_steps.js";
import { BOXES, is_layered } from "./boxes.js";
import { by_id, chance_text, draw_bar, make, readable, say, two_decimals, update_children } from "./dom.js";
import { isolate } from "./languages.js";
import { next_at } from "./next_view.js";
import { draw_strip } from "./strip.js";

const NORM_PLACES = {
  true: "This model normalises the input before the sub-layer, and not the sum (pre-norm); the paper normalises the sum.",
  false: "The sum is normalised, as in the paper (post-norm).",
};

const MOST_ROWS = 8; // next tokens in the table
let drawn = null; // the box that was drawn last

/**
 * Draw the opened box.
 * @param {object} state box, layer, head, src_at, step.
 * @param {object} traced The worker's (see trace.js).
 * @param {object} tokens src, and tgt with what it has read, `read`.
 * @param {boolean} pre_norm Whether the model normalises a sub-layer's input, not the sum.
 */
export function draw_box(state, traced, tokens, pre_norm) {
  const box = BOXES[state.box];
  say(by_id("box-title"), box.name);
  const link = make("a", { href: `js/${box.file}` }, box.file);
  update_children(by_id("box-section"), [document.createTextNode(`${box.section} · `), link]);
  say(by_id("box-does"), box.frame ? `${box.does} ${NORM_PLACES[pre_norm]}` : box.does);
  const on_source = box.stack === "encoder";
  const at = on_source ? state.src_at : Math.min(state.step, tokens.tgt.length) - 1;
  const [read, said] = [tokens.read, tokens.tgt].map((side) => in_english(side[at] ?? ""));
  const token = on_source ? `“${in_english(tokens.src[at])}”` : `“${read}”, before “${said}”`;
  const shown = numbers(state, traced, tokens, at, token, pre_norm);
  if (state.box === drawn) update_children(by_id("numbers"), shown);
  else by_id("numbers").replaceChildren(...shown);
  drawn = state.box;
}

/** Return a token as it may stand in an English sentence. */
const in_english = (token) => isolate(readable(token));

/** Return the elements of a box at a place. */
function numbers(state, traced, tokens, at, token, pre_norm) {
  const box = BOXES[state.box];
  if (state.box === "output") return next_tokens(traced, at, tokens.tgt[at], state.options.temperature);
  if (state.box === "memory" || state.box === "decoder_end") return last_norm(traced[state.box], at, token);
  if (!is_layered(state.box)) return embedding(traced[state.box], at, token);
  const layer = traced[box.stack][state.layer - 1];
  if (box.head) return attention(layer[box.head], state, tokens, at, token);
  if (box.frame) return frame(layer[box.frame], at, token, pre_norm);
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
  const columns = box === "decoder" ? tokens.read : tokens.src;
  const row = row_of(weights, at);
  const best = row.indexOf(Math.max(...row));
  const steps = {
    ...{ query: row_of(query, at), key: row_of(key, best), products: row_of(products, at), weights: row },
    ...{ allowed: row_of(mask, mask.rows === 1 ? 0 : at), best },
    keys: columns.map((column, j) => ({ text: readable(column), place: place_of(box, j) })),
    caption: `The query of ${token}, layer ${head.layer}, head ${head.head}`,
  };
  return [
    draw_strip(`query of ${token}`, steps.query),
    draw_strip(`key of “${in_english(columns[best])}”, its best`, steps.key),
    ...draw_attention_steps(steps),
    draw_strip("output: values, averaged with these weights", row_of(output, at)),
  ];
}

/** Return the place of a key's token: the decoder's first key is <bos>'s, its next the first token's. */
function place_of(box, j) {
  const side = box === "decoder" ? "tgt" : "src";
  return { "data-side": side, "data-at": box === "decoder" ? j - 1 : j };
}

function frame({ hidden, read, output, sum }, at, token, pre_norm) {
  const share = length(row_of(output, at)) / length(row_of(hidden, at));
  return [
    draw_strip(`${token}, as it went in`, row_of(hidden, at)),
    ...(pre_norm ? [draw_strip("normalised: what the sub-layer reads", row_of(read, at))] : []),
    draw_strip("what the sub-layer adds", row_of(output, at)),
    draw_strip(pre_norm ? "sum" : "sum, normalised", row_of(sum, at)),
    make("p", {}, `The sub-layer's vector is ${two_decimals(share)} times as long as what went in.`),
  ];
}

function last_norm({ hidden, output }, at, token) {
  return [
    draw_strip(`${token}, after the last layer`, row_of(hidden, at)),
    draw_strip("normalised", row_of(output, at)),
  ];
}

function feed_forward({ read, inner, output }, at, token) {
  const open = row_of(inner, at).filter((value) => value > 0).length;
  return [
    draw_strip(`${token}, as the sub-layer reads it`, row_of(read, at)),
    draw_strip("inner numbers, after ReLU", row_of(inner, at)),
    make("p", {}, `${open} of ${inner.cols} are above 0.`),
    draw_strip("output", row_of(output, at)),
  ];
}

function next_tokens(traced, at, written, temperature) {
  const rows = next_at(traced, at, temperature).slice(0, MOST_ROWS).map(({ piece, logit, chance }) =>
    make(
      "tr",
      { className: piece === written ? "best" : "" },
      make("th", { scope: "row" }, readable(piece)),
      make("td", {}, two_decimals(logit)),
      make("td", {}, draw_bar(chance), chance_text(chance)),
    ),
  );
  const titles = ["token", "logit", temperature === 1 ? "softmax: probability" : `softmax(logit ÷ ${temperature})`];
  return [
    make(
      "table",
      { className: "scores" },
      make("caption", {}, `The most probable tokens where “${in_english(written)}” was written`),
      make("thead", {}, make("tr", {}, ...titles.map((title) => make("th", { scope: "col" }, title)))),
      make("tbody", {}, ...rows),
    ),
  ];
}

/** Return a row of a matrix that has come from the worker, and has lost its methods on the way. */
const row_of = ({ cols, data }, at) => data.subarray(at * cols, (at + 1) * cols);

const length = (values) => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));

// The drawing: a sentence's tokens flow through the model's parts to the next token's probabilities.
// A ribbon's width is an attention weight, its colour the head; each token's own line is the residual
// stream, which runs past every sub-layer.

import { by_id, chance_text, make, make_svg, readable, say, two_decimals } from "./dom.js";
import { BOXES } from "./boxes.js";
import { describe_step, lay_out, ribbons_of, ROW } from "./flow_layout.js";
import { isolate } from "./languages.js";
import { draw_next, next_at, place_temperature } from "./next_view.js";

const KINDS = { norm: "Norm", add: "+", feed: "Feed-forward", linear: "Linear & softmax", embed: "Embedding + position" };
const NAMES = { encoder: "Encoder", decoder: "Decoder" };
const NUM_COLOURS = 8; // of heads, in style.css

/** Return a head's colour class; heads beyond the eighth begin again. */
export const head_class = (head) => `head-${((head - 1) % NUM_COLOURS) + 1}`;

/**
 * Draw the model at a step.
 * @param {object} state layer, lit (the head that is lit, 0 for all), step, src_at, box; options: temperature.
 * @param {object} traced The worker's (see trace.js), of the model that is shown.
 * @param {object} tokens src, tgt and read.
 * @param {object} about The worker's: pre_norm, num_layers.
 * @param {number} width Of the drawing, pixels.
 */
export function draw_flow(state, traced, tokens, about, width) {
  const sizes = { pre_norm: about.pre_norm, src_len: tokens.src.length, tgt_len: tokens.tgt.length };
  const layout = find_layout(width, sizes);
  const at = Math.min(state.step, tokens.tgt.length) - 1;
  const { temperature } = state.options;
  const next = next_at(traced, at, temperature);
  const view = { layout, at, state, traced, tokens, next, layer: state.layer - 1 };
  const ways = [traced, state.layer, state.lit, layout];
  refill_group("stacks", [layout, about.num_layers], () => draw_stacks(layout, about.num_layers));
  refill_group("source", ways, () => [
    draw_lines(layout.encoder, "source"),
    draw_feed_forward_widths(view, "encoder"),
    draw_attention(view, "encoder"),
  ]);
  refill_group("target", ways, () => [
    draw_lines(layout.decoder, "target"),
    draw_feed_forward_widths(view, "decoder"),
    draw_attention(view, "decoder"),
    draw_attention(view, "cross"),
  ]);
  refill_group("next", [...ways, at, temperature], () => draw_next(view));
  mark_rows("source", state.src_at, Infinity);
  mark_rows("target", at, at);
  place_buttons(layout);
  place_temperature(layout, temperature);
  say_step(view);
}

let laid_out = { width: 0, sizes: "", layout: null };

/** Return where everything stands; the same object while neither width nor sizes change. */
function find_layout(width, sizes) {
  const asked = JSON.stringify(sizes);
  if (laid_out.width === width && laid_out.sizes === asked) return laid_out.layout;
  const layout = lay_out(width, sizes);
  laid_out = { width, sizes: asked, layout };
  const { is_narrow, is_dense, bars, height } = layout;
  by_id("stage").classList.toggle("narrow", is_narrow);
  by_id("stage").classList.toggle("dense", is_dense);
  by_id("stage").classList.toggle("bars-below", bars.is_below);
  by_id("stage").style.setProperty("--bars", `${height - layout.decoder.bottom}px`);
  by_id("stage").classList.toggle("wide", !is_narrow && !is_dense);
  by_id("stage").style.setProperty("--height", `${height}px`);
  by_id("stage").style.setProperty("--upper", `${layout.decoder.top}px`);
  by_id("drawing").setAttribute("viewBox", `0 0 ${width} ${height}`);
  by_id("drawing").setAttribute("height", height);
  return layout;
}

const drawn_of = new Map(); // of each group the values that it was drawn of

/** Fill a group of the drawing with what `draw` returns, unless it was drawn of the same values. */
function refill_group(name, values, draw) {
  if (drawn_of.get(name)?.every((value, i) => value === values[i])) return;
  drawn_of.set(name, values);
  by_id(`${name}-group`).replaceChildren(...draw());
}

/** Mark the chosen row of lines and ribbons, and those beyond the last one that is written. */
function mark_rows(name, chosen, last) {
  for (const part of by_id(`${name}-group`).children) {
    [...part.children].forEach((row, i) => {
      row.classList.toggle("chosen", i === chosen);
      row.classList.toggle("open", i > last);
    });
  }
}

/** Draw what is there before any token: both stacks, and what the encoder's result is called. */
function draw_stacks(layout, num_layers) {
  const { encoder, decoder } = layout;
  return [
    draw_stack(encoder, num_layers, "encoder", layout),
    draw_stack(decoder, num_layers, "decoder", layout),
    draw_memory(layout),
  ];
}

/** Draw a stack's frame, N times, and the residual connections: each past a sub-layer and its norm. */
function draw_stack({ top, lane, parts, from, to, bottom }, num_layers, stack, { is_narrow, is_dense }) {
  const frame = make_svg("rect", { class: "frame", x: from, y: top + 1, width: to - from, height: bottom - top - 2, rx: 8 });
  const times = `${num_layers} ×`;
  const label = make_svg("text", { class: "frame-label", x: from + (is_dense ? 3 : 10), y: top + 25 }, is_narrow ? "" : times);
  const arrows = parts.flatMap((part, i) => {
    if (part.kind !== "add") return [];
    const first = parts.findIndex(({ box, frame: of }) => box === part.frame || of === part.frame);
    const start = parts[first].x - 4;
    const end = part.x + part.width / 2;
    const [low, high] = [top + lane, top + (lane > 20 ? 7 : 5)];
    const path = `M${start} ${low}V${high + 5}Q${start} ${high} ${start + 5} ${high}H${end - 5}Q${end} ${high} ${end} ${high + 5}V${low - 3}`;
    return [
      make_svg("path", { class: "residual", d: path }),
      make_svg("path", { class: "tip", d: `M${end - 3.5} ${low - 6}L${end} ${low}L${end + 3.5} ${low - 6}Z` }),
    ];
  });
  const name = make_svg("text", { class: "stack-name", x: 0, y: top + (is_narrow ? 12 : 24) });
  name.append(is_narrow ? `${NAMES[stack]} ${times}` : NAMES[stack]);
  // A wide drawing's parts are buttons.
  const thin = is_narrow ? parts.filter(({ kind }) => kind !== "attention") : [];
  const slabs = thin.map(({ kind, x, width }) => {
    const across = { class: "part", x, width, rx: kind === "add" ? width / 2 : 2 };
    const along = kind === "add" ? { y: (top + lane + bottom - width) / 2, height: width } : { y: top + lane, height: bottom - top - lane };
    return make_svg("rect", { ...across, ...along });
  });
  return make_svg("g", { class: stack }, frame, label, name, ...slabs, ...arrows);
}

/** Draw each token's line from its embedding to the stack's end. */
function draw_lines({ parts, rows }, className) {
  const end = parts.at(-1);
  const lines = rows.map((y) => make_svg("path", { class: "line", d: `M${parts[0].x - 8} ${y}H${end.x + end.width / 2}` }));
  return make_svg("g", { class: className }, ...lines);
}

/** Draw how wide each token's vector becomes in the feed-forward network: d_model to d_ff to d_model. */
function draw_feed_forward_widths({ layout, traced, layer }, stack) {
  const box = `${stack}_feed`;
  const { top, lane, parts, rows } = layout[stack];
  const { x, width } = parts.find((part) => part.box === box);
  const { read, inner } = traced[stack][layer][box];
  const widest = Math.max(read.cols, inner.cols);
  const [thin, thick] = [read.cols, inner.cols].map((size) => (size / widest) * (ROW / 2 - 1));
  const bow = 2 * thick - thin; // of a curve whose middle is `thick`
  const outlines = rows.map((y) => {
    const d = `M${x} ${y - thin}q${width / 2} ${thin - bow} ${width} 0v${2 * thin}q${-width / 2} ${bow - thin} ${-width} 0Z`;
    return make_svg("path", { class: "widths", d });
  });
  const label = { class: "frame-label", x: x + width / 2, y: top + lane - 7, "text-anchor": "middle" };
  const wide = layout.is_narrow || layout.is_dense ? [] : [make_svg("text", label, `${inner.cols} wide`)];
  return make_svg("g", { class: stack }, ...outlines, ...wide);
}

/** Draw an attention's ribbons, of all heads, those of each query in a group. */
function draw_attention({ layout, state, traced, layer }, box) {
  const stack = box === "encoder" ? "encoder" : "decoder";
  const { parts, rows } = layout[stack];
  const { x, width } = parts.find((part) => part.box === box);
  const heads = traced[stack][layer][box].heads.map(({ weights }) => weights);
  const memory = layout.encoder.parts.at(-1);
  const start = box === "cross" ? memory.x + memory.width : x;
  const from_rows = box === "cross" ? layout.encoder.rows : rows;
  const bend = (x + width - start) * (box === "cross" ? 0.55 : 0.5);
  const groups = rows.map(() => make_svg("g", { class: "query" }));
  for (const { head, from, to, weight, offset } of ribbons_of(heads)) {
    const lit = state.lit === 0 || state.lit === head;
    const [y0, y1] = [from_rows[from], rows[to] + offset * ROW * 0.8];
    const thick = Math.max((weight / heads.length) * ROW * 0.8, 0.75);
    const d = `M${start} ${y0}C${start + bend} ${y0} ${x + width - bend} ${y1} ${x + width} ${y1}`;
    const marks = `ribbon ${head_class(head)}${lit ? "" : " unlit"}`;
    groups[to].append(make_svg("path", { class: marks, d, "stroke-width": thick.toFixed(2), pathLength: 1 }));
  }
  return make_svg("g", { class: `of-${box}` }, ...groups);
}

/** Say at the encoder's end what its lines are called. */
function draw_memory(layout) {
  const end = layout.encoder.parts.at(-1);
  const label = { class: "memory-label", x: end.x + end.width + 6, y: layout.encoder.top + 13 };
  return make_svg("text", label, layout.is_narrow ? "" : "memory, for every decoder layer");
}

let placed = []; // the layout by which buttons were placed last, and the first button of each row

/** Put the boxes' and the tokens' buttons where the layout has them. */
function place_buttons(layout) {
  const firsts = ["encoder-boxes", "src-tokens", "tgt-tokens"].map((id) => by_id(id).firstChild);
  const values = [layout, ...firsts];
  if (values.every((value, i) => value === placed[i])) return;
  placed = values;
  const { encoder, decoder, token_width, is_narrow } = layout;
  for (const [stack, { top, lane, parts, bottom, rows }] of Object.entries({ encoder, decoder })) {
    const buttons = by_id(`${stack}-boxes`).children;
    parts.forEach(({ kind, x, width }, i) => {
      const is_title = kind === "attention";
      const box = { left: x, top: is_title ? top + 10 : top + lane, width, height: is_title ? 24 : bottom - top - lane };
      for (const [name, value] of Object.entries(box)) buttons[i].style[name] = `${value}px`;
    });
    const tokens = by_id(stack === "encoder" ? "src-tokens" : "tgt-tokens").children;
    rows.forEach((y, i) => {
      tokens[i].style.top = `${y - ROW / 2 + 1}px`;
      tokens[i].style.width = `${token_width - (is_narrow ? 4 : 2)}px`;
    });
  }
}

/** Fill the buttons of both stacks, one for each part (see `stack_parts`). */
export function draw_box_buttons(layouts, open_box) {
  for (const [stack, parts] of Object.entries(layouts)) {
    const buttons = parts.map(({ kind, box }) => {
      const name = KINDS[kind] ?? BOXES[box].name;
      const label = kind === "norm" || kind === "add" ? `${name === "+" ? "Add" : name}: ${BOXES[box].name}` : BOXES[box].name;
      const button = make("button", { type: "button", className: `${kind} ${stack}`, "aria-label": label });
      button.append(make("span", {}, name));
      button.dataset.box = box;
      button.addEventListener("click", () => open_box(box));
      return button;
    });
    by_id(`${stack}-boxes`).replaceChildren(...buttons);
  }
}

/** Say beside the drawing, and as its description, what happens at this step. */
function say_step({ at, state, traced, tokens, next, layer }) {
  const heads = traced.decoder[layer].cross.heads;
  const told = describe_step(tokens, at, heads, next[0]);
  const quoted = (token) => `“${isolate(readable(token))}”`;
  const { temperature } = state.options;
  const condition = temperature === 1 ? "" : ` at temperature ${temperature}`;
  const read = told.read.map((token) => isolate(readable(token))).join(" ");
  say(
    by_id("now"),
    `Step ${at + 1}: the decoder has read “${read}”. In layer ${layer + 1} its strongest look at the source is head ` +
      `${told.head}'s at ${quoted(told.source)} (${two_decimals(told.weight)}). Most probable next${condition}: ` +
      `${quoted(told.next)}, ${chance_text(told.chance)}.`,
  );
}

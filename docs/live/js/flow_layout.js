// Where everything stands in the drawing: the parts of both stacks from left to right, in the order in
// which the model computes them, and a row for each token. Lengths are in pixels.

export const ROW = 24; // of a token
const BAR = 18; // of a next token
const [LEAST_NUM_BARS, MOST_NUM_BARS] = [8, 16]; // next tokens that are drawn: as many as the decoder has room for
const TEMPERATURE = 28; // of its control, below them
const WIDE = 1200; // below it, and beside an open panel, the parts are dense
const BARS_BELOW = 835; // below it the next tokens stand below the decoder, for its boxes need the width
const NARROW = 700; // below it the parts are thin
const WIDE_SIZES = { token: 118, embed: 28, norm: 26, add: 26, feed: 60, linear: 44, gap: 9, lane: 34 };
const DENSE_SIZES = { token: 88, embed: 22, norm: 20, add: 20, feed: 26, linear: 26, gap: 5, lane: 34 };
const NARROW_SIZES = { token: 70, embed: 12, norm: 10, add: 11, feed: 15, linear: 15, gap: 2, lane: 16 };
const BETWEEN = 6; // encoder and decoder
// Of a box, whose name is written upwards in it; narrow boxes have their names elsewhere.
const LEAST_BOX = 150;
const LEAST_ABOVE = 260; // of the encoder's height in a wide drawing, for what stands beside it
const LEAST_ATTENTION = 16;
const LEAST_BARS = 230;
const DENSE_BARS = 190;
const BARS_SHARE = 0.46; // of the width, where they stand below, beside what is said of the step
const OWN_SHARE = 0.64; // of the decoder's room for attention, its self-attention's

/**
 * Return the parts of a stack in the order in which it computes them.
 * @param {string} stack "encoder" or "decoder".
 * @param {boolean} pre_norm Whether a sub-layer's input is normalised, not the sum (the paper's way).
 * @returns {object[]} Of each part its `kind`, the `box` that it opens, whether there is one in every
 *   layer (`layered`), and, of norms and sums, the `frame`: the sub-layer that they belong to.
 */
export function stack_parts(stack, pre_norm) {
  const sublayers = stack === "encoder" ? ["encoder", "encoder_feed"] : ["decoder", "cross", "decoder_feed"];
  const layer = sublayers.flatMap((box) => {
    const around = (kind) => ({ kind, box: `${box}_norm`, frame: box, layered: true });
    const sublayer = { kind: box.endsWith("feed") ? "feed" : "attention", box, layered: true };
    return pre_norm
      ? [around("norm"), sublayer, around("add")]
      : [sublayer, around("add"), around("norm")];
  });
  const last = { kind: "norm", box: stack === "encoder" ? "memory" : "decoder_end" };
  return [
    { kind: "embed", box: stack === "encoder" ? "source" : "target" },
    ...layer,
    ...(pre_norm ? [last] : []),
    ...(stack === "decoder" ? [{ kind: "linear", box: "output" }] : []),
  ];
}

/** Put parts beside each other; an attention is as wide as `widths` says of its box. */
function place_parts(parts, sizes, widths) {
  let x = sizes.token + sizes.gap;
  return parts.map((part) => {
    const placed = { ...part, x, width: widths[part.box] ?? sizes[part.kind] };
    x += placed.width + sizes.gap;
    return placed;
  });
}

/** Return the room that the bars of the next tokens have in a drawing: where they stand, of what width. */
function place_bars(width) {
  if (width < NARROW) return { x: 0, width, is_below: true, taken: 0 };
  if (width < BARS_BELOW) return { x: 0, width: Math.round(width * BARS_SHARE), is_below: true, taken: 0 };
  const taken = width < WIDE ? DENSE_BARS : Math.max(LEAST_BARS, Math.round(width * 0.19));
  return { x: width - taken + 24, width: taken - 24, is_below: false, taken };
}

/** Return the widths of the attentions, so that the memory ends left of the cross-attention. */
function attention_widths(encoder, decoder, sizes, room) {
  const fixed = (parts) =>
    parts.reduce((sum, { kind }) => sum + (sizes[kind] ?? 0) + sizes.gap, sizes.token + sizes.gap);
  const before_cross = decoder.slice(0, decoder.findIndex(({ box }) => box === "cross"));
  const left = Math.max(room - fixed(decoder), 60);
  const beyond = fixed(encoder) + sizes.gap - fixed(before_cross); // of the encoder's parts
  const own = Math.max(Math.round(left * OWN_SHARE), beyond + LEAST_ATTENTION);
  return { decoder: own, cross: left - own, encoder: own - beyond };
}

/**
 * Return where everything stands.
 * @param {number} width Of the drawing.
 * @param {object} model pre_norm; src_len and tgt_len, in tokens.
 * @returns {object} width, height, is_narrow, is_dense, token_width; of `encoder` and `decoder` the top, the
 *   height of the lane above the rows, the parts, the y of each row, the bottom, and the edges of the
 *   layer (`from`, `to`); of `bars` the x, the width, each y, the bottom, and whether they stand below the
 *   decoder.
 */
export function lay_out(width, { pre_norm, src_len, tgt_len }) {
  const is_narrow = width < NARROW;
  const is_dense = !is_narrow && width < WIDE;
  const sizes = is_narrow ? NARROW_SIZES : is_dense ? DENSE_SIZES : WIDE_SIZES;
  const { taken, ...bars } = place_bars(width);
  const [encoder, decoder] = ["encoder", "decoder"].map((stack) => stack_parts(stack, pre_norm));
  const widths = attention_widths(encoder, decoder, sizes, width - taken);
  const stack_of = (parts, top, length) => {
    const placed = place_parts(parts, sizes, widths);
    const layered = placed.filter((part) => part.layered);
    const last = layered.at(-1);
    const rows = Array.from({ length }, (_, i) => top + sizes.lane + ROW * (i + 0.5));
    const edges = { from: layered[0].x - sizes.gap / 2, to: last.x + last.width + sizes.gap / 2 };
    const bottom = top + sizes.lane + Math.max(ROW * length, is_narrow ? 0 : LEAST_BOX);
    return { top, lane: sizes.lane, parts: placed, rows, bottom, ...edges };
  };
  const above = stack_of(encoder, 0, src_len);
  const least = is_narrow || is_dense ? 0 : LEAST_ABOVE;
  const below = stack_of(decoder, Math.max(above.bottom, least) + BETWEEN, tgt_len);
  const first_bar = bars.is_below ? below.bottom + BETWEEN + ROW : below.top + below.lane;
  const num_bars = bars.is_below ? 0 : Math.floor((ROW * tgt_len - TEMPERATURE) / BAR);
  const length = Math.max(LEAST_NUM_BARS, Math.min(num_bars, MOST_NUM_BARS));
  const ys = Array.from({ length }, (_, i) => first_bar + BAR * (i + 0.5));
  const bottom = ys.at(-1) + BAR / 2;
  const height = Math.max(below.bottom, bottom + TEMPERATURE);
  return {
    ...{ width, height, is_narrow, is_dense, token_width: sizes.token, encoder: above, decoder: below },
    bars: { ...bars, ys, bottom },
  };
}

/**
 * Return the ribbons of an attention: one for each weight that can be seen.
 * @param {{rows: number, cols: number, data: Float32Array}[]} heads The weights of each head.
 * @param {number} least The smallest weight that is drawn.
 * @returns {object[]} head, from 1; from, the key's row; to, the query's; weight; and offset, from -0.5
 *   to 0.5: the ribbon's place where it arrives, among those of its query, which fill it in the order
 *   of the keys.
 */
export function ribbons_of(heads, least = 0.04) {
  const ribbons = [];
  const queries = heads[0]?.rows ?? 0;
  for (let to = 0; to < queries; to++) {
    let filled = 0; // of 1, the sum of all heads' weights over their number
    for (let from = 0; from < heads[0].cols; from++) {
      heads.forEach(({ cols, data }, h) => {
        const weight = data[to * cols + from];
        const share = weight / heads.length;
        if (weight >= least) {
          ribbons.push({ head: h + 1, from, to, weight, offset: filled + share / 2 - 0.5 });
        }
        filled += share;
      });
    }
  }
  return ribbons;
}

/**
 * Return what happens at a step: what has been read, the strongest look at the source, and the next token.
 * @param {object} tokens src, tgt and read, as a reader sees them.
 * @param {number} at The step's row, from 0.
 * @param {{weights: {cols: number, data: Float32Array}}[]} heads The chosen layer's cross-attention.
 * @param {{piece: string, chance: number}} best The most probable next token.
 * @returns {object} read, the tokens so far; the strongest look's head, from 1, source token and
 *   weight; next, a token, and its chance.
 */
export function describe_step({ src, read }, at, heads, best) {
  let strongest = { weight: -1 };
  heads.forEach(({ weights: { cols, data } }, h) => {
    for (let j = 0; j < cols; j++) {
      const weight = data[at * cols + j];
      if (weight > strongest.weight) strongest = { weight, head: h + 1, token: src[j] };
    }
  });
  return {
    ...{ read: read.slice(0, at + 1), head: strongest.head, source: strongest.token },
    ...{ weight: strongest.weight, next: best.piece, chance: best.chance },
  };
}

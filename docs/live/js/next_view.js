// The next token's probabilities: bars, each with its ribbon from the softmax, at the temperature chosen.

import { by_id, chance_text, make_svg, readable, say } from "./dom.js";
import { ROW } from "./flow_layout.js";

const SMALL = 0.005; // a probability below it has more decimals

/**
 * Return the most probable tokens of a step at a temperature: softmax(logits ÷ temperature).
 * @param {object} traced The worker's: `next`, at temperature 1, and `logits`, (tgt_len, vocab_size).
 * @param {number} at The step's row, from 0.
 * @param {number} temperature Above 0. The order of the tokens is the same at each.
 */
export function next_at({ next, logits: { cols, data } }, at, temperature) {
  if (temperature === 1) return next[at];
  const largest = next[at][0].logit;
  const power = (logit) => Math.exp((logit - largest) / temperature);
  const total = data.subarray(at * cols, (at + 1) * cols).reduce((sum, logit) => sum + power(logit), 0);
  return next[at].map((token) => ({ ...token, chance: power(token.logit) / total }));
}

/** Return the bars of the next tokens; `next` is of `next_at`. */
export function draw_next({ layout, at, next, tokens }) {
  const { bars, decoder } = layout;
  const linear = decoder.parts.at(-1);
  const [start, y0] = [linear.x + linear.width, decoder.rows[at]];
  const label_width = bars.is_below ? 90 : Math.min(100, bars.width * 0.4);
  const x = bars.x + label_width + 8;
  const longest = bars.x + bars.width - x - 44;
  const drawn = next.slice(0, bars.ys.length).map(({ piece, chance }, i) => {
    const y = bars.ys[i];
    const written = piece === tokens.tgt[at];
    const d = `M${start} ${y0}C${start + 14} ${y0} ${bars.x - 16} ${y} ${bars.x - 2} ${y}`;
    const thick = Math.max(chance * ROW * 0.7, 0.75);
    const ribbon = make_svg("path", { class: "next-ribbon", d, "stroke-width": thick, pathLength: 1 });
    return make_svg(
      "g",
      { class: written ? "next written" : "next" },
      ...(bars.is_below ? [] : [ribbon]),
      make_svg("text", { class: "piece", x: bars.x + label_width, y: y + 4, "text-anchor": "end" }, shortened(readable(piece))),
      make_svg("rect", { class: "chance", x, y: y - 6, width: Math.max(chance * longest, 1), height: 12, rx: 2 }),
      make_svg("text", { class: "told", x: x + Math.max(chance * longest, 1) + 5, y: y + 4 }, small_chance(chance)),
    );
  });
  const title = make_svg("text", { class: "next-title", x: bars.x, y: bars.ys[0] - 17 }, "Next token");
  return [make_svg("g", { class: "of-next" }, title, ...drawn)];
}

const shortened = (text) => (text.length > 13 ? `${text.slice(0, 12)}…` : text);

/** Return a probability in letters: one that two decimals do not show, in four. */
function small_chance(chance) {
  if (chance >= SMALL) return chance_text(chance);
  return chance >= SMALL / 100 ? chance.toFixed(4) : "< 0.0001";
}

/** Put the temperature's control below the bars, and say what it is set to. */
export function place_temperature({ bars: { x, width, bottom } }, temperature) {
  const control = by_id("next-temperature");
  Object.assign(control.parentElement.style, { left: `${x}px`, top: `${bottom + 4}px`, width: `${width}px` });
  if (control.valueAsNumber !== temperature) control.value = temperature;
  say(by_id("next-temperature-said"), String(temperature));
}

// The drawing's places, the tour's tasks: node --test FILE

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { scores_by_step } from "../../docs/live/js/attention_steps.js";
import { BOXES } from "../../docs/live/js/boxes.js";
import { transposed } from "../../docs/live/js/glance_view.js";
import { step_from } from "../../docs/live/js/heat_map.js";
import { describe_step, lay_out, ribbons_of, stack_parts } from "../../docs/live/js/flow_layout.js";
import { next_at } from "../../docs/live/js/next_view.js";
import { panel_width, place_card, width_beside } from "../../docs/live/js/placement.js";
import { parting_step, STOPS } from "../../docs/live/js/tour.js";
import { FILES } from "../../docs/live/js/model_files.js";
import { Translator } from "../../docs/live/js/translator.js";

const kinds = (stack, pre_norm) => stack_parts(stack, pre_norm).map(({ kind }) => kind).join(" ");

test("a pre-norm model normalises before each sub-layer and at the end, the paper's after each sum", () => {
  assert.equal(kinds("encoder", true), "embed norm attention add norm feed add norm");
  assert.equal(kinds("encoder", false), "embed attention add norm feed add norm");
  const cross = "norm attention add ".repeat(2);
  assert.equal(kinds("decoder", true), `embed ${cross}norm feed add norm linear`);
  assert.equal(kinds("decoder", false), `embed ${"attention add norm ".repeat(2)}feed add norm linear`);
  for (const stack of ["encoder", "decoder"]) {
    for (const { box } of stack_parts(stack, true)) assert.equal(BOXES[box].stack, stack, box);
  }
});

test("parts stand in order, inside the drawing, and the memory left of the cross-attention", () => {
  for (const width of [310, 699, 700, 718, 834, 835, 858, 960, 1139, 1140, 1316, 1870]) {
    for (const pre_norm of [true, false]) {
      const { encoder, decoder, bars } = lay_out(width, { pre_norm, src_len: 11, tgt_len: 7 });
      for (const { parts } of [encoder, decoder]) {
        parts.slice(1).forEach((part, i) => assert.ok(part.x >= parts[i].x + parts[i].width, width));
        assert.ok(parts.at(-1).x + parts.at(-1).width <= width, `${width} ${pre_norm}`);
      }
      const memory = encoder.parts.at(-1);
      const cross = decoder.parts.find(({ box }) => box === "cross");
      assert.ok(memory.x + memory.width <= cross.x, `memory at ${width}`);
      assert.ok(cross.width > 20, `cross-attention at ${width}`);
      for (const { kind, box, width: its } of width < 700 ? [] : [...encoder.parts, ...decoder.parts]) {
        assert.ok(kind !== "attention" || its >= 90, `${box} at ${width}, whose name is to be read: ${its}`);
      }
      assert.ok(bars.x + bars.width <= width + 1);
      assert.deepEqual([encoder.rows.length, decoder.rows.length], [11, 7]);
      assert.ok(decoder.rows[0] > encoder.rows[10]);
    }
  }
});

test("ribbons: a query's fill its row in the order of the keys, and small weights are left out", () => {
  const heads = [
    { rows: 1, cols: 3, data: Float32Array.of(0.5, 0.5, 0) },
    { rows: 1, cols: 3, data: Float32Array.of(0.02, 0, 0.98) },
  ];
  const found = ribbons_of(heads).map(({ head, from, offset }) => [head, from, Number(offset.toFixed(3))]);
  // 0.25 of the row, 0.01 that is not drawn, 0.25, 0.49
  assert.deepEqual(found, [[1, 0, -0.375], [1, 1, -0.115], [2, 2, 0.255]]);
});

test("a step is described by the strongest weight of its row, and the best next token", () => {
  const heads = [
    { weights: { cols: 2, data: Float32Array.of(1, 0, 0.5, 0.5) } },
    { weights: { cols: 2, data: Float32Array.of(0, 1, 0.25, 0.75) } },
  ];
  const tokens = { src: ["a", "b"], read: ["<bos>", "x", "y"] };
  const told = describe_step(tokens, 1, heads, { piece: "z", chance: 0.5 });
  assert.deepEqual(told, { read: ["<bos>", "x"], head: 2, source: "b", weight: 0.75, next: "z", chance: 0.5 });
});

test("keys are drawn as the product has them: a column for each token", () => {
  const key = { rows: 2, cols: 3, data: Float32Array.of(1, 2, 3, 4, 5, 6) };
  assert.deepEqual(transposed(key), { rows: 3, cols: 2, data: Float32Array.of(1, 4, 2, 5, 3, 6) });
});

test("a wide drawing leaves room above the decoder, whatever the sentence's length", () => {
  const above = (src_len) => lay_out(1316, { pre_norm: true, src_len, tgt_len: 4 }).decoder.top;
  assert.equal(above(3), above(8));
  assert.ok(above(20) > above(8));
});

test("the temperature flattens or sharpens the next token's probabilities, and keeps their order", () => {
  const logits = { cols: 3, data: Float32Array.of(9, 9, 9, Math.log(8), 0, Math.log(2)) };
  const next = [[], [{ piece: "a", logit: Math.log(8), chance: 8 / 11 }, { piece: "c", logit: Math.log(2), chance: 2 / 11 }]];
  const chances = (temperature) => next_at({ next, logits }, 1, temperature).map(({ chance }) => Number(chance.toFixed(4)));
  assert.deepEqual(chances(1), [0.7273, 0.1818]);
  assert.deepEqual(chances(0.5), [0.9275, 0.058]); // 64, 4 and 1 of 69
  assert.deepEqual(chances(3), [0.4695, 0.2958]); // 2, 2^(1/3) and 1 of 4.26
});

test("a box has room for its name, written upwards, however short the sentence", () => {
  for (const width of [700, 834, 1139, 1316]) {
    const { encoder, decoder } = lay_out(width, { pre_norm: true, src_len: 2, tgt_len: 3 });
    for (const { top, lane, bottom } of [encoder, decoder]) assert.ok(bottom - top - lane >= 150, String(width));
    assert.ok(decoder.top > encoder.bottom);
  }
});

test("as many next tokens are drawn as stand beside the decoder", () => {
  const num_bars = (tgt_len) => lay_out(1316, { pre_norm: true, src_len: 9, tgt_len }).bars.ys.length;
  assert.ok(num_bars(3) < num_bars(12) && num_bars(12) <= num_bars(100));
  const { bars, decoder, height } = lay_out(1316, { pre_norm: true, src_len: 9, tgt_len: 12 });
  assert.ok(bars.bottom < decoder.bottom && decoder.bottom === height);
});

test("Equation 1 in steps: divided by the root of d_k, and nothing where the mask is 0", () => {
  const row = { products: [4, -2, 6], allowed: [1, 1, 0], weights: [0.9, 0.1, 0], d_k: 4 };
  const { product, scaled, masked, weight } = scores_by_step(row);
  assert.deepEqual([product, scaled, masked, weight], [[4, -2, 6], [2, -1, 3], [2, -1, null], [0.9, 0.1, 0]]);
});

test("beside an open panel the drawing is wide enough to be read, or the panel stands below", () => {
  for (const room of [310, 1050, 1206, 1207, 1316, 1870]) {
    const panel = panel_width(room);
    const drawing = width_beside(room, panel);
    assert.equal(panel > 0, room >= 1207, room);
    assert.equal(drawing + panel <= room, true, room);
    if (panel === 0) continue;
    const layout = lay_out(drawing, { pre_norm: true, src_len: 11, tgt_len: 7 });
    const attentions = [layout.encoder, layout.decoder].flatMap(({ parts }) => parts.filter(({ kind }) => kind === "attention"));
    assert.equal(layout.is_narrow, false, room);
    for (const { box, width } of attentions) assert.ok(width >= 90, `${box} at ${room}: ${width}`);
  }
});

test("a card stands where it hides nothing", () => {
  const [card, room] = [{ width: 300, height: 200 }, { width: 1000, height: 700 }];
  const beside = (left, top, right, bottom) => place_card({ left, top, right, bottom }, card, room);
  assert.deepEqual(beside(10, 20, 500, 600), { left: 512, top: 20 });
  assert.deepEqual(beside(500, 600, 990, 690), { left: 188, top: 488 });
  assert.deepEqual(beside(10, 20, 990, 300), { left: 12, top: 312 });
  assert.deepEqual(beside(10, 300, 990, 690), { left: 12, top: 88 });
  assert.deepEqual(beside(0, 0, 1000, 700), { left: 688, top: 488 });
  assert.deepEqual(beside(10, -900, 990, -300), { left: 12, top: 12 });
  assert.deepEqual(beside(10, 1300, 990, 1900), { left: 12, top: 488 });
});

test("arrow keys walk over a map and stop at its edges; other keys lead nowhere", () => {
  const keys = ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End", "Tab"];
  const from = (place) => keys.map((key) => step_from(place, key, 2, 3));
  assert.deepEqual(from([0, 1]), [[0, 1], [1, 1], [0, 0], [0, 2], [0, 0], [0, 2], null]);
  assert.deepEqual(from([1, 2]), [[0, 2], [1, 2], [1, 1], [1, 2], [1, 0], [1, 2], null]);
});

test("two sentences part at their first other token, the end of the shorter one among them", () => {
  assert.equal(parting_step([[4, 5, 6], [4, 7, 6]]), 2);
  assert.equal(parting_step([[4, 5], [4, 5, 6]]), 3);
  assert.equal(parting_step([[4, 5, 6], [4]]), 2);
  assert.equal(parting_step([[4]]), null);
});

const translators = new Map();

function translator_of(name) {
  if (!translators.has(name)) {
    const folder = new URL(`../../data/models/${name}/`, import.meta.url);
    const files = FILES.map((file) => Uint8Array.from(readFileSync(new URL(file, folder))).buffer);
    translators.set(name, new Translator(files));
  }
  return translators.get(name);
}

test("what each stop shows does its task: not at the beginning, but at its end", () => {
  const options = { search: "beam", beam_size: 4, alpha: 0.6, temperature: 1, top_p: 0.9, seed: 1 };
  for (const { model, title, deeds, is_done, ...stop } of STOPS) {
    const state = {
      ...{ sentence: stop.sentence, options, head: stop.head ?? { stack: "cross", layer: 1, head: 1 } },
      ...{ cuts: { before: [], after: [], removed: [], ...stop.cuts }, src_at: 0, step: stop.step ?? Infinity },
    };
    const trail = [];
    const see = () => {
      const { translation, hypotheses, tgt_tokens } = translator_of(model).look(state.sentence, state.options);
      const tgt_len = tgt_tokens.length;
      const step = Math.min(state.step, tgt_len);
      const found = hypotheses.map(({ ids }) => ids);
      trail.push({ ...structuredClone(state), step, tgt_len, translation, hypotheses: found });
    };
    see();
    assert.equal(is_done(trail), false, title);
    for (const { options: more, plays, ...others } of deeds) {
      Object.assign(state, others, { options: { ...state.options, ...more } });
      for (const step of plays ? [1, trail[0].tgt_len] : [state.step]) {
        state.step = step;
        see();
      }
    }
    assert.equal(is_done(trail), true, title);
  }
});

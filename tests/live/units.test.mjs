// The page's files on cases done by hand: node --test tests/live/units.test.mjs

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { KeyValueCache, scaled_dot_product_attention } from "../../docs/live/js/attention.js";
import { BPETokenizer } from "../../docs/live/js/bpe.js";
import { ModelConfig } from "../../docs/live/js/config.js";
import { beam_search, greedy_search, length_penalty } from "../../docs/live/js/decoding.js";
import { sinusoidal_positions } from "../../docs/live/js/positions.js";
import { UserError } from "../../docs/live/js/errors.js";
import { LayerNorm, Linear } from "../../docs/live/js/linear.js";
import { causal_mask, padding_mask } from "../../docs/live/js/masks.js";
import * as m from "../../docs/live/js/matrix.js";
import { from_float16, Weights } from "../../docs/live/js/safetensors.js";
import { sample_search } from "../../docs/live/js/sampling.js";
import { find_normalizer, normalize_whitespace } from "../../docs/live/js/normalizers.js";
import { Throttle } from "../../docs/live/js/throttle.js";

import {
  as_trained,
  differences_from_training,
  is_paper_title,
  split_sentences,
  unseen_words,
} from "../../docs/live/js/typed.js";

const DEMO = new URL("../../data/models/demo-en-fr/", import.meta.url);

const matrix = (...rows) => new m.Matrix(rows.length, rows[0].length, Float32Array.from(rows.flat()));
const rows = (a) => Array.from({ length: a.rows }, (_, i) => [...a.row(i)]);

function close(found, wanted, within = 1e-6) {
  assert.equal(found.length, wanted.length);
  found.forEach((value, i) => {
    const right = value === wanted[i] || Math.abs(value - wanted[i]) <= within;
    assert.ok(right, `${i}: ${value}, not ${wanted[i]}`);
  });
}

test("products: each row of one with each row, or column, of the other", () => {
  const a = matrix([1, 2, 3], [4, 5, 6]);
  const b = matrix([1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [2, 0, 1]); // 4 at once, and 1
  assert.deepEqual(rows(m.multiply_transposed(a, b)), [[1, 2, 3, 6, 5], [4, 5, 6, 15, 14]]);
  assert.deepEqual(rows(m.multiply(a, matrix([1, 10], [2, 20], [3, 30]))), [[14, 140], [32, 320]]);
});

test("sums, ReLU, joined and cut matrices", () => {
  const a = matrix([1, -2], [-3, 4]);
  assert.deepEqual(rows(m.add(a, matrix([10, 20], [30, 40]))), [[11, 18], [27, 44]]);
  assert.deepEqual(rows(m.relu(a)), [[1, 0], [0, 4]]);
  assert.deepEqual(rows(m.below_each_other(a, matrix([5, 6]))), [[1, -2], [-3, 4], [5, 6]]);
  assert.deepEqual(rows(m.side_by_side([a, matrix([7], [8])])), [[1, -2, 7], [-3, 4, 8]]);
  assert.deepEqual(rows(m.columns(matrix([1, 2, 3], [4, 5, 6]), 1, 3)), [[2, 3], [5, 6]]);
});

test("softmax: e^0 : e^ln 3 is 1 : 3; large scores do not overflow; nothing allowed gives 0", () => {
  close(m.softmax(Float32Array.of(0, Math.log(3))), [0.25, 0.75]);
  close(m.softmax(Float32Array.of(1000, 1000, -Infinity)), [0.5, 0.5, 0]);
  close(m.softmax(Float32Array.of(-Infinity, -Infinity)), [0, 0]);
  close(m.log_softmax(Float32Array.of(0, Math.log(3))), [Math.log(0.25), Math.log(0.75)]);
});

test("the places of the largest values: the first of equal ones before the others; no more than there are", () => {
  const values = Float32Array.of(1, 5, -Infinity, 5, 3, 5);
  assert.deepEqual(m.places_of_largest(values, 2), [1, 3]);
  assert.deepEqual(m.places_of_largest(values, 4), [1, 3, 5, 4]);
  assert.deepEqual(m.places_of_largest(values, 9), [1, 3, 5, 4, 0, 2]);
});

test("layer normalisation: 1 and 5 become -1 and 1, then scale and shift", () => {
  const weights = new Weights(new Map([["weight", matrix([2, 3])], ["bias", matrix([10, 20])]]));
  close(new LayerNorm(weights, 2).forward(matrix([1, 5], [7, 7])).data, [8, 23, 10, 20], 1e-5);
});

test("a linear map with a bias, and with another's weight", () => {
  const weights = new Weights(new Map([["x.weight", matrix([1, 2])], ["x.bias", matrix([5])]]));
  close(new Linear(weights.of("x"), 2, 1, true).forward(matrix([10, 1])).data, [17]);
  close(new Linear(weights.of("x"), 2, 1, false).forward(matrix([10, 1])).data, [12]);
  close(new Linear(weights.of("x"), 2, 1, true, matrix([0, 3])).forward(matrix([10, 1])).data, [8]);
  assert.throws(() => new Linear(weights, 2, 1, true), UserError);
  assert.throws(() => new Linear(weights.of("x"), 1, 2, true), UserError);
});

test("attention: scores 2 and 0 over the root of 4 give e : 1; masked, all of the other", () => {
  const query = matrix([2, 0, 0, 0]);
  const key = matrix([1, 0, 0, 0], [0, 1, 0, 0]);
  const value = matrix([10], [20]);
  const share = Math.E / (Math.E + 1);
  const [output, weights] = scaled_dot_product_attention(query, key, value);
  close(weights.data, [share, 1 - share]);
  close(output.data, [10 * share + 20 * (1 - share)], 1e-5);
  const hide = (...open) => new m.Matrix(1, 2, Uint8Array.from(open));
  close(scaled_dot_product_attention(query, key, value, hide(0, 1))[0].data, [20]);
  close(scaled_dot_product_attention(query, key, value, hide(0, 0))[0].data, [0]);
});

test("masks", () => {
  assert.deepEqual(rows(padding_mask([5, 0, 7])), [[1, 0, 1]]);
  assert.deepEqual(rows(causal_mask(3)), [[1, 0, 0], [1, 1, 0], [1, 1, 1]]);
  assert.deepEqual(rows(causal_mask(2, 3)), [[1, 1, 0], [1, 1, 1]]);
});

test("a copied cache goes its own way", () => {
  const cache = new KeyValueCache();
  cache.append([matrix([1])], [matrix([2])]);
  const other = cache.copy();
  other.append([matrix([3])], [matrix([4])]);
  assert.deepEqual(rows(cache.key[0]), [[1]]);
  assert.deepEqual(rows(other.value[0]), [[2], [4]]);
});

test("positions: sines and cosines of pos and of pos / 100", () => {
  const table = sinusoidal_positions(3, 4);
  const wanted = [Math.sin(2), Math.cos(2), Math.sin(0.02), Math.cos(0.02)];
  close(table.row(2), wanted);
  close(table.row(0), [0, 1, 0, 1]);
});

test("widths of a head", () => {
  const { model } = JSON.parse(readFileSync(new URL("recipe.json", DEMO)));
  const config = new ModelConfig({ ...model, d_model: 12, num_heads: 4, d_k: null, d_v: 5 });
  assert.deepEqual([config.key_size, config.value_size], [3, 5]);
});

test("merges: the pair learned first, wherever it stands, the left one of two", () => {
  const merges = ["a b", "b c", "Ġ ab", "ab ab"];
  const tokenizer = new BPETokenizer({ kind: "bpe", merges, lowercase: false, normalizer: "plain" });
  const pieces = (text) => tokenizer.ids_to_pieces(tokenizer.encode(text));
  assert.deepEqual(pieces("abc"), ["▁ab", "c"]); // a b before b c
  assert.deepEqual(pieces("xbc ababab"), ["▁", "x", "bc", "▁ab", "abab"]);
  assert.deepEqual(pieces("é"), ["▁", "<0xC3>", "<0xA9>"]);
  assert.equal(tokenizer.vocab_size, 4 + 256 + 4);
  assert.equal(tokenizer.decode([2, ...tokenizer.encode("é b"), 3]), "é b");
});

test("normalizers: blanks, apostrophes, quotes, and the French blank", () => {
  assert.equal(normalize_whitespace(" a\u00a0 b\tc "), "a b c");
  for (const name of ["plain", "composed"]) {
    const normalize = find_normalizer(name);
    assert.equal(normalize("\ufeffMa\u00add\u200b\u2060 \u200fx\u2011y\u200c"), "Mad x-y");
    for (const kept of ["می\u200cروم", "क\u094d\u200dष", "\u{1f469}\u200d\u{1f467}"])
      assert.equal(normalize(kept), kept);
  }
  assert.equal(find_normalizer("plain")("e\u0301"), "e\u0301");
  assert.equal(find_normalizer("composed")("e\u00ad\u0301"), "é");
  assert.equal(find_normalizer("german")("„ja“ ’s u\u0308"), "„ja“ 's ü");
  assert.equal(find_normalizer("english")("“it’s”"), "\"it's\"");
  assert.equal(find_normalizer("french")("Où? À 8:40; là : si!!"), "Où ? À 8:40 ; là : si !!");
  assert.throws(() => find_normalizer("dutch"), UserError);
});

test("half precision", () => {
  const bits = [0x0000, 0x3c00, 0xc000, 0x3555, 0x7bff, 0x0001, 0x7c00, 0xfc00];
  const wanted = [0, 1, -2, 0.333251953125, 65504, 2 ** -24, Infinity, -Infinity];
  close(bits.map(from_float16), wanted, 0);
  assert.ok(Number.isNaN(from_float16(0x7e00)));
});

/** A model that knows the probabilities of the next token after each prefix: ids joined by "". */
class Scripted {
  constructor(script) {
    this.script = script;
  }
  encode() {
    return null;
  }
  new_cache() {
    return { said: [], copy() { return { ...this, said: [...this.said] }; } };
  }
  decode([last], memory, mask, cache) {
    if (last !== 2) cache.said.push(last);
    return matrix(this.script[cache.said.join("")].map(Math.log));
  }
}

// ids: 3 eos, 4 and 5 words. Greedy takes 4 (0.6), then eos (0.4): 0.24. The best sentence is 5,
// then eos: 0.4 * 0.9 = 0.36.
const GARDEN_PATH = new Scripted({
  "": [0, 0, 0, 0, 0.6, 0.4],
  4: [0, 0, 0, 0.4, 0.3, 0.3],
  5: [0, 0, 0, 0.9, 0.05, 0.05],
  44: [0, 0, 0, 1, 0, 0],
  45: [0, 0, 0, 1, 0, 0],
});

test("greedy search takes the first best, a beam finds the better sentence", () => {
  const greedy = greedy_search(GARDEN_PATH, [9, 3]);
  assert.deepEqual([greedy.ids, greedy.finished], [[4], true]);
  close([greedy.score], [Math.log(0.24)]);
  const { hypotheses, steps } = beam_search(GARDEN_PATH, [9, 3], { beam_size: 2, alpha: 0 });
  assert.deepEqual(hypotheses.map(({ ids }) => ids), [[5], [4]]);
  close(hypotheses.map(({ score }) => score), [Math.log(0.36), Math.log(0.24)]);
  assert.deepEqual(steps.map((step) => step.map(({ ids, status }) => [ids.join(""), status])), [
    [["4", "kept"], ["5", "kept"]],
    [["53", "finished"], ["43", "finished"], ["44", "kept"], ["45", "kept"]],
  ]);
});

test("at the limit the living are taken as they stand", () => {
  const { ids, finished } = greedy_search(GARDEN_PATH, [9, 3], 1);
  assert.deepEqual([ids, finished], [[4], false]);
  const { hypotheses } = beam_search(GARDEN_PATH, [9, 3], { beam_size: 2, max_len: 1 });
  assert.deepEqual(hypotheses.map((h) => [h.ids, h.finished]), [[[4], false], [[5], false]]);
});

test("settings of no search, and scores that are no numbers", () => {
  for (const beam_size of [0, 1.999, -1, NaN, Infinity, "4"]) {
    assert.throws(() => beam_search(GARDEN_PATH, [9, 3], { beam_size }), UserError);
  }
  for (const alpha of [-1, NaN, Infinity]) {
    assert.throws(() => beam_search(GARDEN_PATH, [9, 3], { alpha }), UserError);
  }
  const wrong = [{ temperature: 0 }, { temperature: NaN }, { top_p: 0 }, { top_p: 1.1 }, { seed: 1.5 }];
  for (const options of wrong) {
    assert.throws(() => sample_search(GARDEN_PATH, [9, 3], options), UserError);
  }
  const broken = new Scripted({ "": [0, 0, 0, NaN, 0.6, 0.4] });
  for (const search of [greedy_search, beam_search, sample_search]) {
    assert.throws(() => search(broken, [9, 3]), UserError);
  }
});

test("the length penalty of seven tokens is 2 to the alpha", () => {
  close([length_penalty(7, 0.6), length_penalty(7, 0), length_penalty(1, 3)], [2 ** 0.6, 1, 1]);
});

test("draws: cold ones are greedy, top-p keeps the first, a seed is kept, shares are met", () => {
  const draw = (options) => sample_search(GARDEN_PATH, [9, 3], options).hypotheses[0];
  const greedy = greedy_search(GARDEN_PATH, [9, 3]);
  for (const options of [{ temperature: 0.01 }, { top_p: 0.1 }]) {
    assert.deepEqual(draw(options).ids, greedy.ids);
    close([draw(options).score], [greedy.score]);
  }
  const once = (seed) => draw({ seed, max_len: 1 });
  assert.deepEqual(once(7), once(7));
  const first = Array.from({ length: 2000 }, (_, seed) => once(seed + 1).ids[0]);
  const share = first.filter((id) => id === 4).length / first.length; // 0.6, within 3 deviations
  assert.ok(Math.abs(share - 0.6) < 3 * Math.sqrt((0.6 * 0.4) / 2000), String(share));
});

test("a drawn step tells the shares after temperature and top-p, and the model's own sum", () => {
  const { steps } = sample_search(GARDEN_PATH, [9, 3], { temperature: 2, top_p: 0.5, max_len: 1 });
  const roots = [Math.sqrt(0.6), Math.sqrt(0.4)]; // p^(1/2): 0.55 and 0.45; the first has 0.5
  assert.equal(steps[0].length, 1);
  close([steps[0][0].log_prob, steps[0][0].total], [0, Math.log(0.6)]);
  const both = sample_search(GARDEN_PATH, [9, 3], { temperature: 2, max_len: 1 }).steps[0];
  const shares = both.map(({ log_prob }) => Math.exp(log_prob));
  close(shares, roots.map((root) => root / (roots[0] + roots[1])));
});

test("words that were not read, each once, as they are written", () => {
  const known = new Set(["the", "cat", "l", "été"]);
  assert.deepEqual(unseen_words("The CAT and the dog and l'été 7.", known), ["and", "dog"]);
});

test("twelve typed texts: in what they differ from the training text, and how that writes them", () => {
  const known = new Set(["the", "cat", "is", "sleeping"]);
  const cases = [
    ["The cat is sleeping.", [], "The cat is sleeping."],
    ["the cat is sleeping.", ["lower_case worse"], "The cat is sleeping."],
    ["THE CAT IS SLEEPING.", ["capitals guess"], "The cat is sleeping."],
    ["The cat is sleeping", ["no_full_stop worse"], "The cat is sleeping."],
    ["The cat is sleeping. The cat!", ["several_sentences first"], "The cat is sleeping."],
    ["The cat 😀 is sleeping.", ["picture guess"], "The cat is sleeping."],
    ["The 3 cats.", ["number guess"], "The 3 cats."],
    ["cat", ["lower_case worse", "no_full_stop worse"], "Cat."],
    ["Is the cat sleeping?", [], "Is the cat sleeping?"],
    ["“The cat is sleeping.”", [], "“The cat is sleeping.”"],
    ["猫。", [], "猫。"],
    ["😀", ["no_full_stop worse", "picture guess"], ""],
  ];
  for (const [text, wanted, rewritten] of cases) {
    const found = differences_from_training(text, known);
    assert.deepEqual(found.map(({ kind, worth }) => `${kind} ${worth}`), wanted, text);
    assert.equal(as_trained(text), rewritten);
  }
  const with_numbers = new Set([...known, "0", "cats"]);
  assert.deepEqual(differences_from_training("The 3 cats.", with_numbers), []);
  assert.ok(differences_from_training("The cat. The cat. Is the cat?", known)[0].clause.includes("3"));
  assert.deepEqual(split_sentences("A b. C?  d"), ["A b.", "C?", "d"]);
  assert.ok(is_paper_title("Attention is all you need!") && !is_paper_title("Attention is all."));
});

test("what is throttled is done at once, then once more after the pause for all that came meanwhile", async () => {
  const [pause, done] = [60, []];
  const throttle = new Throttle(() => done.push(performance.now()), pause);
  for (let i = 0; i < 5; i++) throttle.soon();
  assert.equal(done.length, 1);
  await new Promise((resolve) => setTimeout(resolve, 3 * pause));
  assert.equal(done.length, 2);
  assert.ok(done[1] - done[0] > pause - 2); // timers may be a millisecond early
  for (const act of ["now", "now", "soon"]) throttle[act]();
  throttle.now(); // does what waits, too
  await new Promise((resolve) => setTimeout(resolve, 2 * pause));
  assert.equal(done.length, 5);
});

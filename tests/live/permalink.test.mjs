// What an address may ask for, and what of it is refused: node --test FILE

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  beyond,
  cuts_within,
  describe_ignored,
  describe_left_out,
  MAX_CUTS,
  RANGES,
  read_link,
  read_number,
  write_link,
} from "../../docs/live/js/permalink.js";

const KNOWN = {
  models: { a: {}, b: {} },
  boxes: { cross: { head: "cross" }, encoder: { head: "encoder" }, output: {} },
  num_stops: 8,
};
const OPTIONS = { search: "beam", beam_size: 4, alpha: 0.6, temperature: 1, top_p: 0.9, seed: 1 };
const usual = () => ({
  ...{ model: "a", sentence: "Hi", box: "cross", layer: 1, src_at: 0, step: Infinity, stop: null },
  ...{ lit: 0, shown: "whole" },
  ...{ head: { stack: "cross", layer: 2, head: 1 }, options: { ...OPTIONS } },
  cuts: { before: [], after: [], removed: [] },
});

/** Return the state that an address leads to, and what of it is ignored. */
function read(hash) {
  const state = usual();
  return { state, ignored: read_link(hash, state, KNOWN) };
}

test("a link restores what it was written from, and nothing of it is ignored", () => {
  const other = {
    ...{ model: "b", sentence: "A & b # c?", box: "output", layer: 2, src_at: 3, step: 5, stop: 8 },
    ...{ lit: 3, shown: "cut" },
    head: { stack: "encoder", layer: 2, head: 3 },
    options: { search: "draw", beam_size: 1, alpha: 0, temperature: 1.5, top_p: 0.5, seed: 1e9 },
    cuts: {
      before: [0, 11],
      after: [2],
      removed: [
        { stack: "cross", layer: 2, head: 1 },
        { stack: "encoder", layer: 1, head: 4 },
      ],
    },
  };
  assert.deepEqual(read(write_link(other)), { state: other, ignored: [] });
});

test("a link holds the first of very many cuts, opens, and says how many it leaves out", () => {
  const many = { ...usual(), step: 1 };
  many.cuts.after = Array.from({ length: MAX_CUTS + 1 }, (_, i) => i);
  const { state, ignored } = read(write_link(many));
  assert.deepEqual([state.cuts.after, ignored], [many.cuts.after.slice(0, MAX_CUTS), []]);
  assert.equal(describe_left_out(state.cuts), "");
  assert.match(describe_left_out(many.cuts), /^1 cut /);
  assert.match(describe_left_out({ ...many.cuts, before: many.cuts.after }), /^2 cuts /);
});

test("a value that is wrong leaves everything as it is, and is told by its name", () => {
  const wrong = {
    model: ["", "c", "__proto__", "toString"],
    box: ["", "no", "__proto__"],
    head: ["", "cross.0.1", "cross.1", "cross.0.5", "x.1.1", "cross.1.1.1", "cross.01.1"],
    search: ["", "greedy", "Beam"],
    beam_size: ["1.999", "0", "13", "-1", "", " 4", "1e1", "0x4", "NaN", "Infinity", "four", "4.0"],
    alpha: ["-0.1", "3.1", "", "1e-1", "x"],
    temperature: ["0", "4", ""],
    top_p: ["0", "1.01"],
    seed: ["0", "1.5", "10000000000"],
    step: ["0", "1.5", "-1", ""],
    src_at: ["0.5", "-1", ""],
    stop: ["0", "9", "1.5"],
    layer: ["0", "1.5", "x"],
    before: ["", "-1", "1,2", "2.2", "01", "1."],
    after: ["x", "1000", Array.from({ length: 201 }, (_, i) => i).join(".")],
    removed: ["", "cross.2.1_", "cross.0.1", "cross.1.1_cross.1.1", "cross.1.1,cross.1.2"],
    lit: ["-1", "1.5", "x"],
    shown: ["", "both"],
    colour: ["red"],
  };
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      const { state, ignored } = read(`#${new URLSearchParams({ [name]: value })}`);
      assert.deepEqual(state, usual(), `${name}=${value}`);
      assert.equal(ignored.length, 1, `${name}=${value}`);
      assert.ok(ignored[0].startsWith(`${name}=${value.slice(0, 20)}`), ignored[0]);
    }
  }
});

test("of a setting that is given twice the first counts", () => {
  const { state, ignored } = read("#beam_size=2&beam_size=3&__proto__=1");
  assert.equal(state.options.beam_size, 2);
  assert.deepEqual(ignored.map((line) => line.split(" ")[0]), ["beam_size=3", "__proto__=1"]);
});

test("cuts beyond the sentence or the model are left out and told, and a token stays", () => {
  const sizes = { num_layers: 2, num_heads: 4, src_len: 3, tgt_len: 5 };
  const cuts_of = (hash) => {
    const { state } = read(hash);
    const told = beyond(hash, state, sizes).map((line) => line.split("=")[0]);
    return { ...cuts_within(state.cuts, sizes), told };
  };
  const head = { stack: "cross", layer: 2, head: 4 };
  assert.deepEqual(cuts_of("#before=0&after=2&removed=cross.2.4"), {
    ...{ before: [0], after: [2], removed: [head], told: [] },
  });
  assert.deepEqual(cuts_of("#before=3.1&after=1.7&removed=cross.2.4_cross.3.1"), {
    ...{ before: [1], after: [], removed: [head], told: ["before", "after", "removed"] },
  });
  assert.deepEqual(cuts_of("#before=0.1&after=2"), {
    ...{ before: [], after: [], removed: [], told: ["before", "after"] },
  });
});

test("a link without a box opens none", () => {
  const closed = { ...usual(), box: null, step: 3 };
  const state = usual();
  state.box = null;
  assert.deepEqual(read_link(write_link(closed), state, KNOWN), []);
  assert.deepEqual(state, closed);
});

test("an anchor asks for nothing", () => {
  for (const hash of ["", "#", "#sentence", "#beam_size"]) {
    assert.deepEqual(read(hash), { state: usual(), ignored: [] });
  }
});

test("a head is one of the opened box's attention", () => {
  assert.equal(read("#box=encoder").state.head.stack, "encoder");
  const { state, ignored } = read("#box=encoder&head=cross.1.3");
  assert.deepEqual(state.head, { stack: "encoder", layer: 2, head: 1 });
  assert.equal(ignored.length, 1);
  assert.deepEqual(read("#head=decoder.1.3&box=output").state.head.stack, "decoder");
});

test("what the model or its translation has not is told, its last is not", () => {
  const sizes = { num_layers: 2, num_heads: 4, src_len: 7, tgt_len: 5 };
  const told = (hash) => {
    const { state, ignored } = read(hash);
    return [...ignored, ...beyond(hash, state, sizes)].map((line) => line.split(" ")[0]);
  };
  assert.deepEqual(told("#step=5&src_at=6&layer=2&lit=4&head=cross.2.4"), []);
  assert.deepEqual(told("#step=6&src_at=7&layer=3&lit=5&head=cross.2.5"), [
    ...["step=6", "src_at=7", "layer=3", "lit=5", "head=cross.2.5"],
  ]);
  assert.deepEqual(told("#head=cross.3.1&step=x"), ["step=x", "head=cross.3.1"]); // each once
  assert.deepEqual(told("#__proto__=1&constructor=1"), ["__proto__=1", "constructor=1"]);
  assert.deepEqual(told(""), []);
});

test("a number in figures, and both ends of its range", () => {
  const range = { least: 0.1, most: 3 };
  const right = { 0.1: 0.1, 3: 3, ".5": 0.5, "0.65": 0.65 };
  for (const [text, value] of Object.entries(right)) assert.equal(read_number(text, range), value);
  for (const text of ["0.09", "3.1", "1.", "1e0", "", "."]) {
    assert.equal(read_number(text, range), null, text);
  }
  assert.equal(read_number("12", RANGES.beam_size), 12);
});

test("the line is short however much is wrong", () => {
  const { ignored } = read(`#${Array.from({ length: 50 }, (_, i) => `x${i}=${"y".repeat(999)}`).join("&")}`);
  assert.equal(ignored.length, 50);
  assert.ok(describe_ignored(ignored).length < 500);
  assert.match(describe_ignored(ignored), /45 more/);
  assert.equal(describe_ignored([]), "");
});

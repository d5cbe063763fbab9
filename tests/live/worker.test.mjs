// The page's worker, asked as the page asks it: node --test tests/live/worker.test.mjs

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { test } from "node:test";

import { FILES, MANIFEST } from "../../docs/live/js/model_files.js";

const DEMO = new URL("../../data/models/demo-en-fr/", import.meta.url);
const read = (name) => Uint8Array.from(readFileSync(new URL(name, DEMO))).buffer;
const NAMES = [MANIFEST, ...FILES];
const WHOLE = NAMES.map(read);
const PACKED = Uint8Array.from(gzipSync(new Uint8Array(WHOLE.at(-1)))).buffer; // the weights

let listen;
const answers = []; // in the order in which the worker gave them
let on_answer = () => {};
globalThis.self = {
  addEventListener: (_, on_message) => (listen = on_message),
  postMessage(answer) {
    answers.push(answer);
    on_answer();
  },
};
await import("../../docs/live/js/worker.js");

/** Ask several questions at once, [act, values] each; return their answers in the order of arrival. */
async function ask(...questions) {
  answers.length = 0;
  questions.forEach(([act, values], number) => listen({ data: { number, act, values } }));
  while (answers.length < questions.length) await new Promise((resolve) => (on_answer = resolve));
  return [...answers];
}

/** Return the files of a model of the page's list, the last of which are these weights. */
const with_weights = (weights) => [...WHOLE.slice(0, -1), weights];

test("questions that come while a model is read are answered after it, in their order", async () => {
  const sentence = "The small cat is sleeping.";
  const [loaded, length] = await ask(
    ["load", { name: "demo", direction: "en-fr", files: with_weights(PACKED) }],
    ["length", { name: "demo", sentence }],
  );
  assert.deepEqual([loaded.number, length.number], [0, 1]);
  assert.equal(loaded.answer.bytes, WHOLE.slice(1).reduce((sum, file) => sum + file.byteLength, 0));
  assert.ok(length.answer > 3, length.error);
});

test("compressed weights that are cut short are told by their name, with what to do, wherever they come from", async () => {
  const files = with_weights(PACKED.slice(0, -9));
  const folder = Object.fromEntries(NAMES.map((name, i) => [name, files[i]]));
  const [listed, opened] = await ask(
    ["load", { name: "cut", direction: "en-fr", files }],
    ["open", { name: "mine (yours)", folder: "mine", files: folder }],
  );
  const problem = "model.safetensors is damaged (it cannot be decompressed)";
  assert.ok(listed.error.startsWith(`models/cut/${problem}: copy the model's folder there again`), listed.error);
  assert.ok(opened.error.startsWith(`mine/${problem}: choose a model's whole folder`), opened.error);
});

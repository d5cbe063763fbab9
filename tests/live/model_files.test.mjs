// Damaged files of a model, and whole ones that do not fit each other: node --test FILE

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { test } from "node:test";

import { BPETokenizer } from "../../docs/live/js/bpe.js";
import { check_direction, check_files } from "../../docs/live/js/checks.js";
import { config_of, ModelConfig } from "../../docs/live/js/config.js";
import { ModelFileError, UserError } from "../../docs/live/js/errors.js";
import { parse_json_object } from "../../docs/live/js/formats.js";
import { decompress, fetch_model, FILES, forget_model } from "../../docs/live/js/model_files.js";
import { read_safetensors } from "../../docs/live/js/safetensors.js";
import { compute_sha256, sha256 } from "../../docs/live/js/sha256.js";
import { Translator } from "../../docs/live/js/translator.js";

const DEMO = new URL("../../data/models/demo-en-fr/", import.meta.url);
const [MANIFEST, ...WHOLE] = ["manifest.json", ...FILES].map((file) => {
  return Uint8Array.from(readFileSync(new URL(file, DEMO))).buffer;
});
const [RECIPE, TOKENIZER] = WHOLE.map((file, i) => (i < 2 ? parse(file) : null));

const encode = (text) => new TextEncoder().encode(text);
const json = (value) => encode(JSON.stringify(value)).buffer;

function parse(file) {
  return JSON.parse(new TextDecoder().decode(file));
}

/** Expect an error that names a file, and this of it. */
function refuses(act, file, problem = /./) {
  assert.throws(act, (error) => names(error, file, problem));
}

/** Expect a promise to be broken with such an error. */
async function comes_to_refuse(promise, file, problem = /./) {
  await assert.rejects(promise, (error) => names(error, file, problem));
}

/** Raise unless an error names a file, and this of it; return true. */
function names(error, file, problem) {
  assert.ok(error instanceof ModelFileError, error.stack);
  assert.equal(error.file, file);
  assert.match(error.problem, problem);
  assert.doesNotMatch(error.message, /\n/);
  return true;
}

/** Return a file with one bit flipped in the middle. */
function flipped(file) {
  const bytes = new Uint8Array(file.slice(0));
  bytes[bytes.length >> 1] ^= 1;
  return bytes.buffer;
}

/** Return the model's files with one in another's place. */
const with_file = (i, file) => WHOLE.map((whole, at) => (at === i ? file : whole));

// FIPS 180-2, appendix B; and no byte at all.
const VECTORS = {
  "": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  abc: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq:
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
  ["a".repeat(1_000_000)]: "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
};

for (const sum_of of [sha256, compute_sha256]) {
  test(`${sum_of.name}: the standard's examples, and Node's sums around every edge of a block`, async () => {
    for (const [text, sum] of Object.entries(VECTORS)) assert.equal(await sum_of(encode(text)), sum);
    for (let length = 0; length <= 200; length++) {
      const bytes = Uint8Array.from({ length }, (_, i) => 31 * i + length);
      const sum = createHash("sha256").update(bytes).digest("hex");
      assert.equal(await sum_of(bytes), sum, String(length));
      const inside = Uint8Array.of(7, ...bytes, 9).subarray(1, -1); // it lies amid other bytes
      assert.equal(await sum_of(inside), sum);
    }
  });
}

test("a flipped bit, a cut or another file's content is told by the file's name", async () => {
  await check_files(MANIFEST, WHOLE);
  for (const [i, file] of FILES.entries()) {
    for (const wrong of [flipped(WHOLE[i]), WHOLE[i].slice(0, -1), WHOLE[(i + 1) % FILES.length]]) {
      await comes_to_refuse(check_files(MANIFEST, with_file(i, wrong)), file);
    }
  }
});

test("a manifest that has not every file's sum is told by its own name", async () => {
  const { sha256: sums } = parse(MANIFEST);
  const { [FILES[3]]: sum, ...others } = sums;
  const wrong = [null, [], 3, {}, { sha256: null }, { sha256: others }];
  wrong.push({ sha256: { ...sums, [FILES[0]]: 3 } }, { sha256: { ...sums, [FILES[0]]: sum.slice(1) } });
  for (const value of wrong) await comes_to_refuse(check_files(json(value), WHOLE), "manifest.json");
  await comes_to_refuse(check_files(MANIFEST.slice(0, -9), WHOLE), "manifest.json");
});

test("JSON that is no object, and of a later format", () => {
  const objects = [json({ a: 1 }), json({ a: 1, format: 0 }), json({ a: 1, format: 1 })];
  for (const bytes of objects) assert.equal(parse_json_object("x.json", bytes).a, 1);
  const whole = encode('{"a": 1}').buffer;
  const damaged = [null, [], 3, "x", { format: -1 }, { format: "1" }, { format: 0.5 }].map(json);
  for (const bytes of [...damaged, whole.slice(0, -1), new ArrayBuffer(0)]) {
    refuses(() => parse_json_object("x.json", bytes), "x.json", /damaged/);
  }
  refuses(() => parse_json_object("x.json", json({ format: 2 })), "x.json", /format 2/);
});

test("a model from other languages than the list says", () => {
  check_direction("demo-en-fr", "en-fr", RECIPE);
  for (const recipe of [{ data: { src_lang: "fr", tgt_lang: "en" } }, { data: null }, {}]) {
    assert.throws(() => check_direction("demo-en-fr", "en-fr", recipe), UserError);
  }
});

// Whole files from here on: their sums may be those of a manifest that somebody wrote anew.

test("a recipe of no network", () => {
  const wrong = {
    d_model: [0, -2, 127, 129, 128.5, "128", null, 2 ** 16 + 2],
    d_ff: [0, null],
    num_heads: [0, 3, -4, "4"],
    num_layers: [0, 2.5, undefined],
    d_k: [0, "32"],
    d_v: [-1],
    max_len: [0, 1e9, "256"],
    position_dim: [0],
    positions: ["rotary", null, "toString"],
    pre_norm: ["yes", null, 1],
    tie_source_target: [0],
    tie_softmax: ["false"],
    attention_bias: [null],
    output_bias: [2],
    rotations: [1],
  };
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      const act = () => new ModelConfig({ ...RECIPE.model, [name]: value });
      refuses(act, "recipe.json", new RegExp(name));
    }
  }
  const odd = { ...RECIPE.model, d_model: 129, num_heads: 3 };
  refuses(() => new ModelConfig(odd), "recipe.json", /129 is odd/);
  for (const widths of [{ d_k: 5 }, { d_v: 5 }]) {
    const act = () => new ModelConfig({ ...RECIPE.model, num_heads: 3, ...widths });
    refuses(act, "recipe.json", /num_heads 3/);
  }
  new ModelConfig({ ...RECIPE.model, num_heads: 3, d_k: 5, d_v: 7 });
  const concatenated = { ...RECIPE.model, positions: "concatenated" };
  refuses(() => new ModelConfig(concatenated), "recipe.json", /tie_softmax/);
  const narrow = { ...concatenated, tie_softmax: false, position_dim: 128 };
  refuses(() => new ModelConfig(narrow), "recipe.json", /position_dim/);
  for (const recipe of [{}, { ...RECIPE, network: null }, { ...RECIPE, model: null }]) {
    refuses(() => config_of(recipe), "recipe.json");
  }
});

test("a network or tokens of another kind", () => {
  refuses(() => config_of({ ...RECIPE, network: "lstm" }), "recipe.json", /Transformers only/);
  refuses(() => config_of({ ...RECIPE, parts: "rotary" }), "recipe.json", /parts "rotary"/);
  assert.equal(config_of({ ...RECIPE, parts: "paper" }).d_model, RECIPE.model.d_model);
  const words = { ...TOKENIZER, kind: "words" };
  refuses(() => new BPETokenizer(words, FILES[2]), FILES[2], /byte-pair encoding only/);
});

test("a file that is no tokenizer", () => {
  const { merges } = TOKENIZER;
  const wrong = [{}, { ...TOKENIZER, lowercase: "no" }, { ...TOKENIZER, merges: null }];
  for (const name of ["dutch", "toString", 3]) wrong.push({ ...TOKENIZER, normalizer: name });
  for (const name of ["gpt3", "toString", 3]) wrong.push({ ...TOKENIZER, pre_tokenizer: name });
  for (const merge of ["ab", "ж b", "a b c", "a bc", 7, null]) {
    wrong.push({ ...TOKENIZER, merges: [merge, ...merges] });
  }
  for (const values of wrong) refuses(() => new BPETokenizer(values, FILES[1]), FILES[1]);
});

/** Return a safetensors file of this header and these bytes. */
function safetensors(header, bytes) {
  const text = encode(JSON.stringify(header));
  const file = new Uint8Array(8 + text.length + bytes.length);
  new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true);
  file.set(text, 8);
  file.set(bytes, 8 + text.length);
  return file.buffer;
}

const A = { dtype: "F32", shape: [1, 2], data_offsets: [0, 8] };
const B = { dtype: "F16", shape: [3], data_offsets: [8, 14] };
const BYTES = new Uint8Array([
  ...new Uint8Array(Float32Array.of(1.5, -2).buffer),
  ...new Uint8Array(Uint16Array.of(0x3c00, 0, 0xc000).buffer), // 1, 0, -2
]);

test("a safetensors file: a matrix, and a vector of halves as one row", () => {
  const weights = read_safetensors(safetensors({ b: B, __metadata__: { about: "{}" }, a: A }, BYTES));
  assert.deepEqual([...weights.matrix("a", 1, 2).data], [1.5, -2]);
  assert.throws(() => weights.require_all_used(), UserError);
  assert.deepEqual([...weights.matrix("b", 1, 3).data], [1, 0, -2]);
  weights.require_all_used();
  refuses(() => weights.matrix("a", 2, 1), FILES[3], /1 x 2, not 2 x 1/);
  refuses(() => weights.matrix("c", 1, 2), FILES[3], /c is missing/);
});

test("a matrix in 8 bits: each group of a row has its scale, and every matrix needs scales", () => {
  const [shape, places] = [[2, 4], { w: [16, 24], w_scale: [0, 16] }];
  const bytes = new Uint8Array([
    ...new Uint8Array(Float32Array.of(2, 0.5, 1, 0).buffer),
    ...new Uint8Array(Int8Array.of(1, -2, 4, 127, 3, -127, 5, 6).buffer),
  ]);
  const entry = (dtype, shape, data_offsets) => ({ dtype, shape, data_offsets });
  const header = {
    w: entry("I8", shape, places.w),
    w_scale: entry("F32", [2, 2], places.w_scale),
  };
  const weights = read_safetensors(safetensors(header, bytes));
  assert.deepEqual([...weights.matrix("w", 2, 4).data], [2, -4, 2, 63.5, 3, -127, 0, 0]);
  weights.require_all_used();
  for (const wrong of [
    { w: header.w, x_scale: header.w_scale },
    { ...header, w_scale: entry("F32", [1, 4], places.w_scale) },
    { ...header, w_scale: entry("F32", [4], places.w_scale) },
    { ...header, w_scale: entry("I8", [2, 8], places.w_scale) },
    { ...header, w: entry("I8", [8], places.w) },
  ]) {
    refuses(() => read_safetensors(safetensors(wrong, bytes)), FILES[3], /scale|no matrix/);
  }
  const odd = { w: entry("I8", [2, 3], [16, 22]), w_scale: header.w_scale };
  refuses(() => read_safetensors(safetensors(odd, bytes.subarray(0, 22))), FILES[3], /scale/);
});

test("a safetensors file whose parts do not go together", () => {
  const entries = [
    ...[null, "x", {}, { ...A, dtype: "I64" }, { ...A, dtype: "toString" }],
    ...[null, [], [8], [1, 1, 2], [-1, -2], [0.5, 4], [2, 2], "12"].map((shape) => ({ ...A, shape })),
    ...[null, [0], [0, 8, 9], [8, 0], [-8, 0], [0, 4], [1, 9], [800, 808]].map((place) => {
      return { ...A, data_offsets: place };
    }),
  ];
  for (const a of entries) refuses(() => read_safetensors(safetensors({ a, b: B }, BYTES)), FILES[3]);
  refuses(() => read_safetensors(safetensors({ a: A, b: { ...A } }, BYTES)), FILES[3]); // one place
  const integers = safetensors({ a: { ...A, dtype: "I64" }, b: B }, BYTES);
  refuses(() => read_safetensors(integers), FILES[3], /I64/);
  const beyond = new Uint8Array(safetensors({ a: A }, BYTES.subarray(0, 8)));
  beyond[7] = 0x7f; // its header is said to be longer than any file
  refuses(() => read_safetensors(beyond.buffer), FILES[3], /header/);
  for (const header of [null, [], 3, {}]) {
    refuses(() => read_safetensors(safetensors(header, BYTES)), FILES[3]);
  }
  for (const file of [new ArrayBuffer(5), safetensors({ a: A, b: B }, BYTES.subarray(1))]) {
    refuses(() => read_safetensors(file), FILES[3]);
  }
  const longer = safetensors({ a: A, b: B }, Uint8Array.of(...BYTES, 0, 0));
  refuses(() => read_safetensors(longer), FILES[3]);
  const about = JSON.stringify({ parts: { self_attention: "RotaryAttention" } });
  const trained = safetensors({ a: A, b: B, __metadata__: { about } }, BYTES);
  refuses(() => read_safetensors(trained), FILES[3], /RotaryAttention/);
});

test("a number that is not finite", () => {
  for (const value of [NaN, Infinity, -Infinity]) {
    const bytes = new Uint8Array(Float32Array.of(1.5, value).buffer);
    refuses(() => read_safetensors(safetensors({ a: A }, bytes)), FILES[3], /not finite/);
  }
});

test("files of a model that do not fit each other", () => {
  new Translator(WHOLE);
  const recipe = (model) => json({ ...RECIPE, model: { ...RECIPE.model, ...model } });
  const wrong = [{ num_layers: 1 }, { num_layers: 3 }, { d_model: 64 }, { d_ff: 512 }, { d_k: 16 }];
  wrong.push({ d_v: 8 }, { pre_norm: false }, { positions: "learned" }, { tie_source_target: false });
  wrong.push({ tie_softmax: false }, { attention_bias: true }, { output_bias: true });
  for (const model of wrong) {
    refuses(() => new Translator(with_file(0, recipe(model))), FILES[3], /does not fit/);
  }
  const fewer = json({ ...TOKENIZER, merges: TOKENIZER.merges.slice(0, -1) });
  refuses(() => new Translator(with_file(1, fewer)), "recipe.json", /ties the vocabularies/);
  refuses(() => new Translator([WHOLE[0], fewer, fewer, WHOLE[3]]), FILES[3], /does not fit/);
  for (let i = 0; i < FILES.length; i++) {
    refuses(() => new Translator(with_file(i, WHOLE[i].slice(0, -9))), FILES[i], /damaged/);
  }
});

test("a file is decompressed where it was compressed, and one that is cut short is refused", async () => {
  const packed = Uint8Array.from(gzipSync(new Uint8Array(WHOLE[3])));
  assert.ok(packed.length < WHOLE[3].byteLength);
  assert.deepEqual(await decompress(FILES[3], packed.buffer), WHOLE[3]);
  for (const plain of [...WHOLE, new ArrayBuffer(0), packed.slice(0, 2).buffer]) {
    assert.equal(await decompress(FILES[3], plain), plain);
  }
  for (const damaged of [packed.slice(0, -9).buffer, flipped(packed.buffer)]) {
    await comes_to_refuse(decompress(FILES[3], damaged), FILES[3], /decompressed/);
  }
});

test("a model is fetched once; one whose files were of no use anew, past the browser's own cache", async () => {
  const asked = [];
  globalThis.fetch = async (address, { cache = "default" } = {}) => {
    asked.push(cache);
    return new Response("a file");
  };
  await fetch_model("cached");
  await fetch_model("cached");
  assert.deepEqual(asked.splice(0), Array(FILES.length + 1).fill("default"));
  forget_model("cached");
  await fetch_model("cached");
  assert.deepEqual(asked, Array(FILES.length + 1).fill("reload"));
});

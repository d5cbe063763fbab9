// The files of a model of the page's list: fetched once, by the page, which gives them to its worker.

import { ModelFileError, UserError } from "./errors.js";

export const MANIFEST = "manifest.json";
export const FILES = ["recipe.json", "src_tokenizer.json", "tgt_tokenizer.json", "model.safetensors"];

const MODELS = new URL("../models/", import.meta.url);
const GZIP = [0x1f, 0x8b, 8]; // what its output begins with; no header of weights is as long as that
const fetched = new Map(); // promises of files, by the model's name

/**
 * Return a model's files, fetched at its first use; after an error anew.
 * @returns {Promise<ArrayBuffer[]>} The manifest, and `FILES` in their order.
 * @throws {UserError} One cannot be fetched.
 */
export function fetch_model(name) {
  if (!fetched.has(name)) {
    const files = Promise.all([MANIFEST, ...FILES].map((file) => fetch_file(name, file)));
    files.catch(() => fetched.delete(name));
    fetched.set(name, files);
  }
  return fetched.get(name);
}

/** Fetch a model's files anew when they are asked for again: those that came are of no use. */
export function forget_model(name) {
  fetched.delete(name);
}

/** Return the bytes of one file of a model, decompressed where it is served compressed. */
async function fetch_file(name, file) {
  let bytes, problem;
  try {
    const response = await fetch(new URL(`${encodeURIComponent(name)}/${file}`, MODELS));
    if (response.ok) bytes = await response.arrayBuffer();
    else problem = `is missing (${response.status})`;
  } catch {
    throw new UserError(
      `models/${name}/${file} cannot be fetched, or not to its end: ` +
        "is the network there, and the server?",
    );
  }
  try {
    if (bytes !== undefined) return await decompress(bytes);
  } catch {
    problem = "is damaged (it cannot be decompressed)";
  }
  throw with_remedy(name, new ModelFileError(file, problem));
}

/** Return the error for a file of the page's own, with what to do. */
export function with_remedy(name, { file, problem }) {
  return new UserError(
    `models/${name}/${file} ${problem}: copy the model's folder there again, whole, ` +
      "or choose another model",
  );
}

/**
 * Return what gzip compressed, which the first bytes tell; any other file as it is.
 * @param {ArrayBuffer} file
 * @returns {Promise<ArrayBuffer>}
 * @throws {Error} What was compressed is cut short or damaged.
 */
export async function decompress(file) {
  const bytes = new Uint8Array(file, 0, Math.min(GZIP.length, file.byteLength));
  if (!GZIP.every((byte, i) => bytes[i] === byte)) return file;
  const stream = new Blob([file]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

// The files of a model of the page's list: fetched once, by the page, which gives them to its worker.

import { ModelFileError, UserError } from "./errors.js";

export const MANIFEST = "manifest.json";
export const FILES = ["recipe.json", "src_tokenizer.json", "tgt_tokenizer.json", "model.safetensors"];

const MODELS = new URL("../models/", import.meta.url);
// What gzip's output begins with. Weights begin with the length of their header, of which this would be
// half a megabyte or more.
const GZIP = [0x1f, 0x8b, 8];
const fetched = new Map(); // promises of files, by the model's name
const forgotten = new Set(); // names of models of which the browser's cache may hold useless files

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

/** Fetch a model's files anew from the server when they are asked for again: those that came are of no use. */
export function forget_model(name) {
  forgotten.add(name);
  fetched.delete(name);
}

/** Return the bytes of one file of a model. */
async function fetch_file(name, file) {
  let problem;
  try {
    const cache = forgotten.has(name) ? "reload" : "default";
    const response = await fetch(new URL(`${encodeURIComponent(name)}/${file}`, MODELS), { cache });
    if (response.ok) return await response.arrayBuffer();
    problem = `is missing (${response.status})`;
  } catch {
    throw new UserError(
      `models/${name}/${file} cannot be fetched, or not to its end: ` +
        "is the network there, and the server?",
    );
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
 * Return the content of a file that gzip compressed, which its first bytes tell; any other file as it is.
 * @param {string} name The file's, in the model's folder.
 * @param {ArrayBuffer} file
 * @returns {Promise<ArrayBuffer>}
 * @throws {ModelFileError} What was compressed is cut short or damaged.
 */
export async function decompress(name, file) {
  const first = new Uint8Array(file, 0, Math.min(GZIP.length, file.byteLength));
  if (!GZIP.every((byte, i) => first[i] === byte)) return file;
  const reader = new Blob([file]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  const parts = [];
  try {
    // Not by a Response: Firefox would report an error of the stream as one that nobody caught, too.
    for (let part = await reader.read(); !part.done; part = await reader.read()) parts.push(part.value);
    return await new Blob(parts).arrayBuffer();
  } catch {
    throw new ModelFileError(name, "is damaged (it cannot be decompressed)");
  }
}

// The files of a model of the page's list: fetched once, by the page, which gives them to its worker.

import { ModelFileError, UserError } from "./errors.js";

export const MANIFEST = "manifest.json";
export const FILES = ["recipe.json", "src_tokenizer.json", "tgt_tokenizer.json", "model.safetensors"];

const MODELS = new URL("../models/", import.meta.url);
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

/** Return the bytes of one file of a model. */
async function fetch_file(name, file) {
  let problem;
  try {
    const response = await fetch(new URL(`${encodeURIComponent(name)}/${file}`, MODELS));
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

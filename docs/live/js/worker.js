// Runs the models beside the page, so that the page never waits.

import { check_direction, check_files } from "./checks.js";
import { ModelFileError, UserError } from "./errors.js";
import { FILES, Translator } from "./translator.js";

const MODELS = new URL("../models/", import.meta.url);
const loaded = new Map(); // promises of translators, by name

/** Return the bytes of one file of a model. */
async function fetch_file(name, file) {
  try {
    const response = await fetch(new URL(`${name}/${file}`, MODELS));
    if (response.ok) return await response.arrayBuffer();
    throw new ModelFileError(file, `is missing (${response.status})`);
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(
      `models/${name}/${file} cannot be fetched, or not to its end: ` +
        "is the network there, and the server?",
    );
  }
}

/** Return a model, loaded; an error names the file, and where its copy is. */
async function load(name) {
  try {
    return await read(name);
  } catch (error) {
    if (!(error instanceof ModelFileError)) throw error;
    throw new UserError(
      `models/${name}/${error.file} ${error.problem}: copy the folder data/models/${name} ` +
        "there, or choose another model",
    );
  }
}

/** Fetch, check and read a model; return it, and what the page says of it. */
async function read(name) {
  const start = performance.now();
  const [manifest, ...files] = await Promise.all(
    ["manifest.json", ...FILES].map((file) => fetch_file(name, file)),
  );
  const fetched = performance.now();
  check_files(manifest, files);
  const translator = new Translator(files);
  check_direction(name, translator.recipe);
  const { num_layers, num_heads } = translator.model.config;
  return {
    translator,
    about: {
      num_layers,
      num_heads,
      bytes: files.reduce((sum, file) => sum + file.byteLength, 0),
      ms_to_fetch: fetched - start,
      ms_to_read: performance.now() - fetched,
    },
  };
}

/** Return a model, loaded at its first use; one that failed is tried again. */
function find(name) {
  if (!loaded.has(name)) {
    const promise = load(name);
    promise.catch(() => loaded.delete(name));
    loaded.set(name, promise);
  }
  return loaded.get(name);
}

let last = { asked: "", whole: null }; // while only cuts change, the whole model says the same

/** Return what the whole model makes of a sentence. */
function look_whole(translator, name, sentence, options) {
  const asked = JSON.stringify([name, sentence, options]);
  if (asked !== last.asked) last = { asked, whole: translator.look(sentence, options) };
  return last.whole;
}

const ACTS = {
  /** Load a model. */
  async load({ name }) {
    return (await find(name)).about;
  },

  /** Translate a sentence, and once more with cuts, where there are any. */
  async look({ name, sentence, options, cuts }) {
    const { translator } = await find(name);
    if (translator.encode(sentence).length === 0) return null;
    const whole = look_whole(translator, name, sentence, options);
    const cut = cuts === null ? null : translator.look(sentence, options, cuts, whole.said);
    return { whole: for_readers(translator, whole), cut: cut && for_readers(translator, cut) };
  },

  /** Follow a sentence and its translation through the whole model. */
  async trace({ name, src, said }) {
    return (await find(name)).translator.trace(src, said);
  },

  /** Return the words of a model's training text; null where the page has no list of them. */
  async words({ name }) {
    const response = await fetch(new URL(`../words/${name}.txt`, import.meta.url));
    return response.ok ? (await response.text()).trimEnd().split("\n") : null;
  },
};

/** Return what was looked at, with each candidate and hypothesis in a reader's letters. */
function for_readers({ tgt_tokenizer }, looked) {
  const steps = looked.steps.map((step) =>
    step.map((candidate) => ({ ...candidate, pieces: tgt_tokenizer.ids_to_pieces(candidate.ids) })),
  );
  const hypotheses = looked.hypotheses.map((hypothesis) => ({
    ...hypothesis,
    text: tgt_tokenizer.decode(hypothesis.ids),
  }));
  return { ...looked, steps, hypotheses };
}

self.addEventListener("message", async ({ data: { number, act, values } }) => {
  try {
    self.postMessage({ number, answer: await ACTS[act](values) });
  } catch (error) {
    const known = error instanceof UserError;
    if (!known) console.error(error);
    const line = known ? error.message : `the page has a fault of its own: ${error.message}`;
    self.postMessage({ number, error: line });
  }
});

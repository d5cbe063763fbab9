// Runs the models beside the page, so that the page never waits.

import { check_direction, check_files } from "./checks.js";
import { ModelFileError, UserError } from "./errors.js";
import { decompress, FILES, MANIFEST, with_remedy } from "./model_files.js";
import { bits_of } from "./safetensors.js";
import { Translator } from "./translator.js";

// What these import, and what that imports, so that no file waits for another.
import "./attention.js";
import "./bpe.js";
import "./config.js";
import "./decoding.js";
import "./embeddings.js";
import "./feed_forward.js";
import "./formats.js";
import "./interventions.js";
import "./layers.js";
import "./linear.js";
import "./masks.js";
import "./matrix.js";
import "./model.js";
import "./next_token.js";
import "./normalizers.js";
import "./positions.js";
import "./sampling.js";
import "./sha256.js";
import "./trace.js";

const loaded = new Map(); // models that were read, by name: each with its translator

/** Return a model of the page's list, read from its files; an error names the file, and what to do. */
async function load(name, direction, files) {
  try {
    const model = await read(...files);
    check_direction(name, direction, model.translator.recipe);
    return model;
  } catch (error) {
    if (!(error instanceof ModelFileError)) throw error;
    throw with_remedy(name, error);
  }
}

/** Decompress, check and read the files of a model; return it, and what the page says of it. */
async function read(manifest, ...served) {
  const start = performance.now();
  const files = await Promise.all(served.map((file, i) => decompress(FILES[i], file)));
  await check_files(manifest, files);
  const translator = new Translator(files);
  const { num_layers, num_heads, pre_norm } = translator.model.config;
  const { src_lang, tgt_lang, corpus } = translator.recipe.data ?? {};
  return {
    translator,
    about: {
      ...{ num_layers, num_heads, pre_norm, src_lang, tgt_lang, corpus },
      bits: bits_of(files.at(-1)),
      bytes: files.reduce((sum, file) => sum + file.byteLength, 0),
      ms_to_read: performance.now() - start,
    },
  };
}

let last = { asked: "", whole: null }; // while only cuts change, the whole model says the same

/** Return what the whole model makes of a sentence. */
function look_whole(translator, name, sentence, options) {
  const asked = JSON.stringify([name, sentence, options]); // without its functions
  if (asked !== last.asked) last = { asked, whole: translator.look(sentence, options) };
  return last.whole;
}

const ACTS = {
  /** Load a model of the page's list from its files, unless it is loaded, or was opened. */
  async load({ name, direction, files }) {
    if (!loaded.has(name)) loaded.set(name, await load(name, direction, files));
    return loaded.get(name).about;
  },

  /** Take a model whose files the page has read, by name; those that are missing are told. */
  async open({ name, files, folder }) {
    try {
      const missing = [...FILES, MANIFEST].find((file) => files[file] === undefined);
      if (missing !== undefined) throw new ModelFileError(missing, "is missing");
      const model = await read(...[MANIFEST, ...FILES].map((file) => files[file]));
      loaded.set(name, model);
      last = { asked: "", whole: null };
      return model.about;
    } catch (error) {
      if (!(error instanceof ModelFileError)) throw error;
      throw new UserError(
        `${folder}/${error.file} ${error.problem}: choose a model's whole folder, as training left it`,
      );
    }
  },

  /** Return how many tokens a sentence has in a model, eos included. */
  length({ name, sentence }) {
    return loaded.get(name).translator.encode(sentence).length;
  },

  /** Translate a sentence, and once more with cuts, where there are any. */
  look({ name, sentence, options: asked, cuts }, tell) {
    const { translator } = loaded.get(name);
    const options = { ...asked, on_step: (step, limit) => tell({ step, limit }) };
    if (translator.encode(sentence).length === 0) return null;
    const on_found = (translation) => tell({ translation });
    const whole = look_whole(translator, name, sentence, { ...options, on_found });
    const cut = cuts === null ? null : translator.look(sentence, options, cuts, whole.said);
    return { whole: for_readers(translator, whole), cut: cut && for_readers(translator, cut) };
  },

  /** Follow a sentence and its translation through a model, whole or with cuts. */
  trace({ name, src, said, cuts }) {
    return loaded.get(name).translator.trace(src, said, cuts ?? {});
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

/** Do what is asked, and post what comes of it. */
async function answer({ number, act, values }) {
  const tell = (news) => self.postMessage({ number, news });
  try {
    self.postMessage({ number, answer: await ACTS[act](values, tell) });
  } catch (error) {
    const known = error instanceof UserError;
    if (!known) console.error(error);
    const line = known ? error.message : `the page has a fault of its own: ${error.message}`;
    self.postMessage({ number, error: line });
  }
}

let answered = Promise.resolve(); // once all that was asked so far is answered: one after the other
self.addEventListener("message", ({ data }) => {
  answered = answered.then(() => answer(data));
});

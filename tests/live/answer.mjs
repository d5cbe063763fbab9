// Answers what Python asks of the page's own files: node answer.mjs QUESTIONS.json ANSWERS.json
//
// Each question names a folder of a model and what to do with it; each answer stands in its place.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { BOXES } from "../../docs/live/js/boxes.js";
import { BPETokenizer } from "../../docs/live/js/bpe.js";
import { EOS_ID } from "../../docs/live/js/config.js";
import { beam_search, greedy_search } from "../../docs/live/js/decoding.js";
import { UserError } from "../../docs/live/js/errors.js";
import { SourceMaskedModel, probabilities, ablate_heads } from "../../docs/live/js/interventions.js";
import { padding_mask } from "../../docs/live/js/masks.js";
import { decompress, FILES } from "../../docs/live/js/model_files.js";
import { STOPS } from "../../docs/live/js/tour.js";
import { trace } from "../../docs/live/js/trace.js";
import { Translator } from "../../docs/live/js/translator.js";

const [questions_file, answers_file] = process.argv.slice(2);
const loaded = new Map(); // translators, by folder

/** Load the model of a folder at its first question. */
async function load(folder) {
  if (loaded.has(folder)) return;
  const read = (name) => decompress(name, Uint8Array.from(readFileSync(join(folder, name))).buffer);
  loaded.set(folder, new Translator(await Promise.all(FILES.map(read))));
}

const translator_of = (folder) => loaded.get(folder);

const plain = (matrix) => Array.from({ length: matrix.rows }, (_, i) => [...matrix.row(i)]);

function tokens({ tokenizer, texts }) {
  const reader = new BPETokenizer(JSON.parse(readFileSync(tokenizer, "utf8")));
  return texts.map((text) => {
    const ids = reader.encode(text);
    return { ids, pieces: reader.ids_to_pieces(ids), back: reader.decode(ids) };
  });
}

function text_of({ tokenizer, rows }) {
  const reader = new BPETokenizer(JSON.parse(readFileSync(tokenizer, "utf8")));
  return rows.map((ids) => ({ text: reader.decode(ids), pieces: reader.ids_to_pieces(ids) }));
}

function translate({ folder, sentences, beam_size, alpha }) {
  const translator = translator_of(folder);
  return sentences.map((sentence) => translator.translate(sentence, { beam_size, alpha }));
}

function greedy({ folder, sentences, before, after, removed = [] }) {
  const translator = translator_of(folder);
  const model = new SourceMaskedModel(translator.model, before, after);
  return ablate_heads(translator.model, removed, () =>
    sentences.map((sentence) => {
      const { ids } = greedy_search(model, translator.encode(sentence), translator.max_len);
      return translator.tgt_tokenizer.decode(ids);
    }),
  );
}

function search({ folder, src, beam_size, alpha, max_len }) {
  return beam_search(translator_of(folder).model, src, { beam_size, alpha, max_len });
}

function network({ folder, src, tgt_in, before, after, removed = [] }) {
  const { model: whole } = translator_of(folder);
  const model = new SourceMaskedModel(whole, before, after);
  return ablate_heads(whole, removed, () => {
    const mask = padding_mask(src);
    const memory = model.encode(src, mask);
    const cache = model.new_cache();
    const maps = model.attention_maps(src, tgt_in);
    for (const stack of Object.keys(maps)) {
      maps[stack] = maps[stack].map((layer) => layer.map(plain));
    }
    return {
      memory: plain(memory),
      logits: plain(model.decode(tgt_in, memory, mask)),
      cached: tgt_in.map((id) => [...model.decode([id], memory, mask, cache).row(0)]),
      maps,
      probabilities: probabilities(model, src, tgt_in.slice(1)),
      traced: plain(trace(whole, src, [...tgt_in.slice(1), EOS_ID]).logits),
    };
  });
}

function look({ folder, sentence, options, cuts, compared }) {
  const { maps, ...rest } = translator_of(folder).look(sentence, options, cuts, compared);
  return rest;
}

const content = () => ({ stops: STOPS, boxes: Object.keys(BOXES), files: FILES });

async function exported({ file }) {
  return Object.keys(await import(new URL(`../../docs/live/js/${file}`, import.meta.url)));
}

const ACTS = { tokens, text_of, translate, greedy, search, network, look, content, exported };

async function answer(question) {
  try {
    if (question.folder !== undefined) await load(question.folder);
    return await ACTS[question.act](question);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return { error: error.message };
  }
}

const questions = JSON.parse(readFileSync(questions_file, "utf8"));
const answers = [];
for (const question of questions) answers.push(await answer(question));
writeFileSync(answers_file, JSON.stringify(answers));

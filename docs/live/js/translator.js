// A trained model that translates text. Compare transformer/models/translator.py.

import { BPETokenizer } from "./bpe.js";
import { BOS_ID, config_of, EOS_ID } from "./config.js";
import { beam_search } from "./decoding.js";
import { UserError } from "./errors.js";
import { parse_json_object } from "./formats.js";
import { SourceMaskedModel, probabilities, ablate_heads } from "./interventions.js";
import { places_of_largest, softmax } from "./matrix.js";
import { Transformer } from "./model.js";
import { FILES } from "./model_files.js";
import { read_safetensors } from "./safetensors.js";
import { sample_search } from "./sampling.js";
import { trace } from "./trace.js";
import { normalize_plain } from "./normalizers.js";

const NUM_NEXT = 16; // most probable tokens of a row that are returned
const LETTERS_A_TOKEN = 20; // more than any text has, on average

/** Return the error, of one line, for a text that is too long. */
function too_long(text, size, most) {
  const letters = [...text.slice(0, 100)];
  const shown = letters.length <= 40 ? text : `${letters.slice(0, 40).join("")}...`;
  return new UserError(`"${shown}" has ${size}, and this model takes ${most}: split the sentence`);
}

/** A model with its tokenizers, ready to translate. */
export class Translator {
  /**
   * @param {ArrayBuffer[]} files What lies in a model's folder, in the order of `FILES`.
   * @throws {ModelFileError} One of them is damaged, or does not fit the others.
   */
  constructor(files) {
    const values = FILES.slice(0, 3).map((file, i) => parse_json_object(file, files[i]));
    this.recipe = values[0];
    const config = config_of(this.recipe);
    this.src_tokenizer = new BPETokenizer(values[1], FILES[1]);
    this.tgt_tokenizer = new BPETokenizer(values[2], FILES[2]);
    const sizes = [this.src_tokenizer.vocab_size, this.tgt_tokenizer.vocab_size];
    this.model = new Transformer(config, read_safetensors(files[3]), ...sizes);
    this.max_len = this.model.config.max_len - 1; // one place is for bos or eos
  }

  /** Return a sentence's ids, eos last; an empty array for a blank sentence. */
  encode(sentence) {
    const text = normalize_plain(sentence);
    if (text === "") return [];
    const most = LETTERS_A_TOKEN * this.max_len; // cutting more would take seconds
    if (text.length > most) throw too_long(text, `${text.length} letters`, most);
    const ids = this.src_tokenizer.encode(text);
    if (ids.length > this.max_len) throw too_long(text, `${ids.length} tokens`, this.max_len);
    return [...ids, EOS_ID];
  }

  /** Return a sentence's translation; an empty one for a blank sentence. */
  translate(sentence, options = {}) {
    const src = this.encode(sentence);
    if (src.length === 0) return "";
    return this.tgt_tokenizer.decode(this.search(this.model, src, options).hypotheses[0].ids);
  }

  /**
   * Follow a sentence and its translation through the model's boxes (see trace.js).
   * @param {number[]} src Source ids with eos.
   * @param {number[]} said Target ids.
   * @param {object} cuts What is taken away (see `look`).
   * @returns {object} With `next`, the most probable tokens of each row.
   */
  trace(src, said, { before = [], after = [], removed = [] } = {}) {
    const run = () => trace(this.model, src, said, before, after);
    const traced = ablate_heads(this.model, removed, run);
    const next = said.map((_, t) => this.most_probable(traced.logits.row(t)));
    return { ...traced, next };
  }

  /** Return the most probable tokens of a row of logits: piece, logit, probability. */
  most_probable(logits) {
    const chances = softmax(logits);
    const order = places_of_largest(chances, NUM_NEXT);
    const pieces = this.tgt_tokenizer.ids_to_pieces(order);
    return order.map((id, rank) => ({ piece: pieces[rank], logit: logits[id], chance: chances[id] }));
  }

  /** Search with a model, or with one that hides places of the source. */
  search(model, src, options = {}) {
    const way = options.search === "draw" ? sample_search : beam_search;
    return way(model, src, { ...options, max_len: this.max_len });
  }

  /**
   * Translate a sentence, and return everything that was looked at on the way.
   * @param {string} sentence Not empty.
   * @param {object} options Of the search: "beam" or "draw", and that one's own; on_found, called
   *   with the translation before all else is computed.
   * @param {object} cuts What is taken away: the source places `before` and `after` (see
   *   `SourceMaskedModel`) and the heads `removed`.
   * @param {?number[]} compared Ids of another translation of the sentence.
   * @returns {object} The translation; ids and pieces of both sides (the target's end in eos,
   *   where it ended of itself); the maps (the row of a token has read those before it); the
   *   search's steps and hypotheses, and its milliseconds; the probability of each token of
   *   `compared`, or, without it, of the translation itself.
   */
  look(sentence, options = {}, cuts = {}, compared = null) {
    const { before = [], after = [], removed = [] } = cuts;
    const model = new SourceMaskedModel(this.model, before, after);
    return ablate_heads(this.model, removed, () => {
      const start = performance.now();
      const src = this.encode(sentence);
      const { hypotheses, steps } = this.search(model, src, options);
      const ms = performance.now() - start;
      const { ids, finished } = hypotheses[0];
      const said = finished ? [...ids, EOS_ID] : ids;
      const translation = this.tgt_tokenizer.decode(ids);
      options.on_found?.(translation);
      return {
        translation,
        said,
        src_tokens: this.src_tokenizer.ids_to_pieces(src),
        tgt_tokens: this.tgt_tokenizer.ids_to_pieces(said),
        src,
        maps: model.attention_maps(src, [BOS_ID, ...said.slice(0, -1)]),
        hypotheses,
        steps,
        ms,
        probabilities: probabilities(model, src, compared ?? said),
      };
    });
  }
}

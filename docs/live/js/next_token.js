// One step of any search: a model scores the token after a prefix. Compare the way in which
// lessonkit/analysis/beam_tree.py asks a model.

import { BOS_ID, EOS_ID, PAD_ID } from "./config.js";
import { UserError } from "./errors.js";
import { padding_mask } from "./masks.js";
import { log_softmax } from "./matrix.js";

const EXTRA_LENGTH = 50; // §6.1: at most the input length + 50

/** Return how many tokens a target may have: those of its source, eos included, and more. */
export function length_limit(src, max_len) {
  return Math.min(src.length + EXTRA_LENGTH, max_len);
}

/** A model that scores the translations of one source, position by position. */
export class NextTokenScorer {
  /**
   * @param {Transformer} model
   * @param {number[]} src Source ids with eos, (src_len).
   */
  constructor(model, src) {
    this.model = model;
    this.src_mask = padding_mask(src);
    this.memory = model.encode(src, this.src_mask);
  }

  /**
   * Return the log probability of each token after a prefix (nats).
   * @param {number[]} prefix Target ids without bos.
   * @param {DecoderCache} cache What stands before its last token; that one is appended.
   * @returns {Float32Array} (vocab_size)
   * @throws {UserError} The model's scores are no numbers.
   */
  log_probs(prefix, cache) {
    const tgt_in = [prefix.at(-1) ?? BOS_ID];
    const logits = this.model.decode(tgt_in, this.memory, this.src_mask, cache); // (1, vocab_size)
    const log_probs = log_softmax(logits.row(0));
    if (Number.isNaN(log_probs[EOS_ID])) {
      throw new UserError("the model's scores are not numbers (nan): choose another model");
    }
    log_probs[PAD_ID] = log_probs[BOS_ID] = -Infinity; // no sentence holds these
    return log_probs;
  }
}

// From a source sentence to a translation: greedy and beam search (§6.1). Compare
// transformer/decoding.py; the beam is that of lessonkit/analysis/beam_tree.py, which searches
// one sentence and keeps a record of everything that it looked at.

import { BEAM_SIZE, BOS_ID, EOS_ID, LENGTH_PENALTY, PAD_ID } from "./config.js";
import { UserError } from "./errors.js";
import { padding_mask } from "./masks.js";
import { log_softmax } from "./matrix.js";

export const EXTRA_LENGTH = 50; // §6.1: at most the input length + 50

/**
 * Give what a sum of log probabilities is divided by (§6.1; Wu et al. 2016, Eq. 14).
 * @param {number} length Target tokens, eos included.
 * @param {number} alpha 0 means no penalty, 1 nearly the mean per token.
 */
export function length_penalty(length, alpha = LENGTH_PENALTY) {
  return ((5 + length) / 6) ** alpha;
}

/** Steps a model through target positions. */
class Decoder {
  constructor(model, src) {
    this.model = model;
    this.src_mask = padding_mask(src);
    this.memory = model.encode(src, this.src_mask);
  }

  /** Score the token after a prefix that ends in `last`; `cache` holds what stands before it. */
  next_log_probs(last, cache) {
    const logits = this.model.decode([last], this.memory, this.src_mask, cache); // (1, vocab_size)
    const log_probs = log_softmax(logits.row(0));
    log_probs[PAD_ID] = log_probs[BOS_ID] = -Infinity; // no sentence holds these
    return log_probs;
  }
}

/** Count the source's tokens, eos included, and add what a target may have more. */
function length_limit(src, max_len) {
  return Math.min(src.length + EXTRA_LENGTH, max_len);
}

/**
 * Take the most probable token at every step.
 * @param {Transformer} model
 * @param {number[]} src Source ids with eos, (src_len).
 * @param {number} max_len Most tokens of any target.
 * @returns {{ids: number[], score: number, finished: boolean}} Target ids without bos and eos; the
 *   sum of log probabilities, eos included (nats); whether it ends in eos, not at the limit.
 */
export function greedy_search(model, src, max_len = Infinity) {
  const decoder = new Decoder(model, src);
  const cache = model.new_cache();
  const limit = length_limit(src, max_len);
  const ids = [];
  let score = 0;
  while (ids.length < limit) {
    const log_probs = decoder.next_log_probs(ids.at(-1) ?? BOS_ID, cache);
    const token = log_probs.reduce((best, value, id) => (value > log_probs[best] ? id : best), 0);
    if (log_probs[token] === -Infinity) break; // no token can follow
    score += log_probs[token];
    if (token === EOS_ID) return { ids, score, finished: true };
    ids.push(token);
  }
  return { ids, score, finished: false };
}

/**
 * Follow the `beam_size` best prefixes of a sentence side by side (§6.1).
 *
 * At each step the best 2 x beam_size continuations are looked at: those among the first beam_size
 * that end in eos are finished, and the best beam_size of the others live on. The search is done
 * with beam_size finished ones, or at the limit, where the living are taken as they stand.
 * @param {Transformer} model
 * @param {number[]} src Source ids with eos, (src_len).
 * @param {object} options beam_size; alpha, of the length penalty; max_len, most tokens.
 * @returns {{hypotheses: object[], steps: object[][]}} What was found, the best first: ids, score
 *   (over the length penalty), finished. And of each step its candidates, the best total first:
 *   ids, the last of them new; its log_prob; the total of all; fate, "kept", "finished" or
 *   "dropped".
 */
export function beam_search(model, src, options = {}) {
  const { beam_size = BEAM_SIZE, alpha = LENGTH_PENALTY, max_len = Infinity } = options;
  if (!(beam_size >= 1)) throw new UserError(`beam size ${beam_size} is too small: give 1 or more`);
  const decoder = new Decoder(model, src);
  const limit = length_limit(src, max_len);
  let kept = [{ ids: [], total: 0, cache: model.new_cache() }];
  const [steps, found] = [[], []];
  while (kept.length > 0 && found.length < beam_size && steps.length < limit) {
    const log_probs = kept.map(({ ids, cache }) =>
      decoder.next_log_probs(ids.at(-1) ?? BOS_ID, cache),
    );
    const candidates = best_continuations(kept, log_probs, beam_size);
    if (candidates.length === 0) break; // no token can follow
    steps.push(candidates);
    const penalty = length_penalty(steps.length, alpha);
    for (const { ids, total, fate } of candidates) {
      if (fate !== "finished") continue;
      found.push({ ids: ids.slice(0, -1), score: total / penalty, finished: true });
    }
    kept = candidates
      .filter(({ fate }) => fate === "kept")
      .map(({ ids, total, row }) => ({ ids, total, cache: kept[row].cache.copy() }));
  }
  if (found.length < beam_size) {
    const penalty = length_penalty(steps.length, alpha);
    for (const { ids, total } of kept) found.push({ ids, score: total / penalty, finished: false });
  }
  found.sort((a, b) => b.finished - a.finished || b.score - a.score);
  return { hypotheses: found.slice(0, beam_size), steps };
}

/** Take the best 2 x beam_size continuations of all prefixes, and decide their fates. */
function best_continuations(kept, log_probs, beam_size) {
  const best = []; // the best total first
  kept.forEach(({ total: so_far }, row) => {
    log_probs[row].forEach((log_prob, token) => {
      const total = so_far + log_prob;
      if (best.length === 2 * beam_size && !(total > best.at(-1).total)) return;
      if (total === -Infinity) return;
      let place = best.length;
      while (place > 0 && best[place - 1].total < total) place--;
      best.splice(place, 0, { row, token, log_prob, total });
      best.length = Math.min(best.length, 2 * beam_size);
    });
  });
  let room = beam_size;
  return best.map(({ row, token, log_prob, total }, rank) => {
    let fate = "dropped";
    if (token === EOS_ID) {
      if (rank < beam_size) fate = "finished";
    } else if (room > 0) {
      fate = "kept";
      room--;
    }
    return { ids: [...kept[row].ids, token], row, log_prob, total, fate };
  });
}

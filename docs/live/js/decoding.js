// From a source sentence to a translation: greedy and beam search (§6.1). Compare
// transformer/decoding.py; the beam is that of lessonkit/analysis/beam_tree.py, which searches
// one sentence and keeps a record of everything that it looked at.

import { BEAM_SIZE, EOS_ID, LENGTH_PENALTY } from "./config.js";
import { require } from "./errors.js";
import { places_of_largest } from "./matrix.js";
import { length_limit, NextTokenScorer } from "./next_token.js";

/**
 * Return the divisor of a sum of log probabilities (§6.1; Wu et al. 2016, Eq. 14).
 * @param {number} length Target tokens, eos included.
 * @param {number} alpha With 0 there is no penalty; with 1 the quotient is nearly the mean per token.
 */
export function length_penalty(length, alpha = LENGTH_PENALTY) {
  return ((5 + length) / 6) ** alpha;
}

/**
 * Return the translation whose every token is the most probable one at its step.
 * @param {Transformer} model
 * @param {number[]} src Source ids with eos, (src_len).
 * @param {number} max_len Most tokens of any target.
 * @returns {{ids: number[], score: number, finished: boolean}} Target ids without bos and eos; the
 *   sum of log probabilities, eos included (nats); whether it ends in eos, not at the limit.
 */
export function greedy_search(model, src, max_len = Infinity) {
  const scorer = new NextTokenScorer(model, src);
  const cache = model.new_cache();
  const limit = length_limit(src, max_len);
  const ids = [];
  let score = 0;
  while (ids.length < limit) {
    const log_probs = scorer.log_probs(ids, cache);
    const token = log_probs.reduce((best, value, id) => (value > log_probs[best] ? id : best), 0);
    if (log_probs[token] === -Infinity) break; // no token can follow
    score += log_probs[token];
    if (token === EOS_ID) return { ids, score, finished: true };
    ids.push(token);
  }
  return { ids, score, finished: false };
}

/**
 * Return the best translations that a beam of `beam_size` prefixes finds (§6.1).
 *
 * Each step considers the best 2 x beam_size continuations. Those among the first beam_size that
 * end in eos are finished hypotheses, and the best beam_size of the others are the next prefixes.
 * The search is done when it has beam_size finished hypotheses, or at the limit, where its prefixes
 * become unfinished hypotheses.
 * @param {Transformer} model
 * @param {number[]} src Source ids with eos, (src_len).
 * @param {object} options beam_size; alpha, the exponent of the length penalty; max_len, the most
 *   tokens of a target; on_step, called after each step with its number and the most that there can be.
 * @returns {{hypotheses: object[], steps: object[][]}} The hypotheses, the best first: ids, score
 *   (over the length penalty), finished. And of each step its candidates, the best total first:
 *   ids, the last of them new; its log_prob; the total of all; status, "kept", "finished" or
 *   "dropped".
 */
export function beam_search(model, src, options = {}) {
  const { beam_size = BEAM_SIZE, alpha = LENGTH_PENALTY, max_len = Infinity, on_step = null } = options;
  const is_size = Number.isInteger(beam_size) && beam_size >= 1;
  require(is_size, `beam_size is ${beam_size}: give a whole number of 1 or more`);
  require(alpha >= 0 && alpha < Infinity, `alpha is ${alpha}: give a number of 0 or more`);
  const scorer = new NextTokenScorer(model, src);
  const limit = length_limit(src, max_len);
  let prefixes = [{ ids: [], total: 0, cache: model.new_cache() }];
  const [steps, hypotheses] = [[], []];
  while (prefixes.length > 0 && hypotheses.length < beam_size && steps.length < limit) {
    const log_probs = prefixes.map(({ ids, cache }) => scorer.log_probs(ids, cache));
    const candidates = top_continuations(prefixes, log_probs, beam_size);
    if (candidates.length === 0) break; // no token can follow
    steps.push(candidates);
    on_step?.(steps.length, limit);
    const penalty = length_penalty(steps.length, alpha);
    for (const { ids, total, status } of candidates) {
      if (status !== "finished") continue;
      hypotheses.push({ ids: ids.slice(0, -1), score: total / penalty, finished: true });
    }
    prefixes = candidates
      .filter(({ status }) => status === "kept")
      .map(({ ids, total, row }) => ({ ids, total, cache: prefixes[row].cache.copy() }));
  }
  if (hypotheses.length < beam_size) {
    const penalty = length_penalty(steps.length, alpha);
    for (const { ids, total } of prefixes) hypotheses.push({ ids, score: total / penalty, finished: false });
  }
  hypotheses.sort((a, b) => b.finished - a.finished || b.score - a.score);
  return { hypotheses: hypotheses.slice(0, beam_size), steps };
}

/** Return the best 2 x beam_size continuations of all prefixes, with the status of each. */
function top_continuations(prefixes, log_probs, beam_size) {
  const continuations = prefixes.flatMap(({ total: so_far }, row) =>
    places_of_largest(log_probs[row], 2 * beam_size).map((token) => {
      const log_prob = log_probs[row][token];
      return { row, token, log_prob, total: so_far + log_prob };
    }),
  );
  const best = continuations
    .filter(({ total }) => total > -Infinity)
    .sort((a, b) => b.total - a.total)
    .slice(0, 2 * beam_size);
  let room = beam_size;
  return best.map(({ row, token, log_prob, total }, rank) => {
    let status = "dropped";
    if (token === EOS_ID) {
      if (rank < beam_size) status = "finished";
    } else if (room > 0) {
      status = "kept";
      room--;
    }
    return { ids: [...prefixes[row].ids, token], row, log_prob, total, status };
  });
}

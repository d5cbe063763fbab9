// Nucleus sampling: a translation drawn by chance. Not in the paper; lesson 07 asks for its rule.

import { EOS_ID } from "./config.js";
import { require } from "./errors.js";
import { softmax } from "./matrix.js";
import { length_limit, NextTokenScorer } from "./next_token.js";

const MAX_CANDIDATES = 8; // of a drawn step that are returned

/**
 * Return a translation whose tokens are drawn by chance, at a temperature, of the most probable ones
 * that together have `top_p`.
 *
 * Not in the paper (Holtzman et al. 2020, arXiv 1904.09751). The same seed draws the same sentence.
 * @param {Transformer} model
 * @param {number[]} src Source ids with eos, (src_len).
 * @param {object} options temperature, above 0: below 1 it sharpens, above 1 it flattens; top_p, at
 *   most 1; seed; max_len, most tokens; on_step, as in `beam_search`.
 * @returns {{hypotheses: object[], steps: object[][]}} As `beam_search` returns them: one
 *   hypothesis, its score the sum of log probabilities of the model itself; of each step the most
 *   probable tokens and the one drawn, whose status is "kept", or "finished" where it is eos.
 */
export function sample_search(model, src, options = {}) {
  const { temperature = 1, top_p = 1, seed = 1, max_len = Infinity, on_step = null } = options;
  require(temperature > 0, `temperature is ${temperature}: give a number above 0`);
  require(top_p > 0 && top_p <= 1, `top_p is ${top_p}: give a number above 0, at most 1`);
  require(Number.isInteger(seed) && seed >= 0, `seed is ${seed}: give a whole number of 0 or more`);
  const scorer = new NextTokenScorer(model, src);
  const cache = model.new_cache();
  const limit = length_limit(src, max_len);
  const chance = random_numbers(seed);
  const [ids, steps] = [[], []];
  let score = 0;
  let finished = false;
  while (!finished && ids.length < limit) {
    const log_probs = scorer.log_probs(ids, cache);
    const { order, shares } = nucleus(log_probs, temperature, top_p);
    let left = chance();
    let drawn = order.findIndex((_, rank) => (left -= shares[rank]) < 0);
    if (drawn < 0) drawn = order.length - 1; // rounding left a little
    const candidates = order.map((token, rank) => {
      const status = rank !== drawn ? "dropped" : token === EOS_ID ? "finished" : "kept";
      const log_prob = Math.log(shares[rank]);
      return { ids: [...ids, token], log_prob, total: score + log_probs[token], status };
    });
    steps.push(candidates.filter(({ status }, rank) => rank < MAX_CANDIDATES || status !== "dropped"));
    on_step?.(steps.length, limit);
    score += log_probs[order[drawn]];
    finished = order[drawn] === EOS_ID;
    if (!finished) ids.push(order[drawn]);
  }
  return { hypotheses: [{ ids, score, finished }], steps };
}

/** Return the tokens that may be drawn, the most probable first, and their shares, which sum to 1. */
function nucleus(log_probs, temperature, top_p) {
  const shares = softmax(log_probs.map((value) => value / temperature));
  const order = [...shares.keys()].sort((a, b) => shares[b] - shares[a] || a - b);
  let [sum, count] = [0, 0];
  while (count < order.length && shares[order[count]] > 0 && (count === 0 || sum < top_p)) {
    sum += shares[order[count++]];
  }
  const kept = order.slice(0, count);
  return { order: kept, shares: kept.map((token) => shares[token] / sum) };
}

/** Return a function that returns numbers from 0 to 1, the same for the same seed (mulberry32). */
function random_numbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// Interventions: source places hidden, heads ablated (§3.2.3, §3.2.2). Compare
// lessonkit/analysis/interventions.py and lessonkit/analysis/heads.py.

import { BOS_ID } from "./config.js";
import { UserError } from "./errors.js";
import { padding_mask } from "./masks.js";
import { Matrix, softmax } from "./matrix.js";

const STACKS = ["encoder", "decoder", "cross"];

/**
 * A model some of whose source places cannot be attended to, for any search.
 *
 * Neither another source place nor the decoder sees a place that is hidden before the encoder. The
 * encoder reads a place that is hidden after it, and may carry it to the neighbours; only the
 * decoder's cross-attention cannot look there.
 */
export class SourceMaskedModel {
  /**
   * @param {Transformer} model It is not changed.
   * @param {number[]} before Places of the source, from 0, hidden before the encoder.
   * @param {number[]} after Places hidden after it.
   */
  constructor(model, before = [], after = []) {
    this.model = model;
    this.before = new Set(before);
    this.after = new Set([...after, ...before]);
  }

  /** Encode without the places that are hidden before the encoder. */
  encode(src, src_mask) {
    return this.model.encode(src, mask_without(src_mask, this.before));
  }

  /** Decode without the places that are hidden. */
  decode(tgt_in, memory, src_mask, cache = null) {
    return this.model.decode(tgt_in, memory, mask_without(src_mask, this.after), cache);
  }

  /** Return the model's own empty cache. */
  new_cache() {
    return this.model.new_cache();
  }

  /** Return every attention weight, with the places hidden. */
  attention_maps(src, tgt_in) {
    const mask = padding_mask(src);
    const masks = [mask_without(mask, this.before), mask_without(mask, this.after)];
    return this.model.attention_maps(src, tgt_in, ...masks);
  }
}

/** Return a copy of a source mask, (1, src_len), with some places closed. */
export function mask_without(mask, hidden) {
  const open = new Matrix(1, mask.cols, mask.data.slice());
  for (const place of hidden) {
    if (!(place >= 0 && place < mask.cols)) {
      throw new UserError(
        `no place ${place} to hide: the source has ${mask.cols} tokens, counted from 0`,
      );
    }
    open.data[place] = 0;
  }
  if (!open.data.includes(1)) {
    throw new UserError("every place is hidden: leave one that can be attended to");
  }
  return open;
}

/**
 * Return the probability of each token of a translation, given those before it.
 * @param {Transformer|SourceMaskedModel} model
 * @param {number[]} src Source ids with eos, (src_len).
 * @param {number[]} said Target ids without bos, (tgt_len).
 * @returns {number[]} (tgt_len)
 */
export function probabilities(model, src, said) {
  const src_mask = padding_mask(src);
  const tgt_in = [BOS_ID, ...said.slice(0, -1)];
  const logits = model.decode(tgt_in, model.encode(src, src_mask), src_mask);
  return said.map((id, t) => softmax(logits.row(t))[id]);
}

/**
 * Run a model without some of its heads, and put them back afterwards (Michel et al. 2019).
 *
 * The output projection adds up the heads' outputs, each through columns of its own (§3.2.2). A
 * head adds nothing, as if it were not there, while its columns are 0.
 * @param {Transformer} model Changed while `run` runs.
 * @param {{stack: string, layer: number, head: number}[]} removed Layer and head count from 1.
 * @param {function} run
 * @returns What `run` returns.
 */
export function ablate_heads(model, removed, run) {
  const projections = new Set(removed.map((head) => attention_module(model, head).output_projection));
  const whole = new Map([...projections].map((projection) => [projection, projection.weight]));
  const d_v = model.config.value_size;
  try {
    for (const [projection, { rows, cols, data }] of whole) {
      projection.weight = new Matrix(rows, cols, data.slice());
    }
    for (const head of removed) {
      const { weight } = attention_module(model, head).output_projection; // (d_model, num_heads * d_v)
      for (let i = 0; i < weight.rows; i++) {
        weight.row(i).fill(0, (head.head - 1) * d_v, head.head * d_v);
      }
    }
    return run();
  } finally {
    for (const [projection, weight] of whole) projection.weight = weight;
  }
}

/** Return the multi-head attention that a head belongs to. */
function attention_module(model, { stack, layer, head }) {
  const { num_layers, num_heads } = model.config;
  const there = layer >= 1 && layer <= num_layers && head >= 1 && head <= num_heads;
  if (!STACKS.includes(stack) || !there) {
    throw new UserError(
      `no head ${stack} ${layer}.${head}: the model has the stacks ${STACKS.join(", ")}, ` +
        `${num_layers} layers and ${num_heads} heads, from 1`,
    );
  }
  if (stack === "encoder") return model.encoder.layers[layer - 1].self_attention;
  const { self_attention, cross_attention } = model.decoder.layers[layer - 1];
  return stack === "decoder" ? self_attention : cross_attention;
}

// Scaled dot-product and multi-head attention (§3.2), with a cache for decoding.
// Compare transformer/attention.py.

import { Linear } from "./linear.js";
import {
  below_each_other,
  columns,
  Matrix,
  multiply,
  multiply_transposed,
  side_by_side,
  softmax,
} from "./matrix.js";

/**
 * Return the average of the values, weighted by how well each key fits the query (§3.2.1, Eq. 1).
 * @param {Matrix} query (q_len, d_k): of one head, as are key and value
 * @param {Matrix} key (k_len, d_k)
 * @param {Matrix} value (k_len, d_v)
 * @param {?Matrix} mask 1 = may attend, (q_len, k_len) or (1, k_len).
 * @returns {[Matrix, Matrix]} The output (q_len, d_v), and the weights (q_len, k_len). Each row of
 *   the weights sums to 1; a query that may attend to nothing has weights 0 and output 0.
 */
export function scaled_dot_product_attention(query, key, value, mask = null) {
  const scores = multiply_transposed(query, key); // (q_len, k_len)
  const weights = new Matrix(query.rows, key.rows);
  for (let q = 0; q < query.rows; q++) {
    const allowed = mask === null ? null : mask.row(mask.rows === 1 ? 0 : q);
    const scaled = scores
      .row(q)
      .map((score, k) =>
        allowed === null || allowed[k] ? score / Math.sqrt(query.cols) : -Infinity,
      );
    weights.row(q).set(softmax(scaled));
  }
  return [multiply(weights, value), weights];
}

/**
 * The keys and values that one attention has computed while decoding.
 *
 * Not in the paper: without it, every new token would compute all earlier ones again.
 * Self-attention grows its cache by a position a step; cross-attention fills it once.
 */
export class KeyValueCache {
  constructor(key = null, value = null) {
    this.key = key; // of each head a matrix (k_len, d_k)
    this.value = value; // of each head a matrix (k_len, d_v)
  }

  /** Add positions, and return all keys and values so far. */
  append(key, value) {
    const first = this.key === null;
    this.key = first ? key : this.key.map((old, head) => below_each_other(old, key[head]));
    this.value = first ? value : this.value.map((old, head) => below_each_other(old, value[head]));
    return [this.key, this.value];
  }

  /** Return a cache that grows on its own from here: `append` makes new matrices, it alters none. */
  copy() {
    return new KeyValueCache(this.key, this.value);
  }
}

/** Several attentions side by side, each in its own projection (§3.2.2). */
export class MultiHeadAttention {
  /**
   * @param {ModelConfig} config Widths, number of heads, and whether the projections have biases.
   * @param {Weights} weights Of the four projections; the paper's have no biases.
   */
  constructor(config, weights) {
    const { d_model, num_heads, attention_bias: bias } = config;
    const d_keys = num_heads * config.key_size;
    const d_values = num_heads * config.value_size;
    this.num_heads = num_heads;
    this.query_projection = new Linear(weights.of("query_projection"), d_model, d_keys, bias);
    this.key_projection = new Linear(weights.of("key_projection"), d_model, d_keys, bias);
    this.value_projection = new Linear(weights.of("value_projection"), d_model, d_values, bias);
    this.output_projection = new Linear(weights.of("output_projection"), d_values, d_model, bias);
  }

  /**
   * Attend from each position of `query` to the positions of `memory`.
   * @param {Matrix} query (q_len, d_model)
   * @param {?Matrix} memory What keys and values are made of, (k_len, d_model): the encoder's
   *   output for cross-attention; null, for self-attention, means `query`.
   * @param {?Matrix} mask 1 = may attend, (q_len, k_len) or (1, k_len).
   * @param {?KeyValueCache} cache Keys and values from earlier steps. In self-attention the new
   *   positions are added to it; in cross-attention a filled one is used as it is.
   * @returns {[Matrix, Matrix[]]} The output (q_len, d_model), and the weights of each head
   *   (q_len, k_len).
   */
  forward(query, memory = null, mask = null, cache = null) {
    const queries = this._split_heads(this.query_projection.forward(query)); // (q_len, d_k) each
    const [keys, values] = this._keys_and_values(query, memory, cache); // k_len in place of q_len
    const heads = [];
    const weights = [];
    for (let head = 0; head < this.num_heads; head++) {
      [heads[head], weights[head]] = scaled_dot_product_attention(
        queries[head],
        keys[head],
        values[head],
        mask,
      );
    }
    const joined = side_by_side(heads); // (q_len, num_heads * d_v)
    return [this.output_projection.forward(joined), weights];
  }

  /** Project memory to keys and values, or take from the cache what is there. */
  _keys_and_values(query, memory, cache) {
    if (memory !== null && cache !== null && cache.key !== null) return [cache.key, cache.value];
    const source = memory ?? query;
    const keys = this._split_heads(this.key_projection.forward(source));
    const values = this._split_heads(this.value_projection.forward(source));
    return cache === null ? [keys, values] : cache.append(keys, values);
  }

  /** Cut (length, num_heads * d) into (length, d) for each head. */
  _split_heads(joined) {
    const d = joined.cols / this.num_heads;
    return Array.from({ length: this.num_heads }, (_, head) =>
      columns(joined, head * d, (head + 1) * d),
    );
  }
}

// The layers of the two stacks, and the residual connections in them (§3.1). Compare
// transformer/layers.py; dropout, which only training has, is left out.

import { MultiHeadAttention } from "./attention.js";
import { FeedForward } from "./feed_forward.js";
import { LayerNorm } from "./linear.js";
import { add } from "./matrix.js";

/**
 * The residual connection around a sub-layer, with its norm (§3.1).
 *
 * Post-norm, the paper's: LayerNorm(x + sublayer(x)).
 * Pre-norm, not in the paper: x + sublayer(LayerNorm(x)).
 */
export class Residual {
  constructor(config, weights) {
    this.norm = new LayerNorm(weights.of("norm"), config.d_model);
    this.pre_norm = config.pre_norm;
  }

  /**
   * Add what a sub-layer makes of the hidden states to them.
   * @param {Matrix} hidden (length, d_model)
   * @param {function(Matrix): Matrix|Array} sublayer Called with the hidden states, or with their
   *   norm in a pre-norm model. It returns its output, (length, d_model), or an array that begins
   *   with it.
   * @returns {Matrix|Array} (length, d_model), followed by what else the sub-layer returned.
   */
  forward(hidden, sublayer) {
    const result = sublayer(this.pre_norm ? this.norm.forward(hidden) : hidden);
    const [output, ...others] = Array.isArray(result) ? result : [result];
    let total = add(hidden, output);
    if (!this.pre_norm) total = this.norm.forward(total);
    return others.length ? [total, ...others] : total;
  }
}

/** Self-attention, then feed-forward (§3.1, left half of Fig. 1). */
export class EncoderLayer {
  constructor(config, weights) {
    this.self_attention = new MultiHeadAttention(config, weights.of("self_attention"));
    this.feed_forward = new FeedForward(config, weights.of("feed_forward"));
    this.self_attention_residual = new Residual(config, weights.of("self_attention_residual"));
    this.feed_forward_residual = new Residual(config, weights.of("feed_forward_residual"));
  }

  /**
   * Run the layer.
   * @param {Matrix} hidden (src_len, d_model)
   * @param {Matrix} mask (1, src_len)
   * @returns {[Matrix, Matrix[]]} (src_len, d_model), and each head's weights (src_len, src_len).
   */
  forward(hidden, mask) {
    let weights;
    [hidden, weights] = this.self_attention_residual.forward(hidden, (x) =>
      this.self_attention.forward(x, null, mask),
    );
    hidden = this.feed_forward_residual.forward(hidden, (x) => this.feed_forward.forward(x));
    return [hidden, weights];
  }
}

/** Self-attention, cross-attention, feed-forward (§3.1, right half of Fig. 1). */
export class DecoderLayer {
  constructor(config, weights) {
    this.self_attention = new MultiHeadAttention(config, weights.of("self_attention"));
    this.cross_attention = new MultiHeadAttention(config, weights.of("cross_attention"));
    this.feed_forward = new FeedForward(config, weights.of("feed_forward"));
    this.self_attention_residual = new Residual(config, weights.of("self_attention_residual"));
    this.cross_attention_residual = new Residual(config, weights.of("cross_attention_residual"));
    this.feed_forward_residual = new Residual(config, weights.of("feed_forward_residual"));
  }

  /**
   * Run the layer.
   * @param {Matrix} hidden (tgt_len, d_model)
   * @param {Matrix} memory The encoder's output, (src_len, d_model).
   * @param {?Matrix} tgt_mask (tgt_len, k_len); null where every key may be attended to.
   * @param {Matrix} src_mask (1, src_len)
   * @param {?KeyValueCache[]} cache Of self-attention and of cross-attention.
   * @returns {[Matrix, Matrix[], Matrix[]]} (tgt_len, d_model); of each head the weights of
   *   self-attention (tgt_len, k_len) and of cross-attention (tgt_len, src_len).
   */
  forward(hidden, memory, tgt_mask, src_mask, cache = null) {
    const [self_cache, cross_cache] = cache ?? [null, null];
    let self_weights, cross_weights;
    [hidden, self_weights] = this.self_attention_residual.forward(hidden, (x) =>
      this.self_attention.forward(x, null, tgt_mask, self_cache),
    );
    [hidden, cross_weights] = this.cross_attention_residual.forward(hidden, (x) =>
      this.cross_attention.forward(x, memory, src_mask, cross_cache),
    );
    hidden = this.feed_forward_residual.forward(hidden, (x) => this.feed_forward.forward(x));
    return [hidden, self_weights, cross_weights];
  }
}

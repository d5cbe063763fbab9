// The feed-forward network of each position (§3.3). Compare transformer/feed_forward.py; dropout,
// which only training has, is left out.

import { Linear } from "./linear.js";
import { relu } from "./matrix.js";

/** Two linear maps with a ReLU between, the same at every position (§3.3, Eq. 2). */
export class FeedForward {
  /**
   * @param {ModelConfig} config d_model and d_ff are read.
   * @param {Weights} weights Of the two maps, each with a bias.
   */
  constructor({ d_model, d_ff }, weights) {
    this.inner = new Linear(weights.of("inner"), d_model, d_ff, true);
    this.outer = new Linear(weights.of("outer"), d_ff, d_model, true);
  }

  /** Map (length, d_model) to the same shape, each position for itself. */
  forward(hidden) {
    return this.outer.forward(relu(this.inner.forward(hidden)));
  }
}

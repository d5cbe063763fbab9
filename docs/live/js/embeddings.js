// Embeddings: from token ids to scaled vectors with positions (§3.4, §3.5).
// Compare transformer/embeddings.py.

import { UserError } from "./errors.js";
import { Matrix } from "./matrix.js";
import { sinusoidal_positions } from "./positions.js";

/** Token vectors, scaled by sqrt(width), with their positions (§3.4, §3.5). */
export class Embedding {
  /**
   * @param {ModelConfig} config Its widths, `positions` and `max_len` are read.
   * @param {Weights} weights "token.weight" (vocab_size, word_dim), and, where positions are
   *   learned, "learned_position.weight" (max_len, width).
   * @param {number} vocab_size
   */
  constructor(config, weights, vocab_size) {
    const { d_model, max_len, position_dim } = config;
    this.max_len = max_len;
    this.concatenated = config.positions === "concatenated";
    this.token = weights.matrix("token.weight", vocab_size, config.word_dim);
    this.scale = Math.sqrt(this.token.cols);
    const position_width = this.concatenated ? position_dim : d_model;
    this.positions =
      config.positions === "sinusoidal"
        ? sinusoidal_positions(max_len, d_model)
        : weights.matrix("learned_position.weight", max_len, position_width);
  }

  /**
   * Return the vectors of tokens at the positions start, start + 1, ...
   * @param {number[]} ids (length)
   * @param {number} start Position of the first one; above 0 when decoding with a cache.
   * @returns {Matrix} (length, d_model)
   */
  forward(ids, start = 0) {
    const end = start + ids.length;
    if (end > this.max_len) {
      throw new UserError(
        `${end} tokens are more than max_len ${this.max_len}: shorten the sentence`,
      );
    }
    const width = this.token.cols;
    const d_model = this.concatenated ? width + this.positions.cols : width;
    const hidden = new Matrix(ids.length, d_model);
    ids.forEach((id, i) => {
      const row = hidden.row(i);
      const word = this.token.row(id);
      const position = this.positions.row(start + i);
      for (let j = 0; j < width; j++) row[j] = word[j] * this.scale;
      const first = this.concatenated ? width : 0; // beside the word, or added to it
      for (let j = 0; j < position.length; j++) row[first + j] += position[j];
    });
    return hidden;
  }
}

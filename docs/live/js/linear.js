// The two pieces of PyTorch that hold weights of their own: nn.Linear and nn.LayerNorm.

import { Matrix, multiply_transposed } from "./matrix.js";

/** A linear map: input times the transposed weight, and a bias where there is one. */
export class Linear {
  /**
   * @param {Weights} weights "weight" (outputs, inputs), and perhaps "bias" (1, outputs).
   * @param {Matrix} weight Another matrix's place in memory, where the two are tied.
   */
  constructor(weights, weight = weights.matrix("weight")) {
    this.weight = weight;
    this.bias = weights.has("bias") ? weights.matrix("bias") : null;
  }

  /** Map (length, inputs) to (length, outputs). */
  forward(input) {
    const output = multiply_transposed(input, this.weight);
    if (this.bias !== null) {
      for (let i = 0; i < output.rows; i++) {
        const row = output.row(i);
        for (let j = 0; j < row.length; j++) row[j] += this.bias.data[j];
      }
    }
    return output;
  }
}

const EPSILON = 1e-5; // PyTorch's: keeps the division safe where all values are equal

/** Layer normalisation: each position gets mean 0 and variance 1, then a learned scale and shift. */
export class LayerNorm {
  /** @param {Weights} weights "weight" and "bias", (1, d_model) each. */
  constructor(weights) {
    this.weight = weights.matrix("weight").data;
    this.bias = weights.matrix("bias").data;
  }

  /** Normalise (length, d_model), each position for itself. */
  forward(hidden) {
    const output = new Matrix(hidden.rows, hidden.cols);
    for (let i = 0; i < hidden.rows; i++) {
      const values = hidden.row(i);
      let mean = 0;
      for (const value of values) mean += value / values.length;
      let variance = 0;
      for (const value of values) variance += (value - mean) ** 2 / values.length;
      const deviation = Math.sqrt(variance + EPSILON);
      const row = output.row(i);
      for (let j = 0; j < row.length; j++) {
        row[j] = ((values[j] - mean) / deviation) * this.weight[j] + this.bias[j];
      }
    }
    return output;
  }
}

// The two pieces of PyTorch that hold weights of their own: nn.Linear and nn.LayerNorm.

import { Matrix, multiply_transposed } from "./matrix.js";

/** A linear map: input times the transposed weight, and a bias where there is one. */
export class Linear {
  /**
   * @param {Weights} weights "weight" (outputs, inputs), and "bias" (1, outputs) where there is one.
   * @param {number} inputs Width of what it maps.
   * @param {number} outputs Width of what it returns.
   * @param {boolean} bias Whether there is one.
   * @param {Matrix} weight Another's matrix, where the two are tied.
   */
  constructor(weights, inputs, outputs, bias, weight = weights.matrix("weight", outputs, inputs)) {
    this.weight = weight;
    this.bias = bias ? weights.matrix("bias", 1, outputs) : null;
  }

  /** Return the map, (length, outputs), of (length, inputs). */
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
  /**
   * @param {Weights} weights "weight" and "bias", (1, d_model) each.
   * @param {number} d_model
   */
  constructor(weights, d_model) {
    this.weight = weights.matrix("weight", 1, d_model).data;
    this.bias = weights.matrix("bias", 1, d_model).data;
  }

  /** Return (length, d_model) with each position normalised for itself. */
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

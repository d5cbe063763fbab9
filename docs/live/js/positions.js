// The paper's table of positions (§3.5). Compare transformer/positions.py.

import { Matrix } from "./matrix.js";

/**
 * Return the table of sinusoidal position encodings (§3.5).
 *
 * PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos of the same angle.
 * @param {number} length Number of positions, from 0.
 * @param {number} d_model Width, even.
 * @returns {Matrix} (length, d_model), every value in [-1, 1].
 */
export function sinusoidal_positions(length, d_model) {
  const table = new Matrix(length, d_model);
  for (let pos = 0; pos < length; pos++) {
    const row = table.row(pos);
    for (let even = 0; even < d_model; even += 2) {
      const angle = pos / 10_000 ** (even / d_model);
      row[even] = Math.sin(angle);
      row[even + 1] = Math.cos(angle);
    }
  }
  return table;
}

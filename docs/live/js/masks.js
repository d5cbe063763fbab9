// Which positions may attend to which (§3.1, §3.2.3). Compare transformer/masks.py.
//
// A mask holds 1 where a query may attend, else 0: (q_len, k_len), or (1, k_len) for every query.

import { PAD_ID } from "./config.js";
import { Matrix } from "./matrix.js";

/**
 * Return the mask that lets every query attend to the real tokens only (§3.1).
 * @param {number[]} ids (k_len)
 * @returns {Matrix} (1, k_len)
 */
export function padding_mask(ids, pad_id = PAD_ID) {
  return new Matrix(1, ids.length, Uint8Array.from(ids, (id) => Number(id !== pad_id)));
}

/**
 * Return the mask that lets each position attend to itself and to those before it (§3.2.3).
 * @param {number} q_len
 * @param {number} k_len With more keys than queries, the queries are the last positions
 *   (decoding with a cache).
 * @returns {Matrix} (q_len, k_len), 1 on and below the diagonal.
 */
export function causal_mask(q_len, k_len = q_len) {
  const mask = new Matrix(q_len, k_len, new Uint8Array(q_len * k_len));
  for (let q = 0; q < q_len; q++) mask.row(q).fill(1, 0, q + 1 + k_len - q_len);
  return mask;
}

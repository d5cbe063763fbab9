// Reads a model.safetensors as it is shipped. Compare transformer/models/weights.py, which
// has a library for it. The format: eight bytes that say how long the header is, the header (JSON:
// for each tensor its type, its shape, and where it lies), and the numbers.

import { UserError } from "./errors.js";
import { Matrix } from "./matrix.js";

/** The weights of a model, or of a part of one, by name. */
export class Weights {
  /**
   * @param {Map<string, Matrix>} matrices By full name, as in the file.
   * @param {string} prefix What the names of this part begin with.
   */
  constructor(matrices, prefix = "") {
    this.matrices = matrices;
    this.prefix = prefix;
  }

  /** Return the weights of a part: `weights.of("encoder").of("layers.0")`. */
  of(part) {
    return new Weights(this.matrices, `${this.prefix}${part}.`);
  }

  /** Tell whether a matrix of this name is there. */
  has(name) {
    return this.matrices.has(this.prefix + name);
  }

  /** Return a matrix; a vector is one row. */
  matrix(name) {
    if (!this.has(name)) {
      throw new UserError(`the weights have no ${this.prefix + name}: copy the model again, whole`);
    }
    return this.matrices.get(this.prefix + name);
  }
}

/**
 * Read a safetensors file.
 * @param {ArrayBuffer} file
 * @returns {Weights} Every number as float32.
 */
export function read_safetensors(file) {
  const damaged = new UserError("model.safetensors is damaged or cut short: copy it again");
  if (file.byteLength < 8) throw damaged;
  const header_length = Number(new DataView(file).getBigUint64(0, true)); // little-endian
  if (8 + header_length > file.byteLength) throw damaged;
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(file, 8, header_length)));
  const matrices = new Map();
  for (const [name, entry] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const { dtype, shape, data_offsets } = entry;
    const [start, end] = data_offsets.map((offset) => 8 + header_length + offset);
    if (end > file.byteLength) throw damaged;
    const [rows, cols] = shape.length === 2 ? shape : [1, shape[0]];
    matrices.set(name, new Matrix(rows, cols, to_float32(file.slice(start, end), dtype)));
  }
  return new Weights(matrices);
}

/** Turn a tensor's bytes into numbers. */
function to_float32(bytes, dtype) {
  if (dtype === "F32") return new Float32Array(bytes);
  if (dtype !== "F16" && dtype !== "BF16") {
    throw new UserError(`the weights are of type ${dtype}: save them as F32, F16 or BF16`);
  }
  const halves = new Uint16Array(bytes);
  const numbers = new Float32Array(halves.length);
  const bits = new Uint32Array(numbers.buffer); // the same memory, bit by bit
  for (let i = 0; i < halves.length; i++) {
    if (dtype === "F16") numbers[i] = FLOAT16[halves[i]];
    else bits[i] = halves[i] << 16; // bfloat16 is the upper half of a float32
  }
  return numbers;
}

/** Return the number that 16 bits stand for in IEEE 754: sign, 5 bits exponent, 10 bits fraction. */
export function from_float16(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = (bits & 0x3ff) / 1024;
  if (exponent === 0) return sign * 2 ** -14 * fraction; // subnormal
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * 2 ** (exponent - 15) * (1 + fraction);
}

const FLOAT16 = Float32Array.from({ length: 65536 }, (_, bits) => from_float16(bits));

// Reads a model.safetensors as training leaves it, or in 8 bits, as this page serves it. Compare
// transformer/models/weights.py, which has a library for it, and engines/int8_weights.py, which writes
// the latter. The format: eight bytes that say how long the header is, the header (JSON: for each
// tensor its type, its shape, and where it lies), and the numbers.

import { ModelFileError } from "./errors.js";
import { Matrix } from "./matrix.js";

const FILE = "model.safetensors";
const BYTES = { F32: 4, F16: 2, BF16: 2, I8: 1 }; // of a number, by its type
const SCALE_SUFFIX = "_scale"; // of the name of an I8 matrix's scales: (rows, groups in a row)
const METADATA = "__metadata__";
const POWERS = Float32Array.from({ length: 31 }, (_, exponent) => 2 ** (exponent - 15)); // of float16
const LENGTH_BYTES = 8; // the header's length, at the beginning of the file

/** The weights of a model, or of a part of one, by name. */
export class Weights {
  /**
   * @param {Map<string, Matrix>} matrices By full name, as in the file.
   * @param {string} prefix What the names of this part begin with.
   * @param {Set<string>} used Full names of those that the network has taken.
   */
  constructor(matrices, prefix = "", used = new Set()) {
    this.matrices = matrices;
    this.prefix = prefix;
    this.used = used;
  }

  /** Return the weights of a part: `weights.of("encoder").of("layers.0")`. */
  of(part) {
    return new Weights(this.matrices, `${this.prefix}${part}.`, this.used);
  }

  /**
   * Return a matrix of this shape; a vector is one row.
   * @throws {ModelFileError} It is not there, or has another shape.
   */
  matrix(name, rows, cols) {
    const full_name = this.prefix + name;
    const found = this.matrices.get(full_name);
    if (found === undefined) throw misfit(`${full_name} is missing`);
    if (found.rows !== rows || found.cols !== cols) {
      const shapes = `${found.rows} x ${found.cols}, not ${rows} x ${cols}`;
      throw misfit(`${full_name} has the shape ${shapes}`);
    }
    this.used.add(full_name);
    return found;
  }

  /** Raise unless the network has taken every matrix of the file. */
  require_all_used() {
    for (const name of this.matrices.keys()) {
      if (!this.used.has(name)) throw misfit(`${name} is no part of the network`);
    }
  }
}

/** Return the error for weights of another network than the recipe's. */
function misfit(detail) {
  return new ModelFileError(FILE, `does not fit recipe.json and the tokenizers (${detail})`);
}

/** Return the error for a file that is not as a safetensors file is. */
function damaged(detail) {
  return new ModelFileError(FILE, `is damaged or cut short (${detail})`);
}

/**
 * Read a safetensors file.
 * @param {ArrayBuffer} file
 * @returns {Weights} Every number as float32.
 * @throws {ModelFileError} It is not whole, holds a number that is not finite, or was trained with
 *   other parts than the paper's.
 */
export function read_safetensors(file) {
  const { header, data_start } = read_header(file);
  require_paper_parts(header[METADATA]);
  const entries = Object.entries(header).filter(([name]) => name !== METADATA);
  for (const [name, entry] of entries) check_entry(name, entry);
  entries.sort(([, a], [, b]) => a.data_offsets[0] - b.data_offsets[0]);
  const matrices = new Map();
  let end = 0; // tensors lie one behind the other, without a gap
  for (const [name, { dtype, shape, data_offsets }] of entries) {
    if (data_offsets[0] !== end) throw damaged(`${name} does not begin where the one before it ends`);
    end = data_offsets[1];
    if (data_start + end > file.byteLength) throw damaged(`${name} ends behind the file's end`);
    const numbers = to_float32(file.slice(data_start + data_offsets[0], data_start + end), dtype);
    if (dtype !== "I8" && !all_finite(numbers)) throw damaged(`${name} holds a number that is not finite`);
    const [rows, cols] = shape.length === 2 ? shape : [1, shape[0]];
    matrices.set(name, new Matrix(rows, cols, numbers));
  }
  if (data_start + end !== file.byteLength) throw damaged("something follows the last tensor");
  for (const [name, { dtype }] of entries) if (dtype === "I8") scale_groups(matrices, name);
  return new Weights(matrices);
}

/** Multiply a matrix that is stored in 8 bits by its scales, one for each group of a row, and leave these out. */
function scale_groups(matrices, name) {
  const [matrix, scales] = [matrices.get(name), matrices.get(name + SCALE_SUFFIX)];
  const group_size = matrix?.cols / scales?.cols;
  if (scales?.rows !== matrix?.rows || !Number.isInteger(group_size)) {
    throw damaged(`${name} has not a scale for each group of its numbers`);
  }
  matrices.delete(name + SCALE_SUFFIX);
  // Groups lie one behind the other, in rows and from row to row.
  scales.data.forEach((scale, group) => {
    const end = (group + 1) * group_size;
    for (let i = group * group_size; i < end; i++) matrix.data[i] *= scale;
  });
}

/** Return how many bits a number of a safetensors file has; the fewest, where tensors differ. */
export function bits_of(file) {
  const entries = Object.entries(read_header(file).header).filter(([name]) => name !== METADATA);
  return 8 * Math.min(...entries.map(([, { dtype }]) => BYTES[dtype]));
}

/** Return a safetensors file's header, and where the numbers begin (bytes). */
function read_header(file) {
  if (file.byteLength < LENGTH_BYTES) throw damaged("no header");
  const length = Number(new DataView(file).getBigUint64(0, true)); // little-endian
  let header;
  try {
    header = JSON.parse(new TextDecoder().decode(new Uint8Array(file, LENGTH_BYTES, length)));
  } catch {
    throw damaged("no whole header");
  }
  if (!is_object(header)) throw damaged("the header is no object");
  return { header, data_start: LENGTH_BYTES + length };
}

const is_object = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** Raise where the weights were trained with other parts, which this page does not have. */
function require_paper_parts(metadata) {
  let parts;
  try {
    parts = JSON.parse(metadata?.about ?? "{}").parts ?? {};
  } catch {
    throw damaged("the metadata are not JSON");
  }
  const names = Object.values(parts);
  if (names.length > 0) throw misfit(`trained with ${names.join(", ")}, which this page lacks`);
}

/** Raise unless a tensor's type, shape and place go together. */
function check_entry(name, entry) {
  const { dtype, shape, data_offsets: offsets } = entry ?? {};
  if (!Object.hasOwn(BYTES, dtype)) {
    throw damaged(`${name} is of type ${dtype}, not F32, F16, BF16 or I8`);
  }
  const is_count = (value) => Number.isInteger(value) && value >= 0;
  const are_counts = (list) => Array.isArray(list) && list.every(is_count);
  if (!are_counts(shape) || ![1, 2].includes(shape.length)) throw damaged(`${name} has no shape`);
  if (!are_counts(offsets) || offsets.length !== 2) throw damaged(`${name} has no place`);
  if (dtype === "I8" && shape.length !== 2) throw damaged(`${name} is of type I8, and no matrix`);
  const num_bytes = BYTES[dtype] * shape.reduce((product, size) => product * size);
  if (offsets[1] - offsets[0] !== num_bytes) {
    throw damaged(`${name} has not the ${num_bytes} bytes of its shape`);
  }
}

/** Return whether no number is NaN or infinite. */
function all_finite(numbers) {
  for (let i = 0; i < numbers.length; i++) if (!Number.isFinite(numbers[i])) return false;
  return true;
}

/** Return a tensor's numbers, read from its bytes. */
function to_float32(bytes, dtype) {
  if (dtype === "F32") return new Float32Array(bytes);
  if (dtype === "I8") return new Float32Array(new Int8Array(bytes)); // to be scaled
  const halves = new Uint16Array(bytes);
  const numbers = new Float32Array(halves.length);
  const bits = new Uint32Array(numbers.buffer); // the same memory, bit by bit
  for (let i = 0; i < halves.length; i++) {
    if (dtype === "F16") numbers[i] = from_float16(halves[i]);
    else bits[i] = halves[i] << 16; // bfloat16 is the upper half of a float32
  }
  return numbers;
}

/** Return the number that 16 bits stand for in IEEE 754: sign, 5 bits exponent, 10 bits fraction. */
export function from_float16(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = (bits & 0x3ff) / 1024;
  if (exponent === 0) return sign * POWERS[1] * fraction; // subnormal
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * POWERS[exponent] * (1 + fraction);
}

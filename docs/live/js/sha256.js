// SHA-256 (FIPS 180-4). Browsers have it too, and quicker, but only for pages that come by https or from
// this computer, and a class's server is often neither.

const NUM_ROUNDS = 64;
const BLOCK_BYTES = 64;
const STATE_WORDS = 8; // of 32 bits
const LENGTH_BYTES = 8; // the message's length in bits, at the end of the last block

/** Return the first 32 bits of a number's fraction. */
const fraction_bits = (number) => Math.floor((number % 1) * 2 ** 32);

/** Return the first primes. */
function first_primes(count) {
  const primes = [];
  for (let number = 2; primes.length < count; number++) {
    if (primes.every((prime) => number % prime !== 0)) primes.push(number);
  }
  return primes;
}

const PRIMES = first_primes(NUM_ROUNDS);
const ROUND_CONSTANTS = Int32Array.from(PRIMES, (prime) => fraction_bits(Math.cbrt(prime)));
const INITIAL_STATE = PRIMES.slice(0, STATE_WORDS).map((prime) => fraction_bits(Math.sqrt(prime)));

/**
 * Return the SHA-256 of some bytes in hexadecimal: the browser's, or where it has none, our own.
 * @param {Uint8Array} bytes
 */
export async function sha256(bytes) {
  const { subtle } = globalThis.crypto ?? {};
  if (subtle === undefined) return compute_sha256(bytes);
  const words = new DataView(await subtle.digest("SHA-256", bytes));
  return in_hexadecimal(Array.from({ length: STATE_WORDS }, (_, i) => words.getUint32(4 * i)));
}

/** Return the SHA-256 of some bytes in hexadecimal. */
export function compute_sha256(bytes) {
  const state = Int32Array.from(INITIAL_STATE);
  const words = new Int32Array(NUM_ROUNDS);
  const num_whole_blocks = Math.floor(bytes.length / BLOCK_BYTES);
  add_blocks(state, words, bytes.subarray(0, num_whole_blocks * BLOCK_BYTES));
  add_blocks(state, words, padded_rest(bytes, num_whole_blocks * BLOCK_BYTES));
  return in_hexadecimal([...state]);
}

/** Return words of 32 bits as eight digits each. */
const in_hexadecimal = (words) => words.map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");

/** Return what follows the whole blocks, then a one, zeros, and the message's length. */
function padded_rest(bytes, start) {
  const rest = bytes.subarray(start);
  const num_blocks = Math.ceil((rest.length + 1 + LENGTH_BYTES) / BLOCK_BYTES);
  const padded = new Uint8Array(num_blocks * BLOCK_BYTES);
  padded.set(rest);
  padded[rest.length] = 0x80;
  const num_bits = BigInt(bytes.length) * 8n;
  new DataView(padded.buffer).setBigUint64(padded.length - LENGTH_BYTES, num_bits);
  return padded;
}

/** Add whole blocks to the state; `words` is room for the 64 words of a block. */
function add_blocks(state, words, blocks) {
  const view = new DataView(blocks.buffer, blocks.byteOffset, blocks.length);
  for (let start = 0; start < blocks.length; start += BLOCK_BYTES) {
    for (let i = 0; i < 16; i++) words[i] = view.getInt32(start + 4 * i); // big-endian
    expand(words);
    compress(state, words);
  }
}

/** Make 64 words of a block's 16: each of the word before last, and of those 7, 15 and 16 back. */
function expand(words) {
  for (let i = 16; i < NUM_ROUNDS; i++) {
    const x = words[i - 15];
    const y = words[i - 2];
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
    words[i] = (words[i - 16] + s0 + words[i - 7] + s1) | 0;
  }
}

/**
 * Mix a block's 64 words into the state; letters are those of the standard.
 *
 * Its variables are set one by one: taken apart as arrays they need three times as long.
 */
function compress(state, words) {
  let a = state[0];
  let b = state[1];
  let c = state[2];
  let d = state[3];
  let e = state[4];
  let f = state[5];
  let g = state[6];
  let h = state[7];
  for (let i = 0; i < NUM_ROUNDS; i++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
    const choice = (e & f) ^ (~e & g);
    const t1 = (h + s1 + choice + ROUND_CONSTANTS[i] + words[i]) | 0;
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
    const majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = (d + t1) | 0;
    d = c;
    c = b;
    b = a;
    a = (t1 + s0 + majority) | 0;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}

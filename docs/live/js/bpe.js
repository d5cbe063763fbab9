// Byte-pair encoding over bytes (§5.1). Compare transformer/data/tokenizers.py, which leaves the merging
// to a library; here it stands in `merge`.

import { NUM_SPECIAL_TOKENS, SPECIAL_TOKENS } from "./config.js";
import { ModelFileError } from "./errors.js";
import { find_normalizer } from "./normalizers.js";

// Where a text is cut before anything is merged: an English ending, or letters, or digits, or other
// signs, each with the blank before it. Compare transformer/data/pre_tokenizers.py, which has the
// reasons; a normalized text has single blanks alone.
const PRE_TOKENIZERS = {
  gpt2: /'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^ \p{L}\p{N}]+| /gu,
  gpt2_with_marks:
    /'(?:[sdmt]|ll|ve|re)| ?\p{L}[\p{L}\p{M}\u200c\u200d]*| ?\p{N}+| ?[^ \p{L}\p{N}]+| /gu,
};

/** Return GPT-2's letter of each byte: itself if visible, else the next from U+0100 on. */
function byte_letters() {
  const letters = [];
  let stand_in = 256;
  for (let byte = 0; byte < 256; byte++) {
    const visible =
      (byte >= 33 && byte < 127) || (byte >= 161 && byte < 173) || (byte >= 174 && byte < 256);
    letters.push(String.fromCharCode(visible ? byte : stand_in++));
  }
  return letters;
}

const LETTERS = byte_letters(); // by byte
const BYTES = new Map(LETTERS.map((letter, byte) => [letter, byte]));

/** Pieces of words, down to single bytes, so that no text is unknown (§5.1). */
export class BPETokenizer {
  /**
   * @param {object} values A tokenizer's JSON: "merges", the learned pairs in order ("Ġ t");
   *   "lowercase"; "normalizer", which earlier files call "treatment" and the earliest lack;
   *   "pre_tokenizer", which earlier files lack.
   * @param {string} file Its name, for errors.
   * @throws {ModelFileError} A value is missing, or no tokenizer's.
   */
  constructor(values, file = "the tokenizer") {
    if (typeof values.kind !== "string") throw tokenizer_error(file, 'no "kind"');
    if (values.kind !== "bpe") {
      const problem = `is of the kind "${values.kind}", and this page reads byte-pair encoding only`;
      throw new ModelFileError(file, problem);
    }
    if (typeof values.lowercase !== "boolean") throw tokenizer_error(file, 'no "lowercase"');
    if (!Array.isArray(values.merges)) throw tokenizer_error(file, 'no "merges"');
    this._normalize = find_normalizer(values.normalizer ?? values.treatment ?? "plain", file);
    this._cuts = find_pre_tokenizer(values.pre_tokenizer ?? "gpt2", file);
    this.lowercase = values.lowercase;
    this._ranks = new Map(values.merges.map((pair, rank) => [pair, rank]));
    this._vocabulary = new Map(BYTES); // byte b has the id 4 + b; then one type per merge
    for (const pair of values.merges) this._add_merge(pair, file);
    this._pieces = [...this._vocabulary.keys()]; // by id, from the first that stands for text
  }

  /** Add the piece that two known ones, "Ġ t", are merged to. */
  _add_merge(pair, file) {
    const blank = typeof pair === "string" ? pair.indexOf(" ") : -1;
    const is_known = (piece) => this._vocabulary.has(piece);
    if (blank < 0 || !is_known(pair.slice(0, blank)) || !is_known(pair.slice(blank + 1))) {
      throw tokenizer_error(file, `${JSON.stringify(pair)} is no merge of two known pieces`);
    }
    const piece = pair.replace(" ", "");
    if (!this._vocabulary.has(piece)) this._vocabulary.set(piece, this._vocabulary.size);
  }

  /** Number of ids, the four special ones included. */
  get vocab_size() {
    return NUM_SPECIAL_TOKENS + this._pieces.length;
  }

  /** Return the ids of a sentence. */
  encode(text) {
    const normalized = this._normalize(text);
    const prepared = " " + (this.lowercase ? normalized.toLowerCase() : normalized);
    const ids = [];
    for (const [part] of prepared.matchAll(this._cuts)) {
      const letters = Array.from(new TextEncoder().encode(part), (byte) => LETTERS[byte]);
      for (const piece of this._merge(letters)) ids.push(NUM_SPECIAL_TOKENS + this._vocabulary.get(piece));
    }
    return ids;
  }

  /** Return pieces with neighbours joined, the pair learned first before all others, until none is known. */
  _merge(pieces) {
    for (;;) {
      const pairs = pieces.map((left, i) => `${left} ${pieces[i + 1] ?? ""}`);
      const ranks = pairs.map((pair) => this._ranks.get(pair) ?? Infinity);
      const best = ranks.reduce((least, rank) => Math.min(least, rank), Infinity);
      if (best === Infinity) return pieces;
      const joined = [];
      for (let i = 0; i < pieces.length; i++) {
        joined.push(ranks[i] === best ? pieces[i] + pieces[++i] : pieces[i]);
      }
      pieces = joined;
    }
  }

  /** Return the text of ids; special ids are skipped, broken UTF-8 becomes U+FFFD. */
  decode(ids) {
    const bytes = ids.filter((id) => id >= NUM_SPECIAL_TOKENS).flatMap((id) => [...this._bytes_of(id)]);
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
    return text.startsWith(" ") ? text.slice(1) : text;
  }

  /** Return one piece per id, for a reader: a blank as "▁", part of a letter as "<0xC3>". */
  ids_to_pieces(ids) {
    return ids.map((id) => (id < NUM_SPECIAL_TOKENS ? SPECIAL_TOKENS[id] : show(this._bytes_of(id))));
  }

  /** Return the bytes of the piece that an id stands for. */
  _bytes_of(id) {
    return Uint8Array.from(this._pieces[id - NUM_SPECIAL_TOKENS], (letter) => BYTES.get(letter));
  }
}

/** Return the pattern of the pieces that a tokenizer, read from `file`, cuts text into by name. */
function find_pre_tokenizer(name, file) {
  if (!Object.hasOwn(PRE_TOKENIZERS, name)) {
    const known = Object.keys(PRE_TOKENIZERS).join(", ");
    throw new ModelFileError(file, `names a pre-tokenizer ${JSON.stringify(name)} (there are ${known})`);
  }
  return PRE_TOKENIZERS[name];
}

/** Return the error for a file that is no tokenizer's. */
function tokenizer_error(file, detail) {
  return new ModelFileError(file, `is no tokenizer (${detail})`);
}

/** Return a piece's bytes as letters, those of no whole letter in hexadecimal. */
function show(bytes) {
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let shown = "";
  for (let at = 0; at < bytes.length; ) {
    let [letter, length] = [null, 0];
    while (letter === null && length < 4 && at + length < bytes.length) {
      length++;
      try {
        letter = strict.decode(bytes.subarray(at, at + length));
      } catch {
        letter = null; // not a whole letter, or not yet
      }
    }
    if (letter === null) {
      shown += `<0x${bytes[at].toString(16).toUpperCase().padStart(2, "0")}>`;
      at += 1;
    } else {
      shown += letter === " " ? "▁" : letter;
      at += length;
    }
  }
  return shown;
}

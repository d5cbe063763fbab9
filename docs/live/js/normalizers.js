// The one way in which a text is written, in training and by whoever types. Compare
// transformer/data/normalizers.py, which has the reasons.

import { ModelFileError } from "./errors.js";

// What Python's str.split() takes for a blank; JavaScript's \s has a slightly different list.
const BLANKS = /[\t-\r\x1c-\x1f \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u;

/** Return a line with plain, single blanks (for tab, no-break, thin), none at the edges. */
export function normalize_whitespace(line) {
  return line
    .split(BLANKS)
    .filter((word) => word !== "")
    .join(" ");
}

/** Return a text with composed letters (NFC), and one kind of blank and of apostrophe. */
function normalize_german(text) {
  return normalize_whitespace(text.normalize("NFC")).replace(/[\u2019\u02bc\u2032\u00b4]/g, "'");
}

/** Return what `normalize_german` does, with straight quotes. */
function normalize_english(text) {
  return normalize_german(text).replace(/[\u201c\u201d\u201e]/g, '"');
}

/** Return what `normalize_english` does, with a blank before each ! ? : ; (but not in 8:40). */
function normalize_french(text) {
  return normalize_english(text).replace(/(?<=[^ !?:;])([!?;]|:(?!\p{Nd}))/gu, " $1");
}

const NORMALIZERS = {
  plain: normalize_whitespace,
  german: normalize_german,
  english: normalize_english,
  french: normalize_french,
};

/** Return the normalizer that a tokenizer, read from `file`, names. */
export function find_normalizer(name, file = "the tokenizer") {
  if (!Object.hasOwn(NORMALIZERS, name)) {
    const known = Object.keys(NORMALIZERS).join(", ");
    throw new ModelFileError(file, `names a normalizer ${JSON.stringify(name)} (there are ${known})`);
  }
  return NORMALIZERS[name];
}

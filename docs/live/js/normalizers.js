// The one way in which a text is written, in training and by whoever types. Compare
// transformer/data/normalizers.py, which has the reasons.

import { ModelFileError } from "./errors.js";

// What Python's str.split() takes for a blank; JavaScript's \s has a slightly different list.
const BLANKS = /[\t-\r\x1c-\x1f \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u;

// The soft hyphen; blanks, joins and operators without width; marks of the direction of writing.
const INVISIBLE =
  /[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]/gu;
// A joiner or non-joiner after none of the scripts that need it, and after no emoji.
const IDLE_JOINER = new RegExp(
  "(?<![\\u0600-\\u0dff\\u0f00-\\u109f\\u1780-\\u18af\\u1900-\\u1cff\\ua800-\\uabff\\ufb50-\\ufdff" +
    "\\ufe70-\\ufefc\\u{10a00}-\\u{11fff}\\u{1e900}-\\u{1e95f}\\u2600-\\u27bf\\u2b00-\\u2bff\\ufe0f" +
    "\\u{1f000}-\\u{1faff}])[\\u200c\\u200d]",
  "gu",
);

/** Return a text without the characters that nobody sees, and with a plain hyphen for U+2011. */
function drop_invisible(text) {
  return text.replace(INVISIBLE, "").replace(IDLE_JOINER, "").replaceAll("\u2011", "-");
}

/** Return a line with plain, single blanks (for tab, no-break, thin), none at the edges. */
export function normalize_whitespace(line) {
  return line
    .split(BLANKS)
    .filter((word) => word !== "")
    .join(" ");
}

/** Return a text without what nobody sees, and with one kind of blank. */
export function normalize_plain(text) {
  return normalize_whitespace(drop_invisible(text));
}

/** Return what `normalize_plain` does, with composed letters (NFC). */
function normalize_composed(text) {
  return normalize_whitespace(drop_invisible(text).normalize("NFC"));
}

/** Return what `normalize_composed` does, with one kind of apostrophe. */
function normalize_german(text) {
  return normalize_composed(text).replace(/[\u2019\u02bc\u2032\u00b4]/g, "'");
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
  plain: normalize_plain,
  composed: normalize_composed,
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

// One way to write a text, in training and for whoever types. Compare
// transformer/data/parallel.py, which has the reasons.

import { UserError } from "./errors.js";

// What Python's str.split() takes for a blank; JavaScript's \s has a slightly different list.
const BLANKS = /[\t-\r\x1c-\x1f \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u;

/** Make every blank a plain, single one (tab, no-break, thin), none at the edges. */
export function tidy(line) {
  return line
    .split(BLANKS)
    .filter((word) => word !== "")
    .join(" ");
}

/** Compose letters and their accents (NFC), and write blanks and apostrophes in one way. */
function german(text) {
  return tidy(text.normalize("NFC")).replace(/[\u2019\u02bc\u2032\u00b4]/g, "'");
}

/** Do what `german` does, and write straight quotes. */
function english(text) {
  return german(text).replace(/[\u201c\u201d\u201e]/g, '"');
}

/** Do what `english` does, and set the blank before ! ? : ; where it lacks (not in 8:40). */
function french(text) {
  return english(text).replace(/(?<=[^ !?:;])([!?;]|:(?!\p{Nd}))/gu, " $1");
}

const TREATMENTS = { plain: tidy, german, english, french };

/** Give the treatment that a tokenizer names. */
export function find_treatment(name) {
  if (!(name in TREATMENTS)) {
    throw new UserError(`no treatment "${name}": there are ${Object.keys(TREATMENTS).join(", ")}`);
  }
  return TREATMENTS[name];
}

// Checks that a model's files are what was shipped: one flipped bit could change translations unseen.

import { ModelFileError, UserError } from "./errors.js";
import { parse_json_object } from "./formats.js";
import { FILES, MANIFEST } from "./model_files.js";
import { sha256 } from "./sha256.js";

/**
 * Raise unless a model's files have the check sums of its manifest.
 * @param {ArrayBuffer} manifest Its manifest.json: the SHA-256 of each file.
 * @param {ArrayBuffer[]} files In the order of `FILES`.
 */
export async function check_files(manifest, files) {
  const sums = sums_of(manifest);
  const found = await Promise.all(files.map((file) => sha256(new Uint8Array(file))));
  for (const [i, file] of FILES.entries()) {
    if (found[i] !== sums[file]) {
      throw new ModelFileError(file, `is damaged (its check sum is not the one in ${MANIFEST})`);
    }
  }
}

/** Return the check sums of a manifest, by file. */
function sums_of(manifest) {
  const { sha256: sums } = parse_json_object(MANIFEST, manifest);
  const has_sum = (file) => /^[0-9a-f]{64}$/.test(sums?.[file]);
  if (!FILES.every(has_sum)) throw new ModelFileError(MANIFEST, "is damaged");
  return sums;
}

/**
 * Raise unless a model translates in the direction that the page's list says.
 * @param {string} name The model's.
 * @param {string} direction Of the list: "en-fr".
 * @param {object} recipe The model's.
 */
export function check_direction(name, direction, recipe) {
  const { src_lang, tgt_lang } = recipe.data ?? {};
  if (`${src_lang}-${tgt_lang}` !== direction) {
    throw new UserError(
      `models/${name} holds a model from ${src_lang} to ${tgt_lang}, not ${direction}: ` +
        "copy the right folder there",
    );
  }
}

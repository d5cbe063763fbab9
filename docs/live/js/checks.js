// Whether a model's files are what was shipped: a flipped bit translates, wrongly, without a word.

import { UserError } from "./errors.js";
import { CODES, MODELS } from "./models.js";
import { FILES } from "./translator.js";

/**
 * Hold a model's files to their sums. Where the browser has no sums (a page that is neither at
 * https nor on this computer) nothing is checked.
 * @param {string} name Of the model.
 * @param {ArrayBuffer} manifest Its manifest.json: the SHA-256 of each file.
 * @param {ArrayBuffer[]} files In the order of `FILES`.
 */
export async function check_files(name, manifest, files) {
  if (!globalThis.crypto?.subtle) return;
  const damaged = (file) =>
    new UserError(`models/${name}/${file} is damaged: copy the folder data/models/${name} there again`);
  let sums;
  try {
    sums = JSON.parse(new TextDecoder().decode(manifest)).sha256;
  } catch {
    throw damaged("manifest.json");
  }
  for (const [i, file] of FILES.entries()) {
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", files[i]));
    const found = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
    if (found !== sums?.[file]) throw damaged(file);
  }
}

/** Refuse a model of other languages than those of its name. */
export function check_direction(name, { src_lang, tgt_lang }) {
  const wanted = MODELS[name].languages.map((language) => CODES[language]).join("-");
  if (`${src_lang}-${tgt_lang}` !== wanted) {
    throw new UserError(
      `models/${name} holds a model from ${src_lang} to ${tgt_lang}: copy data/models/${name} there`,
    );
  }
}

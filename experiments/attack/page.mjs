// Loads the model in a folder as the live page does, and says a translation, or in a line what is wrong:
// node page.mjs FOLDER

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { check_direction, check_files } from "../../docs/live/js/checks.js";
import { UserError } from "../../docs/live/js/errors.js";
import { FILES, Translator } from "../../docs/live/js/translator.js";

const [folder] = process.argv.slice(2);
const read = (name) => Uint8Array.from(readFileSync(join(folder, name))).buffer;
try {
  const files = FILES.map(read);
  await check_files("demo-en-fr", read("manifest.json"), files);
  const translator = new Translator(files);
  check_direction("demo-en-fr", translator.recipe.data);
  console.log(translator.translate("The dog sleeps.", { beam_size: 1 }));
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  console.error(`error: ${error.message}`);
  process.exit(2);
}

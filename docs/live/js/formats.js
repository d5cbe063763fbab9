// The JSON files of a model, and their format version. Compare transformer/support/formats.py.

import { ModelFileError } from "./errors.js";

const FORMAT_VERSION = 1; // the latest that this page reads; earlier files name none

/**
 * Return the object that a JSON file of a model holds.
 * @param {string} file Its name, for errors.
 * @param {ArrayBuffer} bytes
 * @throws {ModelFileError} It holds no object, or one of a later format.
 */
export function parse_json_object(file, bytes) {
  let values = null;
  try {
    values = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    // It is refused below.
  }
  if (values === null || typeof values !== "object" || Array.isArray(values)) {
    throw new ModelFileError(file, "is damaged or cut short");
  }
  const { format = 0 } = values;
  if (!Number.isInteger(format) || format < 0) {
    throw new ModelFileError(file, `is damaged (its format is ${JSON.stringify(format)})`);
  }
  if (format > FORMAT_VERSION) {
    const limit = `this page reads formats up to ${FORMAT_VERSION}`;
    throw new ModelFileError(file, `is of format ${format}, of a later version, and ${limit}`);
  }
  return values;
}

// What transformer/support/errors.py is to the Python.

/** A mistake of the user's, or something that is not there: one line, with the remedy. */
export class UserError extends Error {}

/** A file of a model that is damaged or does not fit the others; the remedy is another copy. */
export class ModelFileError extends UserError {
  /**
   * @param {string} file Its name in the model's folder.
   * @param {string} problem What is wrong with it: "is damaged".
   */
  constructor(file, problem) {
    super(`${file} ${problem}: copy the model's folder again, whole`);
    this.file = file;
    this.problem = problem;
  }
}

/** Throw a UserError with this message unless the condition holds. */
export function require(condition, message) {
  if (!condition) throw new UserError(message);
}

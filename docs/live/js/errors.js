// What transformer/support/errors.py is to the Python.

/** A mistake of the user's, or something that is not there: one line, with the remedy. */
export class UserError extends Error {}

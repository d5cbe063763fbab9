"""What a user of the laws can get wrong, said in one line with the remedy."""


class UserError(ValueError):
    """A mistake in what the user gave; the message names the value, the limit and the remedy."""

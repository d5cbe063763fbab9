"""What a user of the laws can get wrong, and what somebody's code raises, told in one line."""


class UserError(ValueError):
    """A mistake in what the user gave; the message names the value, the limit and the remedy."""


class NothingSeenError(RuntimeError):
    """What a law looks at was not to be seen; the message says what."""


def told(error: BaseException) -> str:
    """Give an error in one line: kind, message, and the last place in the code.

    What we say ourselves has its remedy in it, and no place.
    """
    if isinstance(error, UserError | NothingSeenError):
        return str(error)
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = "" if place is None else f" ({place.tb_frame.f_code.co_filename}:{place.tb_lineno})"
    return f"{type(error).__name__}: {said(error)}{where}"


def said(error: BaseException) -> str:
    """Give the message of an error, whose class may be somebody's own, in one line."""
    try:
        return " ".join(str(error).split())[:200]
    except BaseException:  # an error whose own message raises
        return "without a message that can be read"

"""A user's mistakes, and errors of somebody's code described in one line (not in the paper)."""


class UserError(ValueError):
    """A mistake in what the user passed; the message names the value, the limit and the remedy."""


class NotObservedError(RuntimeError):
    """What a law inspects could not be observed in this model; the message says what."""


def describe_error(error: BaseException) -> str:
    """Return an error as one line: its type, its message and the last place in the code.

    Our own errors contain their remedy, and need no place.
    """
    if isinstance(error, UserError | NotObservedError):
        return str(error)
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = "" if frame is None else f" ({frame.tb_frame.f_code.co_filename}:{frame.tb_lineno})"
    return f"{type(error).__name__}: {one_line_error_message(error)}{where}"


def one_line_error_message(error: BaseException) -> str:
    """Return the message of an error on one line, even if its class is somebody's own."""
    try:
        return " ".join(str(error).split())[:200]
    except BaseException:  # The conversion of somebody's own error to text may raise as well.
        return "without a message that can be read"

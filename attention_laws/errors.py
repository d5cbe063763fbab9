"""A user's mistakes, and errors of somebody's code described in one line (not in the paper)."""

import sys
import sysconfig
from functools import cache
from pathlib import Path
from types import FrameType

PACKAGE_FOLDER = Path(__file__).parent
# Where the standard library and this package are.
LIBRARY_FOLDERS = (Path(sysconfig.get_path("stdlib")), PACKAGE_FOLDER)
# Names of folders of installed packages; the second is that of Debian, and of Colab.
PACKAGES_FOLDER_NAMES = {"site-packages", "dist-packages"}


class UserError(ValueError):
    """A mistake in what the user passed; the message names the value, the limit and the remedy."""


class NotObservedError(RuntimeError):
    """What a law inspects could not be observed in this model; the message says what."""


class WrongLogitsShapeError(ValueError):
    """A step of decoding returned logits of other rows or positions than it was to."""


def describe_error(error: BaseException) -> str:
    """Return an error as one line: its type, its message and the last place in the code.

    Our own errors contain their remedy, and need no place.
    """
    if isinstance(error, UserError | NotObservedError):
        return str(error)
    place = user_code_place(error)
    where = f" ({place})" if place else ""
    return f"{type(error).__name__}: {one_line_error_message(error)}{where}"


def user_code_place(error: BaseException) -> str:
    """Return file and line of the last call in the user's code, or else of the last of all."""
    place, frame = "", error.__traceback__
    is_users = False
    while frame is not None:
        file = frame.tb_frame.f_code.co_filename
        if is_user_file(file) or not is_users:
            place, is_users = f"{file}:{frame.tb_lineno}", is_user_file(file)
        frame = frame.tb_next
    return place


def innermost_user_line() -> str:
    """Return file and line of the innermost call in the user's code that now runs; "" if none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if is_user_file(file):
            return f"{path_from_working_folder(file)}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def path_from_working_folder(file: str) -> Path:
    """Return a file's path, relative to the working folder if it is in there."""
    path, folder = Path(file).resolve(), Path.cwd()
    return path.relative_to(folder) if path.is_relative_to(folder) else path


@cache
def is_user_file(file: str) -> bool:
    """Return whether a file is neither this package's nor an installed library's."""
    path = Path(file)
    is_installed = any(path.is_relative_to(folder) for folder in LIBRARY_FOLDERS)
    is_installed |= not PACKAGES_FOLDER_NAMES.isdisjoint(path.parts)
    return not (file.startswith("<") or is_installed)


def one_line_error_message(error: BaseException) -> str:
    """Return the message of an error on one line, even if its class is somebody's own."""
    try:
        return " ".join(str(error).split())[:200]
    except BaseException:  # The conversion of somebody's own error to text may raise as well.
        return "without a message that can be read"

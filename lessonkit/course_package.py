"""The course's package `transformer`, where a learner has a file or folder of that name.

Not in the paper. Python looks in a notebook's own folder first, so a `transformer.py` there is what
the lessons would import. Nothing of the course is imported in here.
"""

import importlib.machinery
import sys
from pathlib import Path

COURSE_FOLDER = Path(__file__).resolve().parents[1]
PACKAGE_NAME = "transformer"


def put_course_first() -> None:
    """Let `import transformer` find the course's package; print a line if a file has its name.

    Raises:
        ImportError: such a file has been imported in its place.
    """
    imported = sys.modules.get(PACKAGE_NAME)
    spec = imported.__spec__ if imported else importlib.machinery.PathFinder.find_spec(PACKAGE_NAME)
    file = Path(spec.origin).resolve() if spec and spec.origin else None
    if file == COURSE_FOLDER / PACKAGE_NAME / "__init__.py":
        return
    if imported:
        raise ImportError(
            f"{file or PACKAGE_NAME} was imported in place of the course's package "
            f"{PACKAGE_NAME}, whose name it has: rename it, and restart the kernel"
        )
    sys.path.insert(0, str(COURSE_FOLDER))
    if file:
        print(
            f"{file} has the name of the course's package {PACKAGE_NAME}, which is imported "
            "in its place: rename yours if you want to import it"
        )

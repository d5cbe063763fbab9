"""The files that translators' programs write, of any number and one format, as one text.

Not in the paper. Another format is a reader in `READERS_BY_FORMAT`.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from transformer.data.grouping import Pair
from transformer.data.po_files import read_po_file
from transformer.data.source_text import PairsWithOrigin
from transformer.data.xml_formats import PairsAndLeftOut, read_tmx_file, read_xliff_file
from transformer.support.errors import UserError

READERS_BY_FORMAT: dict[str, Callable[[Path, tuple[str, str]], PairsAndLeftOut]] = {
    "tmx": read_tmx_file,
    "po": read_po_file,
    "xliff": read_xliff_file,
}


def read_translation_files(
    format: str, paths: Sequence[Path], languages: tuple[str, str]
) -> PairsWithOrigin:
    """Return the text of files of one of `READERS_BY_FORMAT`, in two of their languages.

    A UserError where translate-toolkit is not installed, or as a reader raises it.
    """
    try:
        import translate.storage  # noqa: F401
    except ImportError as error:
        raise UserError(
            f"--{format} needs translate-toolkit, which is not installed: python -m pip install "
            "translate-toolkit (or the course with its extra, attention-course[formats])"
        ) from error
    pairs: list[Pair] = []
    left_out: Counter[str] = Counter()
    for path in paths:
        read, counts = READERS_BY_FORMAT[format](path, languages)
        pairs += read
        left_out += counts
    return PairsWithOrigin(pairs=pairs, files=[str(path) for path in paths], left_out=left_out)

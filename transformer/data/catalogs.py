"""The gettext catalogs (*.mo) of this computer as parallel text: English to one other language.

Not in the paper. mo_files.py reads a file; here it is found, and its messages become pairs.
"""

import os
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

from transformer.data.grouping import Pair
from transformer.data.mo_files import CatalogMessage, read_mo_file
from transformer.data.placeholders import without_keyboard_mnemonic_marks
from transformer.data.source_text import MISSING_TRANSLATION_REASON, PairsWithOrigin
from transformer.support.errors import UserError, require

CATALOG_SOURCE_LANG = "en"  # of what programs are written in
MIN_WORDS = 3  # of an English message, between blanks
PATHS_PER_QUERY = 400  # in one question to dpkg
SUGGESTED_DEBIAN_PACKAGES = (
    "binutils-common, postgresql, inkscape, gimp-data and util-linux-locales"
)
CATALOGS_LICENCE = "those of the packages that its message catalogs come from"
MULTI_LINE_REASON = "of several lines"
FEW_WORDS_REASON = f"of fewer than {MIN_WORDS} words"


def usual_catalog_folders() -> list[Path]:
    """Return the folders on this computer in which programs look for their catalogs.

    The one that TEXTDOMAINDIR names, and those of Linux, Ubuntu's language packs, Homebrew,
    MacPorts, conda and the user's own programs.
    """
    data_folders = [
        *os.environ.get("XDG_DATA_DIRS", "").split(os.pathsep),
        *(f"{prefix}/share" for prefix in (sys.prefix, sys.base_prefix)),
        *("/usr/local/share", "/usr/share", "/opt/homebrew/share", "/opt/local/share"),
        os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share"),
    ]
    names = [
        os.environ.get("TEXTDOMAINDIR", ""),
        *(f"{folder}/locale" for folder in data_folders if folder),
        "/usr/share/locale-langpack",
    ]
    folders = [Path(name) for name in names if name]
    # The same folder may have several names.
    return list({path.resolve(): path for path in folders if path.is_dir()}.values())


def find_catalogs(lang: str, folders: Sequence[Path]) -> list[Path]:
    """Return the catalogs of a language, "uk" or "sr@latin", at any depth: uk/LC_MESSAGES/*.mo.

    A UserError where there is none names the nearest languages.
    """
    by_language: dict[str, list[Path]] = {}
    for folder in folders:
        for path in sorted(folder.rglob("LC_MESSAGES/*.mo")):
            by_language.setdefault(path.parent.parent.name, []).append(path)
    if lang not in by_language:
        names = ", ".join(map(str, folders)) or "the usual folders"
        nearest = get_close_matches(lang, sorted(by_language), n=4, cutoff=0.4)
        there = f"did you mean {' or '.join(nearest)}? " if nearest else ""
        raise UserError(f"no catalogs of {lang!r} in {names}: {there}{packages_hint(lang)}")
    return by_language[lang]


def packages_hint(lang: str) -> str:
    """Return which packages bring catalogs of a language."""
    return (
        f"packages bring more, on Ubuntu and Colab language-pack-{lang.partition('_')[0]}, on "
        f"Debian {SUGGESTED_DEBIAN_PACKAGES}; on macOS give the /usr/share/locale of a Linux "
        "computer as --catalog-folder"
    )


def read_catalogs(lang: str, folders: Sequence[Path]) -> PairsWithOrigin:
    """Return the messages of a language's catalogs that fit one line, and have `MIN_WORDS`.

    A catalog that is damaged is left out, with a warning; a UserError where all are.
    """
    pairs: list[Pair] = []
    left_out: Counter[str] = Counter()
    files = []
    errors = []
    for path in find_catalogs(lang, folders):
        try:
            messages = read_mo_file(path)
        except UserError as error:
            errors.append(str(error))
            continue
        files.append(path)
        for source, translation in matched_forms(messages):
            reason = _left_out_reason(source, translation)
            if reason:
                left_out[reason] += 1
            else:
                pairs.append(without_keyboard_mnemonic_marks(source, translation))
    if errors:
        message = (
            f"{len(errors)} of {len(errors) + len(files)} catalogs cannot be read: {errors[0]}"
        )
        require(bool(files), message)
        warnings.warn(f"{message}; left out", stacklevel=2)
    return PairsWithOrigin(
        pairs=pairs,
        files=[str(path) for path in files],
        packages=debian_packages_of_files(files),
        licence=CATALOGS_LICENCE,
        left_out=left_out,
    )


def matched_forms(messages: Iterable[CatalogMessage]) -> Iterator[Pair]:
    """Yield each message with its translation, or each form of a plural with the form it fits.

    The form for 1 translates the msgid, and each other form the msgid_plural; where a language has
    one form for all numbers, that translates the msgid_plural.
    """
    for message in messages:
        for index, translation in enumerate(message.translations):
            is_singular = index == message.singular_form and len(message.translations) > 1
            yield message.sources[0 if is_singular else -1].strip(), translation.strip()


def _left_out_reason(source: str, translation: str) -> str | None:
    """Return why a message makes no pair; None where it makes one."""
    if not translation:
        return MISSING_TRANSLATION_REASON
    if "\n" in source or "\n" in translation:
        return MULTI_LINE_REASON
    return FEW_WORDS_REASON if len(source.split()) < MIN_WORDS else None


def debian_packages_of_files(paths: Sequence[Path]) -> list[str]:
    """Return the names of the Debian packages that files come from; none where dpkg is not."""
    names: set[str] = set()
    for start in range(0, len(paths), PATHS_PER_QUERY):
        command = ["dpkg-query", "--search", *map(str, paths[start : start + PATHS_PER_QUERY])]
        try:
            found = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError:
            return []
        for line in found.stdout.splitlines():
            owners, _, path = line.rpartition(": ")
            if path.startswith("/") and not owners.startswith("diversion by"):
                names.update(owner.partition(":")[0] for owner in owners.split(", "))
    return sorted(names)

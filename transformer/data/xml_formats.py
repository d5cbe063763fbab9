"""Translation memories (TMX) and XLIFF files, versions 1 and 2, as pairs of two languages.

Not in the paper. translate-toolkit reads them, the extra [formats]; what of a segment is text and
what is code of its document, is decided here.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.parsers import expat

from transformer.data.grouping import Pair
from transformer.data.placeholders import find_placeholders
from transformer.data.source_text import UNTRANSLATED_REASON
from transformer.data.text_files import read_nonempty_bytes
from transformer.support.errors import UserError, require

UNFINISHED = "unfinished"
LEFT_OUT_AS_OTHER_LANGUAGES = "without the two languages"
# Elements inside a segment that stand for code of its document: of TMX 1.4, XLIFF 1.2 and 2.1. The
# first kind opens or closes formatting, so that no blank belongs there.
PAIRED_CODES = frozenset(("bpt", "ept", "bx", "ex", "sc", "ec"))
STANDALONE_CODES = frozenset(("ph", "x", "it", "ut", "cp", "sm", "em"))
# Attributes in which such an element may hold what a program fills in, as Angular's "{{name}}".
CODE_DISPLAY_ATTRIBUTES = ("equiv-text", "equiv", "disp")

PairsAndLeftOut = tuple[list[Pair], Counter[str]]  # what was left out, by reason


def read_tmx_file(path: Path, languages: tuple[str, str]) -> PairsAndLeftOut:
    """Return the pairs of a translation memory in two of its languages.

    Of several segments in one language, as "en-GB" and "en-US" for "en", the first counts. A
    UserError names the file and the line that cannot be read.
    """
    from translate.storage.tmx import tmxfile

    pairs: list[Pair] = []
    left_out: Counter[str] = Counter()
    seen: dict[str, None] = {}
    for unit in _parse(path, "TMX", lambda version: tmxfile).units:
        segments: dict[str, Any] = {}  # by language
        for node in unit.getlanguageNodes():
            lang = node.get("{http://www.w3.org/XML/1998/namespace}lang") or node.get("lang")
            segment = next((child for child in node if _local_name(child) == "seg"), None)
            if lang is None or segment is None:
                missing = "language (xml:lang)" if lang is None else "segment (seg)"
                raise UserError(f"line {node.sourceline} of {path}: a tuv has no {missing}: add it")
            segments.setdefault(lang, segment)
        seen.update(dict.fromkeys(segments))
        sides = [_segment_in(segments, lang) for lang in languages]
        if None in sides:
            left_out[LEFT_OUT_AS_OTHER_LANGUAGES] += 1
        else:
            _add_pair(pairs, left_out, *(segment_text_without_codes(side, path) for side in sides))
    _require_languages(path, pairs, left_out, languages, seen)
    return pairs, left_out


def read_xliff_file(path: Path, languages: tuple[str, str]) -> PairsAndLeftOut:
    """Return the pairs of an XLIFF file, version 1 or 2, in either direction of two languages.

    Units without a target are left out, and those whose state says that they wait for a translator:
    "new", "needs-...", of version 2 "initial". A UserError names the file and the line that cannot
    be read.
    """
    from translate.storage.xliff import Xliff1File
    from translate.storage.xliff2 import Xliff2File

    def store_of_version(version: str) -> Any:
        message = f"{path} is XLIFF {version}: only versions 1 and 2 are read"
        require(version[:2] in ("", "1.", "2."), message)
        return Xliff2File if version.startswith("2") else Xliff1File

    pairs: list[Pair] = []
    left_out: Counter[str] = Counter()
    seen: dict[str, None] = {}
    for unit in _parse(path, "XLIFF", store_of_version).units:
        langs = _unit_languages(unit.xmlelement)
        seen.update({lang: None for lang in langs if lang})
        nodes = {_local_name(node): node for node in unit.xmlelement}
        turned = _is_turned(langs, languages)
        if turned is None:
            left_out[LEFT_OUT_AS_OTHER_LANGUAGES] += 1
        elif "source" not in nodes or "target" not in nodes:
            left_out[UNTRANSLATED_REASON] += 1
        elif _waits_for_translator(unit.xmlelement, nodes["target"]):
            left_out[UNFINISHED] += 1
        else:
            sides = [segment_text_without_codes(nodes[name], path) for name in ("source", "target")]
            _add_pair(pairs, left_out, *(sides[::-1] if turned else sides))
    _require_languages(path, pairs, left_out, languages, seen)
    return pairs, left_out


def segment_text_without_codes(segment: Any, path: Path) -> str:
    """Return the text of a segment without the code that stands in it.

    Formatting (bold, a link) leaves its text. Code that a program fills in stays, where the file
    shows it: "%s", "{{name}}". A line break or an image between two words becomes a blank.
    """
    text = ""
    for kind, piece in _pieces(segment, path):
        joins_words = text[-1:].isalnum() and piece[:1].isalnum()
        text += f" {piece}" if kind == "after a code" and joins_words else piece
    return text


def _pieces(element: Any, path: Path) -> Iterator[tuple[str, str]]:
    """Yield the texts of an element in their order, each with what stands before it."""
    from lxml import etree

    yield "", element.text or ""
    before = ""
    for child in element:
        if child.tag is etree.Entity:
            remedy = "write the character itself"
            raise UserError(f"line {child.sourceline} of {path}: unknown entity: {remedy}")
        name = _local_name(child)
        if name in PAIRED_CODES | STANDALONE_CODES:
            code = "".join(child.itertext()).strip()
            shown = [
                code,
                *(child.get(attribute, "").strip() for attribute in CODE_DISPLAY_ATTRIBUTES),
            ]
            filled_in = [text for text in shown if text and find_placeholders(text) == [text]]
            yield "", filled_in[0] if filled_in else ""
            before = "after a code" if name in STANDALONE_CODES and not filled_in else ""
        elif name:  # of a comment there is none
            yield from _pieces(child, path)
        if child.tail:
            yield before, child.tail
            before = ""


def _local_name(element: Any) -> str:
    """Return an element's name without its namespace; nothing for a comment."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _add_pair(pairs: list[Pair], left_out: Counter[str], source: str, target: str) -> None:
    """Add a pair unless one side of it is missing."""
    if source.strip() and target.strip():
        pairs.append((source, target))
    else:
        left_out[UNTRANSLATED_REASON] += 1


def language_matches(lang: str, tag: str) -> bool:
    """Return whether text tagged "en-GB" is in the language "en" or "en_GB"."""
    lang, tag = (code.replace("_", "-").lower() for code in (lang, tag))
    return tag == lang or tag.startswith(f"{lang}-")


def _segment_in(segments: dict[str, Any], lang: str) -> Any:
    """Return the segment of a language, else of its first variant; None where there is none."""
    tags = [tag for tag in segments if language_matches(lang, tag)]
    exact = [tag for tag in tags if len(tag) == len(lang)]
    return segments[(exact or tags)[0]] if tags else None


def _unit_languages(element: Any) -> tuple[str | None, str | None]:
    """Return the languages that an XLIFF unit inherits from its file."""
    source = target = None
    for ancestor in element.iterancestors():
        source = source or ancestor.get("source-language") or ancestor.get("srcLang")
        target = target or ancestor.get("target-language") or ancestor.get("trgLang")
    return source, target


def _is_turned(langs: tuple[str | None, str | None], languages: tuple[str, str]) -> bool | None:
    """Return whether a unit's target is in the first language; None where it does not fit.

    A file may leave a language unsaid.
    """
    for turned in (False, True):
        wanted = languages[::-1] if turned else languages
        if all(
            tag is None or language_matches(lang, tag)
            for lang, tag in zip(wanted, langs, strict=True)
        ):
            return turned
    return None


def _waits_for_translator(unit: Any, target: Any) -> bool:
    """Return whether the state of an XLIFF unit says that its target is unfinished."""
    state = target.get("state") or unit.get("state") or ""
    return state in ("new", "initial") or state.startswith("needs-")


def _require_languages(
    path: Path,
    pairs: list[Pair],
    left_out: Counter[str],
    languages: tuple[str, str],
    seen: dict[str, None],
) -> None:
    """Raise if a file has units, and none of them in these languages."""
    message = f"{path} has nothing in {' and '.join(languages)}: give two of its languages"
    only_others = not pairs and left_out[LEFT_OUT_AS_OTHER_LANGUAGES] > 0
    require(not only_others, f"{message} ({', '.join(seen)}) as --languages")


def _parse(path: Path, kind: str, store_of_version: Callable[[str], Any]) -> Any:
    """Return a file as translate-toolkit has it; a UserError where it cannot be read."""
    store = store_of_version(_root_attributes(path).get("version", ""))
    try:
        return store.parsestring(path.read_bytes())
    except (SyntaxError, ValueError, LookupError, AssertionError, StopIteration) as error:
        line = getattr(error, "lineno", None)
        where = f"line {line} of {path}" if line else str(path)
        reason = " ".join(str(error).split()) or f"it is no {kind}"
        raise UserError(f"{where} cannot be read ({reason}): mend it, or export it anew") from error


def _root_attributes(path: Path) -> dict[str, str]:
    """Return the attributes of an XML file's root, before anything else of it is read.

    A UserError where the file declares entities: expanded, a few lines could fill the memory, or
    name a file of this computer.
    """
    found: list[dict[str, str]] = []

    def refuse_entities(*_: object) -> None:
        line = parser.CurrentLineNumber
        raise UserError(f"line {line} of {path} declares an entity: remove it")

    def keep_root(name: str, attributes: dict[str, str]) -> None:
        if not found:
            found.append(attributes)

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = refuse_entities
    parser.StartElementHandler = keep_root
    content = read_nonempty_bytes(path)
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        message = f"line {error.lineno} of {path} is no XML ({reason})"
        raise UserError(f"{message}: mend it, or export it anew") from error
    return found[0]

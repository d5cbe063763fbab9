"""Translation memories (TMX) and XLIFF files, versions 1 and 2, as pairs of two languages.

Not in the paper. lxml reads them, which comes with translate-toolkit (the extra [formats]), unit by
unit, so that a memory of any size takes no more than its text. What of a segment is text and what
is code of its document, is decided here.
"""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from transformer.data.grouping import Pair
from transformer.data.placeholders import find_placeholders
from transformer.data.source_text import MISSING_TRANSLATION_REASON
from transformer.data.text_files import require_nonempty_file
from transformer.support.errors import UserError, require
from transformer.support.progress import open_file_with_progress

UNFINISHED_REASON = "unfinished"
LEFT_OUT_AS_OTHER_LANGUAGES = "without the two languages"
NOT_FOR_TRANSLATION_REASON = "not to be translated"
# Elements inside a segment that stand for code of its document: of TMX 1.4, XLIFF 1.2 and 2.1. The
# first kind opens or closes formatting, so that no blank belongs there.
PAIRED_CODES = frozenset(("bpt", "ept", "bx", "ex", "sc", "ec"))
STANDALONE_CODES = frozenset(("ph", "x", "it", "ut", "cp", "sm", "em"))
# Attributes in which such an element may hold what a program fills in, as Angular's "{{name}}".
CODE_DISPLAY_ATTRIBUTES = ("equiv-text", "equiv", "disp")
# XLIFF's own attribute, and that of the Internationalization Tag Set (ITS).
TRANSLATE_ATTRIBUTES = ("translate", "{http://www.w3.org/2005/11/its}translate")

PairsAndLeftOut = tuple[list[Pair], Counter[str]]  # what was left out, by reason


def read_tmx_file(path: Path, languages: tuple[str, str]) -> PairsAndLeftOut:
    """Return the pairs of a translation memory in two of its languages.

    Of several segments in one language, as "en-GB" and "en-US" for "en", the first counts. A
    UserError names the file and the line that cannot be read.
    """
    _root_attributes(path, "TMX")
    pairs: list[Pair] = []
    left_out: Counter[str] = Counter()
    seen: dict[str, None] = {}
    for unit in _units(path, ("tu",)):
        segments: dict[str, Any] = {}  # by language
        for node in unit.iterchildren("{*}tuv"):
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

    Units without a target are left out, those that are not to be translated, and those whose state
    says that they wait for a translator: "new", "needs-...", of version 2 "initial". A UserError
    names the file and the line that cannot be read.
    """
    version = _root_attributes(path, "XLIFF").get("version", "")
    message = f"{path} is XLIFF {version}: only versions 1 and 2 are read"
    require(version[:2] in ("", "1.", "2."), message)
    pairs: list[Pair] = []
    left_out: Counter[str] = Counter()
    seen: dict[str, None] = {}
    for segment in _xliff_segments(path):
        langs = _segment_languages(segment)
        seen.update({lang: None for lang in langs if lang})
        nodes = {_local_name(node): node for node in segment}
        turned = _is_turned(langs, languages)
        if turned is None:
            left_out[LEFT_OUT_AS_OTHER_LANGUAGES] += 1
        elif "source" in nodes and _is_not_for_translation(nodes["source"]):
            left_out[NOT_FOR_TRANSLATION_REASON] += 1
        elif "source" not in nodes or "target" not in nodes:
            left_out[MISSING_TRANSLATION_REASON] += 1
        elif _waits_for_translator(segment, nodes["target"]):
            left_out[UNFINISHED_REASON] += 1
        else:
            sides = [segment_text_without_codes(nodes[name], path) for name in ("source", "target")]
            _add_pair(pairs, left_out, *(sides[::-1] if turned else sides))
    _require_languages(path, pairs, left_out, languages, seen)
    return pairs, left_out


def _xliff_segments(path: Path) -> Iterator[Any]:
    """Yield the elements of an XLIFF file that hold a source: of version 2 a unit may have many."""
    for unit in _units(path, ("trans-unit", "unit")):
        yield from list(unit.iter("{*}segment")) or [unit]


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
        left_out[MISSING_TRANSLATION_REASON] += 1


@cache
def language_matches(lang: str, tag: str) -> bool:
    """Return whether text tagged "en-GB" is in the language "en" or "en_GB"."""
    lang, tag = (code.replace("_", "-").lower() for code in (lang, tag))
    return tag == lang or tag.startswith(f"{lang}-")


def _segment_in(segments: dict[str, Any], lang: str) -> Any:
    """Return the segment of a language, else of its first variant; None where there is none."""
    tags = [tag for tag in segments if language_matches(lang, tag)]
    exact = [tag for tag in tags if len(tag) == len(lang)]
    return segments[(exact or tags)[0]] if tags else None


def _segment_languages(element: Any) -> tuple[str | None, str | None]:
    """Return the languages that an XLIFF segment inherits from its file."""
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


def _is_not_for_translation(source: Any) -> bool:
    """Return whether the nearest mark says so, on what an XLIFF source is in or all that is in it.

    A name within a sentence may be marked too: that is text like any other.
    """
    children = list(source)
    if len(children) == 1 and not _has_text_beside_child(source, children[0]):
        # Version 1.2 has a type of marker for this, and version 2 the same attribute.
        if children[0].get("mtype") == "protected":
            return True
        source = children[0]
    for element in (source, *source.iterancestors()):
        for attribute in TRANSLATE_ATTRIBUTES:
            if attribute in element.attrib:
                return bool(element.get(attribute) == "no")
    return False


def _has_text_beside_child(element: Any, child: Any) -> bool:
    """Return whether an element has text of its own before or after its one child."""
    return bool((element.text or "").strip() or (child.tail or "").strip())


def _waits_for_translator(segment: Any, target: Any) -> bool:
    """Return whether the state of an XLIFF segment says that its target is unfinished."""
    state = target.get("state") or segment.get("state") or ""
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


def _root_attributes(path: Path, kind: str) -> dict[str, str]:
    """Return the attributes of the root of an XML file of this kind, "TMX" or "XLIFF".

    A UserError where the root is another, or the file declares entities: expanded, a few lines
    could fill the memory, or name a file of this computer.
    """
    require_nonempty_file(path)
    with path.open("rb") as file:
        # The first event comes before anything inside the root is read.
        root = next(_parse(file, path, events=("start",)))
    dtd = root.getroottree().docinfo.internalDTD
    declared = [entity.name for entity in dtd.iterentities()] if dtd is not None else []
    if declared:
        raise UserError(f"{path} declares an entity, {declared[0]}: remove it")
    message = f"{path} cannot be read (it is no {kind}): mend it, or export it anew"
    require(_local_name(root) == kind.lower(), message)
    return dict(root.attrib)


def _units(path: Path, names: tuple[str, ...]) -> Iterator[Any]:
    """Yield the elements of these names, each with its ancestors; one is gone when the next comes.

    `_root_attributes` has found nothing against reading on.
    """
    with open_file_with_progress(path, f"reading {path.name}") as file:
        for unit in _parse(file, path, events=("end",), tag=[f"{{*}}{name}" for name in names]):
            yield unit
            parent = unit.getparent()
            unit.clear(keep_tail=False)
            while parent is not None and parent[0] is not unit:
                del parent[0]


def _parse(file: Any, path: Path, **what: Any) -> Iterator[Any]:
    """Yield elements of an XML file while it is read; a UserError names the line where it is none.

    Entities are not expanded, no other file is read, and lxml's limits on sizes hold.
    """
    from lxml import etree

    try:
        parsed = etree.iterparse(file, resolve_entities=False, collect_ids=False, **what)
        yield from (element for _, element in parsed)
    except (etree.XMLSyntaxError, LookupError) as error:
        line = getattr(error, "lineno", None) or 1
        # The message ends with the line, and may go on with where that is in it.
        reason = " ".join(str(error).split()).partition(", line ")[0]
        message = f"line {line} of {path} is no XML ({reason})"
        raise UserError(f"{message}: mend it, or export it anew") from error

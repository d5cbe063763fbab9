"""What the tests share: where the real corpora are, two models, which tests are left out."""

import os
import signal
import uuid
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers import ROOT, TINY

if TYPE_CHECKING:  # loaded by the fixtures: not every test needs torch
    from transformer.data.parallel import ParallelText
    from transformer.models.translator import Translator


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The publishers' own files; skips where there are none (a stranger's clone)."""
    for folder in (os.environ.get("TRANSFORMER_DATA"), ROOT.parent / "shared" / "data"):
        if folder and (Path(folder) / "multi30k" / "train.de.gz").is_file():
            return Path(folder)
    pytest.skip(
        "needs the real corpora: set TRANSFORMER_DATA to a folder with multi30k/ and tatoeba/"
    )


@pytest.fixture(scope="session", autouse=True)
def text_cache_of_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep encoded text out of the checkout's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRANSFORMER_TEXT_CACHE", str(tmp_path_factory.mktemp("encoded")))
        yield


@pytest.fixture(autouse=True)
def text_cache_of_test(
    text_cache_of_session: None,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Keep it apart for each test too: a test may load another text under a corpus's name."""
    folder = tmp_path_factory.getbasetemp() / f"encoded-{uuid.uuid4().hex}"
    monkeypatch.setenv("TRANSFORMER_TEXT_CACHE", str(folder))


@pytest.fixture
def default_handler() -> Iterator[None]:
    """Whatever the test runner does with Ctrl-C, begin with Python's own handler."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def few_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """Corpora of 1,000 training pairs and 50 others, which are ready in a second."""
    from transformer.data import corpora

    load = corpora.load

    def load_few(corpus: str, split: str, *languages: str) -> "ParallelText":
        text, count = load(corpus, split, *languages), 1000 if split == "train" else 50
        return replace(text, src=text.src[:count], tgt=text.tgt[:count], alignments=None)

    for name in ("load", "load_without_download"):
        monkeypatch.setattr(corpora, name, load_few)


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny demo after two steps on a few sentences; copy it before changing it."""
    from transformer.data import corpora
    from transformer.recipes import find_recipe
    from transformer.training.recipe import train_recipe

    whole = corpora.load

    def few(*which: str) -> "ParallelText":
        text = whole(*which)
        return replace(text, src=text.src[:1000], tgt=text.tgt[:1000], alignments=None)

    folder = tmp_path_factory.mktemp("tiny") / "model"
    recipe = find_recipe("demo").override(TINY | {"steps": "2"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpora, "load", few)
        train_recipe(recipe, folder, on_report=lambda report: None)
    return folder


@pytest.fixture(scope="session")
def tiny(tiny_folder: Path) -> "Translator":
    """The tiny demo."""
    from transformer.models.translator import Translator

    return Translator.load(tiny_folder)


@pytest.fixture(scope="session")
def shipped() -> "Translator":
    """The demo that the lessons look into."""
    from transformer.models.translator import Translator

    return Translator.load("demo-en-fr")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the weekly tests unless asked for; those that read real corpora are slow."""
    if "weekly" not in config.option.markexpr:
        weekly = [item for item in items if "weekly" in item.keywords]
        config.hook.pytest_deselected(items=weekly)
        items[:] = [item for item in items if item not in weekly]
    for item in items:
        if "shared_data" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    """Skip a test that needs a fault of the museum whose edit no longer fits the source.

    One test alone is red then, which names every such edit: `test_every_edit_fits_the_source`.
    """
    try:
        return (yield)
    except ValueError as error:
        from lessonkit.museum.edited_source import QuoteMisfitError

        if isinstance(error, QuoteMisfitError) and "faults.toml:" in str(error):
            pytest.skip(str(error))
        raise

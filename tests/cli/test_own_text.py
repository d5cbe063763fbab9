"""A user's own text on the command line: added, trained on, measured, exported, removed."""

import hashlib
import importlib.util
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.conftest import Run, refused
from tests.helpers import TINY
from tests.helpers.catalogs import write_catalog
from transformer.config import ModelConfig
from transformer.data import corpora
from transformer.data.tokenizers import BPETokenizer
from transformer.models.folder import read_description, read_recipe
from transformer.recipes import find_recipe, own_text
from transformer.recipes.own_text import find_recipe_or_corpus, read_recipe_file
from transformer.support.errors import UserError
from transformer.support.folders import find_model_folder

Patch = pytest.MonkeyPatch
PAIRS = [(f"ein Wort, das {i} heißt", f"un mot nommé {i}") for i in range(300)]


@pytest.fixture
def data(here: Path, monkeypatch: Patch) -> Path:
    """The user's folder of corpora, empty."""
    folder = here / "data"
    folder.mkdir()
    monkeypatch.setenv("TRANSFORMER_DATA", str(folder))
    return folder


def write_pairs(folder: Path, pairs: list[tuple[str, str]] = PAIRS) -> None:
    for number, lang in enumerate(("de", "fr")):
        text = "".join(f"{pair[number]}\n" for pair in pairs)
        (folder / f"my.{lang}").write_text(text, encoding="utf-8")
    tsv = "".join(f"{src}\t{tgt}\n" for src, tgt in pairs)
    (folder / "my.tsv").write_text(tsv, encoding="utf-8")


def test_what_is_added_is_shown_listed_and_removed(
    run: Run, here: Path, data: Path, monkeypatch: Patch
) -> None:
    write_pairs(here, [*PAIRS, ("", "vide"), PAIRS[0]])
    two_files = ("--src", "my.de", "--tgt", "my.fr", "--languages", "de-fr")
    status, out, err = run("corpora", "add", "mine", *two_files)
    assert (status, err) == (0, "")
    for word in ("302 pairs", "2 pairs (1 an empty side, 1 there already)", str(data / "mine")):
        assert word in out
    shown = {line.split(maxsplit=1)[1] for line in out.splitlines() if line.startswith("  de ")}
    assert len(shown & {src for src, _ in PAIRS}) == 10
    assert (data / "mine" / "lengths.png").read_bytes().startswith(b"\x89PNG")
    with monkeypatch.context() as patch:
        patch.setattr(importlib.util, "find_spec", lambda name: None)
        assert "picture" not in run("corpora", "add", "plain", *two_files)[1]
    assert not (data / "plain" / "lengths.png").exists()
    assert run("corpora", "remove", "plain")[0] == 0
    assert run("corpora", "add", "same", "--tsv", "my.tsv", "--languages", "de-fr")[0] == 0
    for split in ("train", "validation", "test"):
        texts = [corpora.load(name, split, "fr", "de") for name in ("mine", "same")]
        assert texts[0] == texts[1]
    assert "mine: your own text in de and fr" in run("corpora", "list")[1]
    assert run("corpora", "remove", "mine")[0] == 0
    assert "mine: your own" not in run("corpora", "list")[1]
    assert [path.name for path in data.iterdir()] == ["same"]


def test_catalogs_are_added_in_either_direction(run: Run, here: Path, data: Path) -> None:
    words = [f"the number {i}" for i in range(300)]
    translations = {word: word.replace("the number", "broj je") for word in words}
    files = [write_catalog(here, "sr@latin", "a", translations)]
    files += [write_catalog(here, "sr@latin", name, {}) for name in "bc"]
    folder = ("--catalogs", "sr@latin", "--catalog-folder", ".")
    status, out, err = run("corpora", "add", "mine", *folder)
    assert (status, err) == (0, "")
    for said in ("mine: en-sr_latin", "300 pairs in 3 files", "These are few", "language-pack-sr"):
        assert said in out
    values = json.loads((data / "mine" / "corpus.json").read_text())
    assert values["text_files"] == [str(path.relative_to(here)) for path in files]
    assert f"licence:    {values['licence']}" in run("corpora", "list")[1]
    assert run("corpora", "add", "back", *folder, "--languages", "sr_latin-en")[0] == 0
    for split in ("train", "validation", "test"):
        there, back = (
            corpora.load(name, split, *langs)
            for name, langs in (("mine", ("en", "sr_latin")), ("back", ("sr_latin", "en")))
        )
        assert set(zip(there.src, there.tgt, strict=True)) == set(
            zip(back.tgt, back.src, strict=True)
        )


def test_translators_files_are_added(run: Run, here: Path, data: Path) -> None:
    entries = [f'msgid "{src}"\nmsgstr "{tgt}"\n' for src, tgt in PAIRS]
    for number, part in enumerate((entries[:100], entries[100:])):
        (here / f"{number}.po").write_text("\n".join(part), encoding="utf-8")
    po = ("--po", "0.po", "1.po", "--languages", "de-fr")
    assert run("corpora", "add", "mine", *po)[0] == 0
    texts = [corpora.load("mine", split, "de", "fr") for split in ("train", "validation", "test")]
    read = [pair for text in texts for pair in zip(text.src, text.tgt, strict=True)]
    assert sorted(read) == sorted(PAIRS)
    (here / "1.po").write_text('msgid "cut off', encoding="utf-8")
    refused(run("corpora", "add", "two", *po), "line 1 of 1.po is no PO")
    assert [path.name for path in data.iterdir()] == ["mine"]


def test_an_own_corpus_starts_from_a_shipped_model_and_takes_its_size(
    run: Run, here: Path, data: Path
) -> None:
    write_pairs(here)
    run("corpora", "add", "mine", "--tsv", "my.tsv", "--languages", "de-fr")
    train = "train", "mine", "--steps", "1", "--start-from", "demo-en-fr"
    status, out, err = run(*train)
    assert (status, err) == (0, "")
    assert "demo-en-fr (for en-fr, not de-fr)" in out
    ours, theirs = read_recipe(Path("runs/mine")), read_recipe(find_model_folder("demo-en-fr"))
    assert isinstance(ours.model, ModelConfig)
    assert isinstance(theirs.model, ModelConfig)
    assert ours.model == replace(theirs.model, dropout=ours.model.dropout)
    assert ours.model.dropout == find_recipe_or_corpus("mine").model.dropout
    # Its merges were learned from text that was cut in an earlier way.
    for tokenizer in read_description(Path("runs/mine"))[1:]:
        assert isinstance(tokenizer, BPETokenizer)
        assert tokenizer.pre_tokenizer == "gpt2"
    for typed, *said in (
        ("--set d_model=24 --out runs/b", "d_model 128 and not 24"),
        ("--set vocab_size=300 --out runs/b", "--set vocab_size is of the vocabularies"),
        ("--start-from no-model --out runs/b", "no model folder 'no-model'"),
    ):
        refused(run(*train, *typed.split()), *said)
    assert not Path("runs/b").exists()


def test_add_refuses(run: Run, here: Path, data: Path) -> None:
    write_pairs(here)
    (here / "short.fr").write_text("un mot\n")
    (here / "latin.fr").write_bytes(b"un mot nomm\xe9\n" * 300)
    for typed, *said in (
        ("add mine --languages de-fr", "no text: give one of --src"),
        ("add mine --src my.de --languages de-fr", "--src needs the other side"),
        ("add mine --tsv my.tsv --src my.de --languages de-fr", "give one form of text"),
        ("add mine --tsv my.de --languages de-fr", "line 1 of my.de has 1 column"),
        ("add mine --tsv my.tsv", "--languages"),
        ("add mine --tsv my.tsv --catalog-folder . --languages de-fr", "give --catalogs"),
        ("add mine --catalogs zz --catalog-folder .", "no catalogs of 'zz' in ."),
        ("add mine --catalogs uk --languages en-de", "--languages en-de: the catalogs are in en"),
        ("add mine --catalogs tree", "languages 'en-tree'"),
        ("add mine --tsv my.tsv --languages de", "languages 'de'"),
        (
            "add mine --tsv my.tsv --test-src my.de --languages de-fr",
            "--test-src needs",
            "--test-t",
        ),
        ("add mine --src my.de --tgt short.fr --languages de-fr", "short.fr ends at line 1", "300"),
        ("add mine --src my.de --tgt latin.fr --languages de-fr", "line 1 of latin.fr is not UTF"),
        ("add demo --tsv my.tsv --languages de-fr", "demo is the name of a corpus or recipe"),
        ("add ../mine --tsv my.tsv --languages de-fr", "'../mine' is no name for a corpus"),
        ("remove multi30k", "'multi30k' is no corpus of your own"),
    ):
        refused(run("corpora", *typed.split()), *said)
    assert list(data.iterdir()) == []


def test_a_corpus_is_trained_by_its_size(
    run: Run, here: Path, data: Path, monkeypatch: Patch
) -> None:
    write_pairs(here)
    run("corpora", "add", "mine", "--tsv", "my.tsv", "--languages", "de-fr")
    lines = (data / "mine" / "train.tsv").read_bytes().split(b"\n")
    num_tokens = sum(len(line.replace(b"\t", b"")) for line in lines) // 4
    assert f"mine: about {num_tokens:,} tokens" in find_recipe_or_corpus("mine").about
    sizes = {}
    for num_tokens in (500_000, 500_001, 3_000_001):
        monkeypatch.setattr(own_text, "estimate_num_tokens", lambda text, n=num_tokens: n)
        recipe = find_recipe_or_corpus("mine")
        assert isinstance(recipe.model, ModelConfig)
        assert (recipe.name, recipe.data.corpus) == ("mine", "mine")
        assert (recipe.data.src_lang, recipe.data.tgt_lang) == ("de", "fr")
        sizes[recipe.model.d_model, recipe.data.vocab_size, recipe.training.steps] = recipe
    assert len(sizes) == 3
    assert sorted(sizes) == list(sizes)  # More text, a larger network.
    with pytest.raises(UserError, match=r"unknown recipe 'mien': did you mean 'mine'\?"):
        find_recipe_or_corpus("mien")


def test_a_recipe_file_takes_over_what_it_does_not_say(here: Path) -> None:
    path = here / "my.toml"
    path.write_text('\ufefflike = "demo"\n[data]\nsrc_lang = "de"\n[training]\nsteps = 7\n')
    recipe, demo = find_recipe_or_corpus(str(path)), find_recipe("demo")
    assert recipe.name == "my"
    assert (recipe.data, recipe.training) == (
        demo.override({"src_lang": "de"}).data,
        demo.override({"steps": 7}).training,
    )
    assert recipe.model == demo.model
    path.write_text(
        '[data]\ncorpus = "mine"\nsrc_lang = "en"\ntgt_lang = "uk"\n[model]\n[training]'
    )
    assert read_recipe_file(path).model == ModelConfig()


def test_a_bad_recipe_file_is_refused_by_its_name(here: Path) -> None:
    path = here / "my.toml"
    for content, message in (
        (b"like", "my.toml is no TOML"),
        (b'like = "\xe9"', "my.toml is no TOML"),
        (b'like = "dem"', "my.toml: like: unknown recipe 'dem': did you mean 'demo'"),
        (b'like = ["demo"]', "my.toml: like: unknown recipe"),
        (b"data = 3", r"my.toml: data is 3: write \[data\]"),
        (b'[data]\ncorpus = "embedded"', "my.toml: .*src_lang"),
        (b'like = "demo"\n[model]\nd_modle = 3', "my.toml: .*d_modle"),
        (b'like = "demo"\n[model]\nd_model = 7', "my.toml: d_model 7 is not divisible"),
    ):
        path.write_bytes(content)
        with pytest.raises(UserError, match=message):
            read_recipe_file(path)
    with pytest.raises(UserError, match=r"no recipe file none\.toml"):
        find_recipe_or_corpus("none.toml")


@pytest.mark.slow
def test_another_version_of_the_corpus_is_noticed(run: Run, here: Path, data: Path) -> None:
    text = corpora.load("embedded", "train", "de", "fr")
    write_pairs(here, list(zip(text.src[:300], text.tgt[:300], strict=True)))
    add = ("corpora", "add", "mine", "--tsv", "my.tsv", "--languages", "de-fr")
    assert run(*add)[0] == 0
    settings = [word for pair in TINY.items() for word in ("--set", "=".join(pair))]
    train = ("train", "mine", *settings, "--steps")
    assert run(*train, 1)[0] == 0
    assert "corpus is another version" not in run(*train, 2, "--resume")[1]
    evaluate = ("evaluate", "runs/mine", "--beam", 1)
    assert "has changed since" not in run(*evaluate)[2]
    # One test pair fewer, as if it had been added anew.
    description = json.loads((data / "mine" / "corpus.json").read_text())
    content = (data / "mine" / "test.tsv").read_bytes().partition(b"\n")[2]
    (data / "mine" / "test.tsv").write_bytes(content)
    description["sha256"]["test.tsv"] = hashlib.sha256(content).hexdigest()
    (data / "mine" / "corpus.json").write_text(json.dumps(description))
    assert "mine has changed since runs/mine was trained on it (test.tsv)" in run(*evaluate)[2]
    status, out, _ = run(*train, 3, "--resume")
    assert (status, "another version now (test.tsv)" in out) == (0, True)

    assert run("corpora", "remove", "mine")[0] == 0
    write_pairs(here, list(zip(text.src[:200], text.tgt[:200], strict=True)))
    assert run(*add)[0] == 0
    status, _, err = run(*train, 4, "--resume")
    assert (status, err.count("\n")) == (2, 1)
    for said in ("the training examples are not those", "test.tsv, train.tsv, validation.tsv"):
        assert said in err


@pytest.mark.slow
def test_the_whole_way_from_two_files(run: Run, here: Path, data: Path) -> None:
    """Languages without rules, a pair that no shipped model has; then without the corpus."""
    text = corpora.load("embedded", "train", "de", "fr")
    write_pairs(here, list(zip(text.src[:3000], text.tgt[:3000], strict=True)))
    two_files = ("--src", "my.de", "--tgt", "my.fr", "--languages", "xq-zz_QQ")
    assert run("corpora", "add", "mine", *two_files)[0] == 0
    settings = [word for pair in TINY.items() for word in ("--set", "=".join(pair))]
    status, out, err = run("train", "mine", *settings, "--steps", 3)
    assert (status, err) == (0, "")
    assert "tokens" in out.splitlines()[0]
    assert "mine: mine xq-zz_QQ" in out.splitlines()[1]
    status, out, err = run("evaluate", "runs/mine", "--beam", 1, "--split", "validation")
    assert (status, err) == (0, "")
    figures = json.loads(out)
    assert (figures["corpus"], figures["tgt_lang"]) == ("mine", "zz_QQ")
    assert figures["perplexity"] > 1
    assert {"bleu", "chrf++"} < figures.keys()
    assert "bleu_tokenised_lowercased" not in figures  # It needs a language's rules.

    shutil.rmtree(data / "mine")  # as on a machine to which the model alone was carried
    refused(run("evaluate", "runs/mine"), "'mine'", "corpora add", "--src FILE --ref FILE")
    write_pairs(here, list(zip(text.src[3000:3013], text.tgt[3000:3013], strict=True)))
    files = ("--src", "my.de", "--ref", "my.fr")
    assert figures["baselines"]["nearest_training_source"].keys() == {"bleu", "chrf++"}
    status, out, err = run("evaluate", "runs/mine", "--beam", 1, *files)
    assert (status, json.loads(out)["sentences"], err.count("\n")) == (0, 13, 1)
    assert "mine, the corpus that runs/mine was trained on, is not on this computer" in err
    assert json.loads(out)["baselines"]["nearest_training_source"] is None
    refused(run("evaluate", "runs/mine", "--src", "my.de"), "--src and --ref belong together")
    refused(run("evaluate", "runs/mine", "--split", "test", *files), "--split is of the model's")
    for engine in ("ctranslate2", "transformers"):
        assert run("export", "runs/mine", "--to", engine, "--out", engine)[0] == 0
        assert "licence: not known" in (here / engine / "README.md").read_text()
    assert run("diagnose", "runs/mine")[0] in (0, 1)  # It judges a model, well trained or not.

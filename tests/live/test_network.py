"""The page's network computes the package's numbers: every head's weights, and every logit."""

from pathlib import Path
from typing import Any

import pytest
import torch

from engines.int8_weights import write_int8_model
from experiments.int8_agreement import load_int8_translator
from lessonkit.analysis.heads import Head
from lessonkit.analysis.interventions import SourceMaskedModel, ablate_heads
from tests.helpers import TINY
from tests.live.node import ask
from transformer.config import BOS_ID, EOS_ID
from transformer.data import tokenizers
from transformer.masks import padding_mask
from transformer.model import Transformer
from transformer.models import folder as models
from transformer.models.weights import load_weights, model_weights, save_tensors
from transformer.recipes import find_recipe
from transformer.support.folders import models_folder

CLOSE = {"atol": 1e-5, "rtol": 1e-5}
LOGITS = {"atol": 1e-4, "rtol": 1e-4}  # they are ten and more in size
SENTENCES = {
    "demo-en-fr": "The clever saleswoman is reading an interesting novel.",
    "de-en": "Zwei Frauen in roten Jacken sitzen auf einer Bank.",
}
# Each way of building a network that a recipe can ask for; sizes are distinct primes where
# they may be.
NETWORKS = {
    "post-norm": {"pre_norm": "false"},
    "pre-norm, nothing tied": {
        **{"pre_norm": "true", "tie_source_target": "false", "tie_softmax": "false"},
        **{"joint_vocabulary": "false", "attention_bias": "true", "output_bias": "true"},
    },
    "own widths, learned positions": {
        **{"d_model": "22", "d_k": "5", "d_v": "3", "num_heads": "7", "num_layers": "2"},
        **{"positions": "learned", "pre_norm": "false"},
    },
    "concatenated positions": {
        **{"positions": "concatenated", "position_dim": "3", "tie_softmax": "false"},
        **{"d_model": "26", "output_bias": "true"},
    },
}


def expected(model: Any, whole: Transformer, src: list[int], tgt_in: list[int]) -> dict[str, Any]:
    source, target = torch.tensor([src]), torch.tensor([tgt_in])
    with torch.no_grad():
        mask = padding_mask(source)
        memory = model.encode(source, mask)
        logits = model.decode(target, memory, mask)[0]
        maps = whole.attention_maps(source, target)._asdict()
    chances = logits.softmax(dim=-1)[range(len(tgt_in) - 1), tgt_in[1:]]
    return {
        "memory": memory[0],
        "logits": logits,
        "cached": logits,
        "probabilities": chances,
        "maps": {stack: each[:, 0] for stack, each in maps.items()},
    }


def compare(answer: dict[str, Any], wanted: dict[str, Any], *, maps: bool = True) -> None:
    for key in ("memory", "logits", "cached"):
        torch.testing.assert_close(torch.tensor(answer[key]), wanted[key], **LOGITS)
    chances = torch.tensor(answer["probabilities"])
    torch.testing.assert_close(chances, wanted["probabilities"], **CLOSE)
    if maps:  # nothing is cut
        torch.testing.assert_close(torch.tensor(answer["traced"]), wanted["logits"], **LOGITS)
    for stack, each in wanted["maps"].items() if maps else ():
        torch.testing.assert_close(torch.tensor(answer["maps"][stack]), each, **CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize("name", SENTENCES)
def test_every_head_and_logit_of_a_shipped_model(name: str, tmp_path: Path) -> None:
    """As the page has it: with weights in 8 bits."""
    folder, translator = tmp_path / name, load_int8_translator(name)
    write_int8_model(models_folder() / name, folder)
    model = translator.model
    src = [*translator.src_tokenizer.encode(SENTENCES[name]), EOS_ID]
    tgt_in = [BOS_ID, *translator.tgt_tokenizer.encode("La vendeuse lit un roman.")]
    question = {"act": "network", "folder": folder, "src": src, "tgt_in": tgt_in}
    removed = [Head("encoder", 1, 3), Head("decoder", 2, 2), Head("cross", 2, 1)]
    cut = {"removed": [head._asdict() for head in removed], "before": [1], "after": [3, 0]}
    whole, changed = ask(tmp_path, question, question | cut)
    compare(whole, expected(model, model, src, tgt_in))
    with ablate_heads(model, removed):
        wanted = expected(SourceMaskedModel(model, [1], [3, 0]), model, src, tgt_in)
        compare(changed, wanted, maps=False)
    cross = torch.tensor(changed["maps"]["cross"])
    assert not cross[..., [0, 1, 3]].any()
    torch.testing.assert_close(cross.sum(-1), torch.ones(cross.shape[:-1]), **CLOSE)


def untrained(folder: Path, settings: dict[str, str], dtype: torch.dtype) -> Transformer:
    """Write a tiny model as it was drawn, its norms and biases drawn too, and return it."""
    recipe = find_recipe("demo").override(TINY | {"num_layers": "2"} | settings)
    texts = ["the old woman reads a book"] * 5, ["la vieille femme lit un livre"] * 5
    description = models.ModelDescription(recipe, *tokenizers.train(recipe.data, *texts))
    torch.manual_seed(3)
    model = description.build()
    for parameter in model.parameters():
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, mean=0.5)
    models.write_description(folder, description)
    stored = {name: tensor.to(dtype) for name, tensor in model_weights(model).items()}
    path = folder / "model.safetensors"
    save_tensors(path, stored)
    load_weights(model, stored, path)
    return model.eval()


@pytest.mark.parametrize("kind", NETWORKS)
def test_every_kind_of_network(kind: str, tmp_path: Path) -> None:
    """Halves are read as they are stored."""
    src, tgt_in = [5, 17, 101, 19, 4, 60, EOS_ID], [BOS_ID, 12, 99, 254, 7]
    halves = [torch.float16, torch.bfloat16] if kind == "post-norm" else []
    for dtype in (torch.float32, *halves):
        model = untrained(tmp_path, NETWORKS[kind], dtype)
        question = {"act": "network", "folder": tmp_path, "src": src, "tgt_in": tgt_in}
        compare(ask(tmp_path, question)[0], expected(model, model, src, tgt_in))


def test_mistakes_are_told_in_a_line(tmp_path: Path) -> None:
    demo = {"folder": models_folder() / "demo-en-fr"}
    sentence = {"sentences": ["The cat."]}  # four tokens with its end mark
    questions = [
        {"act": "translate", **demo, "sentences": ["cat " * 300], "beam_size": 1},
        {"act": "translate", **demo, **sentence, "beam_size": 0},
        {"act": "greedy", **demo, **sentence, "after": [4]},
        {"act": "greedy", **demo, **sentence, "before": [0, 1], "after": [2, 3]},
        {"act": "greedy", **demo, **sentence, "before": [0, 1, 2, 3]},
        {"act": "greedy", **demo, **sentence, "removed": [Head("cross", 3, 1)._asdict()]},
        {"act": "translate", "folder": models_folder() / "demo-parser", **sentence},
        {"act": "translate", "folder": models_folder() / "demo-lstm", **sentence},
    ]
    beginnings = [
        f'"{"cat " * 10}..." has 300 tokens, and this model takes 255: split the sentence',
        "beam_size is 0: give a whole number",
        "no place 4 to hide: the source has 4 tokens, counted from 0",
        *["every place is hidden: leave one that can be attended to"] * 2,
        "no head cross 3.1: the model has the stacks encoder, decoder, cross, 2 layers",
        'src_tokenizer.json is of the kind "words", and this page reads byte-pair encoding only',
        'recipe.json is of the kind "lstm", and this page runs Transformers only',
    ]
    answers = ask(tmp_path, *questions)
    for answer, beginning in zip(answers, beginnings, strict=True):
        assert answer["error"].startswith(beginning)
        assert "\n" not in answer["error"]


def test_a_damaged_file_is_told_in_a_line(tmp_path: Path) -> None:
    untrained(tmp_path, {}, torch.float32)
    path = tmp_path / "model.safetensors"
    whole = path.read_bytes()
    question = {"act": "translate", "folder": tmp_path, "sentences": ["the"], "beam_size": 1}
    for kept in (5, 300, len(whole) - 1):
        path.write_bytes(whole[:kept])
        (answer,) = ask(tmp_path, question)
        assert answer["error"].startswith("model.safetensors is damaged or cut short")
        assert "copy" in answer["error"]

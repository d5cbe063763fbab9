"""A Transformer of one's own: its classes are judged and kept, and all together they run."""

import ast
import inspect
import linecache
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import torch

from lessonkit.exercises import own
from lessonkit.exercises.edit_source import redefine_with_edits
from lessonkit.exercises.learner_file import load_definition, save_definition
from lessonkit.exercises.outcome import fixed_torch_state_context, format_short, truncate_text
from lessonkit.exercises.own import reference, whole
from lessonkit.exercises.own.class_exercise import ClassExercise
from lessonkit.exercises.own.reference import MyAttention
from lessonkit.exercises.rules import BrokenRuleError
from lessonkit.records import MAX_STEPS_VARIABLE
from transformer.support.errors import UserError

CLASS_EXERCISES_BY_NAME = list(own.CLASS_EXERCISES_BY_NAME.values())


def one_paragraph(text: object) -> str:
    return " ".join(str(text).split())


def as_own(part: ClassExercise, *edits: str) -> Any:
    """The reference with its text changed, as if a learner had written it."""
    made = redefine_with_edits(part.reference, *edits)
    made.__module__ = "elsewhere"
    return made


@pytest.mark.parametrize("part", CLASS_EXERCISES_BY_NAME, ids=repr)
def test_right_and_blank_and_the_courses_own(part: ClassExercise) -> None:
    right = as_own(part)
    chance = torch.random.get_rng_state()
    assert part.check(right).text == f"{part.name}: passed, {len(part.cases)} cases."
    assert torch.equal(torch.random.get_rng_state(), chance), "a lesson's numbers stay as they are"
    assert part.accept(right) is right
    assert part.check(None).status == part.check(...).status == "not attempted"
    heir = type(part.name, (part.reference,), {"__module__": "elsewhere"})
    for theirs in (part.reference, heir):
        assert "the course's own class" in part.check(theirs).text
        assert part.accept(theirs) is part.reference


# The mistakes of the whole Transformer take a minute.
@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    [
        pytest.param(part, marks=pytest.mark.weekly) if part is own.transformer else part
        for part in CLASS_EXERCISES_BY_NAME
    ],
    ids=repr,
)
def test_every_mistake_is_refused_with_its_own_hint_and_code_that_shows_it(
    part: ClassExercise,
) -> None:
    small = part in (own.residual, own.stack)
    assert set(part.hint_of_mistake) == set(part.mistake_edits)
    assert len(part.mistake_edits) >= (5 if small else 8)
    for name, made in part.mistaken_functions_by_name.items():
        with fixed_torch_state_context():
            verdict = part.wrong_answer_message(made, part.first_failed_case(made))
        said = one_paragraph(verdict)
        hints = {
            other for other, hint in part.hint_of_mistake.items() if one_paragraph(hint) in said
        }
        assert hints == {name}
        yours = re.findall(r"^    yours +(.*)$", verdict.text, re.MULTILINE)
        assert what_the_code_gives(part, made, verdict.text) == "".join(yours)


def what_the_code_gives(part: ClassExercise, made: Any, text: str) -> str:
    """Run the code of a verdict, and write what it prints as the verdict does."""
    after = text.split("as code:\n")[1].splitlines()
    lines = [
        line[4:] for line in after[: next(i for i, x in enumerate(after) if "print(" in x) + 1]
    ]
    found: list[Any] = []
    names = {"own": own, "torch": torch, part.name: made, "print": found.append}
    try:
        exec("\n".join(lines), names)
    except BrokenRuleError:
        return ""
    except Exception as error:
        return truncate_text(f"{type(error).__name__}: {one_paragraph(error)}")
    return format_short(found[0])


NO_GRAD = "    @torch.no_grad()\n    def forward("
CUT = "its value is right, but"
CANNOT_LEARN = [
    (own.attention, "values, mask)", "values.detach(), mask)", "no gradient"),
    (own.attention, "heads.transpose", "heads.data.transpose", "no gradient"),
    (own.embedding, "self.token(ids)", "self.token.weight.data[ids]", "token.weight.grad"),
    (own.residual, "x + ", "x.detach() + ", "the gradient x.grad"),
    (own.residual, "(self.norm(x))", "(self.norm(x)).detach()", "norm.weight.grad"),
    (own.encoder_layer, "x, self.feed_forward)", "x.detach(), self.feed_forward)", "no gradient"),
    (own.decoder_layer, "y, memory, src", "y, memory.data, src", "memory.grad"),
    (own.stack, "= layer(x", "= layer(x.detach()", "x.grad"),
    (own.transformer, "self.encode(src, src_mask)", "self.encode(src, src_mask).detach()", ""),
    (own.transformer, "(tgt_in)", "(tgt_in).detach()", ""),
    *((part, "    def forward(", NO_GRAD, "no gradient") for part in CLASS_EXERCISES_BY_NAME),
]


@pytest.mark.slow
@pytest.mark.parametrize(("part", "old", "new", "says"), CANNOT_LEARN)
def test_what_computes_the_right_thing_and_cannot_learn_is_refused(
    part: ClassExercise, old: str, new: str, says: str
) -> None:
    verdict = part.check(as_own(part, old, new))
    assert verdict.status == "wrong"
    for words in (CUT, says, ".square().sum().backward()"):
        assert words in one_paragraph(verdict)


@pytest.mark.slow
def test_what_changes_from_call_to_call_is_refused() -> None:
    made = "self.tgt_embedding(tgt_in)"
    edit = (f"x = {made}", f"x = self.kept = getattr(self, 'kept', {made})")
    said = own.transformer.check(as_own(own.transformer, *edit)).text
    # One instance is called more than once.
    assert "mine(src, tgt_in), mine(src.flip(0), tgt_in)" in said
    sum_ = "x + self.dropout(sublayer(self.norm(x)))"
    grows = (f"return {sum_}", f"out = {sum_}\n")
    grows = (*grows[:1], grows[1] + "        self.norm.weight.data += 1\n        return out")
    assert "its weight norm.weight" in own.residual.check(as_own(own.residual, *grows)).text
    trained = ("return x + ", "if self.training: x = 2 * x\n        return x + ")
    said = one_paragraph(own.residual.check(as_own(own.residual, *trained)))
    assert "something else in training mode" in said
    assert "mine.train()" in said


CHANGES_ITS_INPUTS = [
    (own.attention, "queries = self.split(", "mask.fill_(True)\n        queries = self.split("),
    (own.embedding, "return self.token", "ids.fill_(1)\n        return self.token"),
    (own.residual, "x + self", "x.add_(1) + self"),
    (own.residual, "x + self.dropout(", "x.add_("),
    (own.encoder_layer, "x = self.self", "src_mask.fill_(True)\n        x = self.self"),
    (own.decoder_layer, "x = self.self", "memory.mul_(2)\n        x = self.self"),
    (own.stack, "for layer", "context[0].add_(1)\n        for layer"),
    (
        own.transformer,
        "= self.tgt_embedding(tgt_in)",
        "= self.tgt_embedding(tgt_in); tgt_in.zero_()",
    ),
]


@pytest.mark.parametrize(("part", "old", "new"), CHANGES_ITS_INPUTS)
def test_what_changes_its_inputs_is_refused_and_spoils_no_later_check(
    part: ClassExercise, old: str, new: str
) -> None:
    verdict = part.check(as_own(part, old, new))
    assert verdict.status == "wrong"
    assert "it changes what it was given" in verdict.text
    assert part.check(as_own(part)).status == "passed"


def kept(of: str) -> str:
    return f"self.__dict__.setdefault('kept', {of})"


KEEPS_ITS_FIRST_MASK = [
    (own.attention, "values, mask)", f"values, {kept('mask')})"),
    (own.encoder_layer, "y, y, src_mask)", f"y, y, {kept('src_mask')})"),
    (own.decoder_layer, "y, y, tgt_mask)", f"y, y, {kept('tgt_mask')})"),
    (own.decoder_layer, "memory, src_mask)", f"memory, {kept('src_mask')})"),
    (own.transformer, "src_mask = padding_mask(src)", f"src_mask = {kept('padding_mask(src)')}"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("part", "old", "new"), KEEPS_ITS_FIRST_MASK)
def test_a_class_that_keeps_the_first_mask_that_it_saw_is_refused(
    part: ClassExercise, old: str, new: str
) -> None:
    verdict = part.check(as_own(part, old, new))
    assert verdict.status == "wrong"
    assert "keeps something of one call" in one_paragraph(verdict)


BUFFER = 'self.register_buffer("waves", waves, persistent=False)'
SLICE = "self.waves[: ids.shape[1]]"


def test_positions_must_move_with_the_class() -> None:
    left_behind = as_own(own.embedding, BUFFER, "self.waves = waves")
    verdict = own.embedding.check(left_behind)
    assert verdict.status == "wrong"
    assert "moved to another device" in one_paragraph(verdict)
    names = {"own": own, "torch": torch, "MyEmbedding": left_behind}
    code = verdict.text.split("as code:\n")[1]
    lines = [line[4:] for line in code.splitlines() if line.startswith("    ")]
    with pytest.raises(RuntimeError, match="device"):
        exec("\n".join(lines), names)
    for edits in (
        (BUFFER, "self.waves = waves", SLICE, f"{SLICE}.to(ids.device)"),
        (SLICE, "self.waves[torch.arange(ids.shape[1])]"),
        (SLICE, f"({SLICE} if int(ids.max()) > -1 else 0)"),  # which looks at numbers
    ):
        assert own.embedding.check(as_own(own.embedding, *edits)).status == "passed"


def test_a_large_case_is_given_by_shape_and_can_be_pasted() -> None:
    wrong = own.attention.mistaken_functions_by_name["mask_forgotten"]
    large = next(
        case
        for case in own.attention._judged_cases_of_answer(wrong)
        if case.complaint and isinstance(case.right, torch.Tensor) and case.right.numel() > 30
    )
    text = "\n".join(own.attention._case_text_rows(large))
    assert max(map(len, text.splitlines())) < 400
    assert what_the_code_gives(own.attention, wrong, text) == format_short(large.outcome.value)


CALLED = "heads, weights = scaled_dot_product_attention(queries, keys, values, mask)"
BY_HAND = """scores = torch.einsum("bhqd,bhkd->bhqk", queries, keys) / keys.shape[-1] ** 0.5
        weights = (scores + torch.where(mask, 0.0, -1e9)).softmax(-1)
        heads = weights @ values"""
ADDED = "return self.token(ids) * self.scale + self.waves[: ids.shape[1]]"
IN_PLACE = """out = self.token(ids)
        out *= self.scale
        out += self.waves[torch.arange(ids.shape[1])]
        return out"""
FIRST = "x = self.self_attention_residual(x, lambda y: self.self_attention(y, y, tgt_mask)[0])"
UNFRAMED = """y = self.self_attention_residual.norm(x)
        x = x + self.self_attention(y, y, mask=tgt_mask)[0]"""
LAST = "self.output.weight = self.tgt_embedding.token.weight"
MADE_LATER = f"""{LAST}
        for name in ("src_embedding", "tgt_embedding", "decoder"):
            part = getattr(self, name); delattr(self, name); setattr(self, name, part)"""
DROPPED = "self.dropout(sublayer(self.norm(x)))"
DROPS = "__init__()\n        self.drop = nn.Dropout(0.5)\n"
MASK = "causal_mask(tgt_in.shape[1], device=tgt_in.device)"


@pytest.mark.slow
def test_what_is_right_in_another_way_passes() -> None:
    for part, *edit in (
        (own.attention, CALLED, BY_HAND),
        (own.attention, "heads.transpose(1, 2).flatten(2)", "torch.cat(heads.unbind(1), dim=-1)"),
        (own.embedding, ADDED, IN_PLACE),
        (own.residual, f"x + {DROPPED}", f"{DROPPED}.add(x)"),
        (own.residual, "self.dropout = nn.Dropout(dropout)", "self.rate = dropout", DROPPED,
         "nn.functional.dropout(sublayer(self.norm(x)), self.rate, self.training)"),
        (own.encoder_layer, "x, self.feed_forward)",
         "x, lambda y: self.drop(self.feed_forward(y)))", "__init__()\n", DROPS),
        (own.transformer, LAST, MADE_LATER),
        (own.decoder_layer, FIRST, UNFRAMED),
        (own.transformer, MASK, "causal_mask(tgt_in.shape[1]) & padding_mask(tgt_in)"),
        (own.transformer, "return self.output(self.decoder(x, memory, tgt_mask, src_mask))",
         "return self.decoder(x, memory, tgt_mask, src_mask) @ self.src_embedding.token.weight.T"),
    ):  # fmt: skip
        assert part.check(as_own(part, *edit)).status == "passed", edit


@pytest.mark.slow
def test_weights_that_no_trained_model_fits_are_told() -> None:
    for part, edit, says in (
        (
            own.attention,
            ("self.query_projection = ", "self.w_q = ", "self.query_projection(", "self.w_q("),
            "it has no weight called query_projection.weight (it has w_q.weight)",
        ),
        (
            own.attention,
            ("= num_heads", "= num_heads; self.more = nn.Linear(2, 2)"),
            "it has a weight more.weight",
        ),
        (
            own.embedding,
            ("nn.Embedding(vocab_size,", "nn.Embedding(vocab_size + 1,"),
            "the shape of token.weight is (6, 2), not (5, 2)",
        ),
    ):
        assert says in one_paragraph(part.check(as_own(part, *edit)))


def test_a_gap_an_error_and_what_is_no_class_are_told_without_a_traceback() -> None:
    line = "return self.token(ids) * self.scale + self.waves[: ids.shape[1]]"
    assert own.embedding.check(as_own(own.embedding, line, "...")).status == "not attempted"
    said = own.embedding.check(as_own(own.embedding, line, "return self.tokens(ids)")).text
    for words in ("AttributeError", "own.embedding.hint() gives"):
        assert words in said
    for odd in (3, MyAttention(4, 2), "MyAttention", int, object):
        assert own.attention.check(odd).status == "wrong"
    assert "no brackets" in own.attention.check(MyAttention(4, 2)).text


CELL = """
import math
import torch
from torch import nn
from transformer.positions import sinusoidal_positions as waves_of

def stretched(vectors):
    return vectors * math.sqrt(vectors.shape[-1])

class MyEmbedding(nn.Module):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.token = nn.Embedding(vocab_size, d_model)
        self.register_buffer("waves", waves_of(99, d_model), persistent=False)

    def forward(self, ids):
        return stretched(self.token(ids)) + self.waves[: ids.shape[1]]
"""
SECOND = """
class MyFeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.inner, self.outer = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.outer(self.inner(x).relu())
"""


def run_cell(text: str, names: dict, number: int = 1) -> dict:
    """Run a cell as IPython does: its text can be looked up by its file's name."""
    file = f"<ipython-input-{number}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names.setdefault("__name__", "__main__")
    exec(compile(text, file, "exec"), names)
    return names


def test_a_class_is_kept_with_what_it_uses_and_a_second_beside_it(tmp_path: Path) -> None:
    file = tmp_path / "my_transformer.py"
    names = run_cell(CELL, {})
    assert own.embedding.check(names["MyEmbedding"]).status == "passed"
    assert save_definition(names["MyEmbedding"], file) == file
    assert own.load("MyEmbedding", file) is not own.reference.MyEmbedding
    save_definition(run_cell(SECOND, names, 2)["MyFeedForward"], file)
    save_definition(names["MyEmbedding"], file)
    assert own.embedding.check(own.load("MyEmbedding", file)).status == "passed"
    forward = load_definition("MyFeedForward", file)(2, 3)
    assert forward(torch.zeros(1, 1, 2)).shape == (1, 1, 2)
    assert file.read_text().count("class MyEmbedding") == 1


LAYER = """
class MyEncoderLayer(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.feed_forward = MyFeedForward(d_model, d_ff)

    def forward(self, x):
        return x + self.feed_forward(x)
"""


def test_a_class_made_of_a_kept_one_leaves_that_where_it_is(tmp_path: Path) -> None:
    file = tmp_path / "my_transformer.py"
    save_definition(run_cell("from torch import nn\n" + SECOND, {})["MyFeedForward"], file)
    later: dict = {"MyFeedForward": load_definition("MyFeedForward", file)}
    save_definition(run_cell("from torch import nn\n" + LAYER, later, 2)["MyEncoderLayer"], file)
    assert "my_transformer import" not in file.read_text()
    layer = load_definition("MyEncoderLayer", file)(2, 3)
    assert layer(torch.zeros(1, 1, 2)).shape == (1, 1, 2)


def test_an_answer_of_a_cell_that_passes_is_saved_and_it_is_said_whose_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    mine = run_cell(CELL, {})["MyEmbedding"]
    assert own.embedding.accept(mine) is mine
    assert capsys.readouterr().out.endswith(
        "From here on: YOUR MyEmbedding, kept in my_transformer.py.\n"
    )
    later = own.load("MyEmbedding")
    assert later is not own.reference.MyEmbedding
    assert capsys.readouterr().out.endswith("From here on: YOUR MyEmbedding.\n")
    Path("my_transformer.py").write_text(CELL.replace("* math", "+ math"))
    assert own.load("MyEmbedding") is own.reference.MyEmbedding  # edited since, and broken
    assert "MyEmbedding: wrong" in capsys.readouterr().out


ATTENTION = """
def my_attention(query, key, value, mask):
    return (query @ key.mT).softmax(-1) @ value

attention = my_attention

class MyHead:
    def forward(self, x):
        return attention(x, x, x, None)
"""


def test_a_function_accepted_under_a_shorter_name_is_saved_under_both(tmp_path: Path) -> None:
    file = tmp_path / "my_transformer.py"
    save_definition(run_cell(ATTENTION, {})["MyHead"], file)
    # Saving reads the file, and writes it again.
    save_definition(run_cell(CELL, {}, 2)["MyEmbedding"], file)
    assert load_definition("MyHead", file)().forward(torch.ones(1, 2, 3)).shape == (1, 2, 3)


def test_what_was_not_kept_is_the_courses_own_and_errors(tmp_path: Path) -> None:
    file = tmp_path / "my_transformer.py"
    assert own.load("MyTransformer", file) is own.reference.MyTransformer
    save_definition(run_cell(CELL, {})["MyEmbedding"], file)
    assert own.load("MyTransformer", file) is own.reference.MyTransformer
    nowhere: dict = {"__name__": "__main__"}
    exec("class MyAttention:\n    def forward(self): return 1", nowhere)
    with pytest.raises(UserError, match="MyAttention was not written in a cell"):
        save_definition(nowhere["MyAttention"], file)
    file.write_text("import nothing_of_that_name")
    with pytest.raises(UserError, match=r"cannot be run .*mend it, or remove it"):
        own.load("MyTransformer", file)


CLASSES = [each for name, each in vars(reference).items() if name.startswith("My")]


def solutions() -> list[str]:
    """The course's answers, as a learner would have kept them."""
    found = [whole.IMPORT_STATEMENTS, *map(inspect.getsource, CLASSES)]
    for short, (module, _) in whole.FUNCTION_MODULES_AND_LESSONS.items():
        found.append(str(vars(import_module(f"lessonkit.exercises.{module}"))[short].solution()))
    return found


@pytest.mark.weekly
def test_all_pieces_of_ones_own_run_to_a_translation_and_a_bleu(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "my_transformer.py"
    mine.write_text("\n\n\n".join(solutions()))
    own.run(3, mine, tmp_path / "run.py")
    lines = capfd.readouterr().out.splitlines()
    said = [line for line in lines if line.startswith(("My", "my_")) and " -> " not in line]
    assert len(said) == len(own.CLASS_EXERCISES_BY_NAME) + len(whole.FUNCTION_MODULES_AND_LESSONS)
    assert all(line.endswith(" YOURS") for line in said)
    assert [line.split()[1] for line in lines if line.startswith("step")] == ["1", "2", "3"]
    told = [line.split(" -> ") for line in lines if " -> " in line]
    assert len(told) == 5
    assert lines[-1].startswith("BLEU of 50 validation sentences: ")
    own.translate(told[0][0], tmp_path / "run.py")  # in a new process, by the weights kept
    assert capfd.readouterr().out.splitlines() == [" -> ".join(told[0])]
    (tmp_path / "run.safetensors").write_bytes(b"")
    with pytest.raises(UserError, match=r"run\.py stopped with an error"):
        own.translate("The cat is sleeping.", tmp_path / "run.py")
    assert "SafetensorError" in capfd.readouterr().out


def test_nothing_is_translated_before_a_training_nor_without_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match=r"run\.py has trained no weights yet: call own\.run\(\)"):
        own.translate("The cat is sleeping.", tmp_path / "run.py")
    for sentence in (None, " ", "300"):
        with pytest.raises(UserError, match="is no sentence"):
            own.translate(sentence, tmp_path / "run.py")  # type: ignore[arg-type]
    for steps in (0, "three"):
        with pytest.raises(UserError, match="steps"):
            own.run(steps, tmp_path / "mine.py", tmp_path / "run.py")  # type: ignore[arg-type]
    monkeypatch.setenv(MAX_STEPS_VARIABLE, "many")
    with pytest.raises(UserError, match=f"{MAX_STEPS_VARIABLE} is 'many'"):
        own.run(file=tmp_path / "mine.py", out=tmp_path / "run.py")


def test_weights_of_an_earlier_file_are_not_a_stopped_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run.safetensors").write_bytes(b"of an earlier file")

    def stop(file: Path, argument: str) -> None:
        raise UserError(f"{file.name} stopped with an error")

    monkeypatch.setattr(whole, "_run_file", stop)
    with pytest.raises(UserError, match="stopped"):
        own.run(3, tmp_path / "mine.py", tmp_path / "run.py")
    with pytest.raises(UserError, match="has trained no weights yet"):
        own.translate("The cat is sleeping.", tmp_path / "run.py")


@pytest.mark.slow
def test_what_is_missing_or_does_not_pass_is_the_courses_and_it_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine, out = tmp_path / "my_transformer.py", tmp_path / "run.py"
    broken = inspect.getsource(reference.MyEmbedding).replace("* self.scale", "/ self.scale")
    attention = inspect.getsource(reference.MyAttention)
    mine.write_text("\n\n\n".join([whole.IMPORT_STATEMENTS, attention, broken]))
    whole.write_runnable_file(mine, out)
    said = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert said.pop("MyAttention") == "YOURS"
    assert said.pop("MyEmbedding") == "THE COURSE'S, for yours does not pass (lesson 05)"
    assert all("for yours is not kept" in each for each in said.values())
    found = [getattr(node, "name", "") for node in ast.parse(out.read_text()).body]
    counts = {name: found.count(name) for name in ("MyAttention", "MyEmbedding", "MyFeedForward")}
    assert counts == {"MyAttention": 1, "MyEmbedding": 2, "MyFeedForward": 1}
    names: dict[str, object] = {"__name__": "whole", "__file__": str(out)}
    exec(compile(out.read_text(), "run.py", "exec"), names)
    for part in own.CLASS_EXERCISES_BY_NAME.values():
        assert part.check(names[part.name]).status == "passed"

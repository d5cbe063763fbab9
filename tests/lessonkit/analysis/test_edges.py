"""Cut edges: an edge cut carries nothing, the others carry all, in any search."""

from collections.abc import Callable

import pytest
import torch

from lessonkit.analysis.edges import edges_cut, every_head
from lessonkit.analysis.heads import Head, all_heads
from transformer.config import BOS_ID, ModelConfig
from transformer.decoding import beam_search, greedy_search
from transformer.masks import padding_mask
from transformer.model import Transformer
from transformer.support.errors import UserError

VOCAB = 29
SRC = torch.tensor([[5, 6, 7, 8, 9, 3]])
TGT_IN = torch.tensor([[BOS_ID, 11, 12, 13, 14]])


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(3)
    config = ModelConfig(d_model=14, d_ff=19, num_heads=2, num_layers=3, d_k=5, d_v=3)
    return Transformer(config, src_vocab_size=VOCAB, tgt_vocab_size=VOCAB).double().eval()


def logits(model: Transformer, src: torch.Tensor = SRC) -> torch.Tensor:
    mask = padding_mask(src)
    with torch.no_grad():
        return model.decode(TGT_IN, model.encode(src, mask), mask)


def of(model: Transformer, stack: str) -> list[Head]:
    return [head for head in all_heads(model) if head.stack == stack]


def test_cutting_nothing_changes_nothing(model: Transformer) -> None:
    with edges_cut(model, {}):
        torch.testing.assert_close(logits(model), logits(model), rtol=0, atol=0)
    whole = logits(model)
    with edges_cut(model, every_head(all_heads(model), [])):
        torch.testing.assert_close(logits(model), whole)


@pytest.mark.parametrize("stack", ["encoder", "decoder", "cross"])
def test_one_edge_of_one_head_is_zero_and_its_row_still_sums_to_one(
    model: Transformer, stack: str
) -> None:
    head, (query, key) = Head(stack, 2, 2), (3, 1)
    whole = getattr(model.attention_maps(SRC, TGT_IN), stack)
    with edges_cut(model, {head: [(query, key)]}):
        maps = getattr(model.attention_maps(SRC, TGT_IN), stack)
    row, before = maps[1, 0, 1, query], whole[1, 0, 1, query]
    assert row[key] == 0
    kept = torch.arange(len(row)) != key
    torch.testing.assert_close(row[kept], before[kept] / before[kept].sum())
    untouched = torch.ones(maps.shape[2:4], dtype=torch.bool)
    untouched[1, query] = False  # the layer's other head, the head's other rows
    torch.testing.assert_close(maps[1, 0][untouched], whole[1, 0][untouched])
    torch.testing.assert_close(getattr(model.attention_maps(SRC, TGT_IN), stack), whole)


def test_with_all_edges_but_one_cut_the_head_gives_that_key_s_value(model: Transformer) -> None:
    head, (query, kept) = Head("cross", 1, 2), (2, 4)
    others = [(query, key) for key in range(SRC.shape[1]) if key != kept]
    with edges_cut(model, {head: others}):
        row = model.attention_maps(SRC, TGT_IN).cross[0, 0, 1, query]
    assert row.tolist() == [0, 0, 0, 0, 1, 0]


def test_a_key_that_no_query_can_see_has_no_influence(model: Transformer) -> None:
    exchanged = SRC.clone()
    exchanged[0, 2] = 20
    cut = every_head(
        of(model, "encoder"), [(query, 2) for query in range(SRC.shape[1]) if query != 2]
    ) | every_head(of(model, "cross"), [(query, 2) for query in range(TGT_IN.shape[1])])
    with edges_cut(model, cut):
        torch.testing.assert_close(logits(model, exchanged), logits(model))
    assert not torch.allclose(logits(model, exchanged), logits(model))


@pytest.mark.parametrize("stack", ["encoder", "decoder", "cross"])
@pytest.mark.parametrize("search", [greedy_search, beam_search])
def test_a_search_with_a_cache_is_cut_at_the_same_place(
    model: Transformer, stack: str, search: Callable[..., list[object]]
) -> None:
    whole = search(model, SRC, max_len=7)
    with edges_cut(model, every_head(of(model, stack), [(2, 0), (3, 1), (4, 2)])):
        cached, slow = (search(model, SRC, max_len=7, use_cache=use) for use in (True, False))
    assert [h.ids for h in flat(cached)] == [h.ids for h in flat(slow)]  # type: ignore[attr-defined]
    scores = [torch.tensor([h.score for h in flat(each)]) for each in (cached, slow, whole)]  # type: ignore[attr-defined]
    torch.testing.assert_close(scores[0], scores[1])
    assert not torch.allclose(scores[0], scores[2], atol=1e-6)


def test_a_cache_given_by_keyword_is_seen(model: Transformer) -> None:
    """Whoever calls the decoder may name the cache: the places are still those of the target."""

    def named(_: object, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        return args[:4], kwargs | dict(zip(["cache"], args[4:], strict=False))

    cut = {head: [(2, 0), (3, 1), (4, 2)] for head in of(model, "decoder")}
    with edges_cut(model, cut):
        slow = greedy_search(model, SRC, max_len=7, use_cache=False)
    with model.decoder.register_forward_pre_hook(named, with_kwargs=True), edges_cut(model, cut):
        cached = greedy_search(model, SRC, max_len=7)
    assert cached[0].ids == slow[0].ids
    assert cached[0].score == pytest.approx(slow[0].score)


def flat(found: list[object]) -> list[object]:
    return found[0] if isinstance(found[0], list) else found  # a beam has several for a sentence


@pytest.mark.parametrize(
    ("stack", "edges", "message"),
    [
        ("encoder", [(6, 0)], "no place 6: the source has 6 tokens"),
        ("encoder", [(0, 6)], "no place 6"),
        ("cross", [(0, 7)], "no place 7"),
        ("cross", [(-1, 0)], "places count from 0"),
        ("decoder", [(1, 2)], "the decoder never sees what comes later"),
        ("encoder", [(1, key) for key in range(6)], "a query has no key left"),
        ("decoder", [(0, 0)], "a query has no key left"),
    ],
)
def test_what_cannot_be_cut(
    model: Transformer, stack: str, edges: list[tuple[int, int]], message: str
) -> None:
    with pytest.raises(UserError, match=message), edges_cut(model, {Head(stack, 1, 1): edges}):
        logits(model)
    with pytest.raises(UserError, match="no head"), edges_cut(model, {Head(stack, 4, 1): []}):
        pass


def test_a_place_that_the_target_has_not_reached_is_no_mistake(model: Transformer) -> None:
    whole = logits(model)
    with edges_cut(model, {Head("decoder", 1, 1): [(40, 3)], Head("cross", 1, 1): [(40, 3)]}):
        torch.testing.assert_close(logits(model), whole)

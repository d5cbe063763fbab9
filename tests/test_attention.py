"""Attention: by hand and by PyTorch's function; tests/test_model.py has its module as oracle."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from transformer.attention import KeyValueCache, MultiHeadAttention, scaled_dot_product_attention
from transformer.support.errors import UserError

BATCH, HEADS, Q_LEN, K_LEN, D_K, D_V, D_MODEL = 2, 3, 5, 7, 11, 13, 17
Parts = tuple[Tensor, Tensor, Tensor]


@pytest.fixture
def parts() -> Parts:
    torch.manual_seed(3)
    query = torch.randn(BATCH, HEADS, Q_LEN, D_K)
    return query, torch.randn(BATCH, HEADS, K_LEN, D_K), torch.randn(BATCH, HEADS, K_LEN, D_V)


@pytest.fixture
def mask() -> Tensor:
    torch.manual_seed(4)
    allowed = torch.rand(BATCH, 1, Q_LEN, K_LEN) < 0.6
    allowed[..., 0] = True
    return allowed


def make(dropout: float = 0.0, bias: bool = True) -> MultiHeadAttention:
    torch.manual_seed(5)
    return MultiHeadAttention(D_MODEL, HEADS, D_K, D_V, dropout, bias)


def test_equation_1_by_hand() -> None:
    query = torch.tensor([[[[2.0, 0.0, 0.0, 0.0]]]])
    key = torch.tensor([[[[math.log(3.0), 5.0, 5.0, 5.0], [0.0, 7.0, 7.0, 7.0]]]])
    value = torch.tensor([[[[8.0], [4.0]]]])
    # The scores are 2 log 3 / sqrt(4) = log 3 and 0; the weights 3/4 and 1/4.
    output, weights = scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(weights, torch.tensor([[[[0.75, 0.25]]]]))
    torch.testing.assert_close(output, torch.tensor([[[[7.0]]]]))


def test_both_paths_agree_rows_sum_to_one_and_nothing_goes_to_what_is_hidden(
    parts: Parts, mask: Tensor
) -> None:
    for allowed in (None, mask):
        output, weights = scaled_dot_product_attention(*parts, allowed)
        assert output.shape == (BATCH, HEADS, Q_LEN, D_V)
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(BATCH, HEADS, Q_LEN))
        torch.testing.assert_close(output, F.scaled_dot_product_attention(*parts, allowed))
    assert (weights.masked_select(~mask) == 0).all()
    assert (weights.masked_select(mask) > 0).all()


def test_a_query_that_may_see_nothing_gives_zero_on_both_paths(parts: Parts, mask: Tensor) -> None:
    mask[1, 0, 2] = False
    output, weights = scaled_dot_product_attention(*parts, mask)
    assert (weights[1, :, 2] == 0).all()
    assert (output[1, :, 2] == 0).all()
    torch.testing.assert_close(output, F.scaled_dot_product_attention(*parts, mask))
    query = parts[0].clone().requires_grad_()
    scaled_dot_product_attention(query, *parts[1:], mask)[0].sum().backward()
    assert query.grad.isfinite().all()


def test_dropout_acts_on_what_is_summed_and_not_on_what_is_shown(parts: Parts) -> None:
    output, weights = scaled_dot_product_attention(*parts, dropout=lambda w: 2 * w)
    plain, same = scaled_dot_product_attention(*parts)
    torch.testing.assert_close(output, 2 * plain)
    torch.testing.assert_close(weights, same)


def test_shapes_with_widths_that_do_not_divide() -> None:
    query, memory = torch.randn(BATCH, Q_LEN, D_MODEL), torch.randn(BATCH, K_LEN, D_MODEL)
    output, weights = make()(query, memory, return_weights=True)
    assert output.shape == query.shape
    assert weights.shape == (BATCH, HEADS, Q_LEN, K_LEN)
    assert make()(query, memory)[1] is None
    torch.testing.assert_close(make()(query)[0], make()(query, query)[0])  # itself, if no memory


@pytest.mark.parametrize("numbers", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("return_weights", [False, True])
def test_dropout_works_in_training_only(return_weights: bool, numbers: torch.dtype) -> None:
    attention, query = make(dropout=0.5).to(numbers), torch.randn(BATCH, Q_LEN, D_MODEL).to(numbers)
    first, second = (attention(query, return_weights=return_weights)[0] for _ in range(2))
    assert not torch.equal(first, second)
    attention.eval()
    quiet, weights = attention(query, return_weights=return_weights)
    torch.testing.assert_close(quiet, make().to(numbers)(query)[0])
    assert (weights is not None) == return_weights


def test_a_cross_attention_cache_is_filled_once() -> None:
    attention = make()
    query, memory = torch.randn(BATCH, Q_LEN, D_MODEL), torch.randn(BATCH, K_LEN, D_MODEL)
    cache = KeyValueCache()
    first, _ = attention(query, memory, cache=cache)
    again, _ = attention(query, torch.full_like(memory, torch.nan), cache=cache)
    torch.testing.assert_close(again, first)


def test_selecting_rows_of_a_cache() -> None:
    cache = KeyValueCache()
    cache.select(torch.tensor([1]))  # nothing there yet: nothing to do
    key, value = torch.randn(2, 3, 5, 7), torch.randn(2, 3, 5, 11)
    cache.append(key, value)
    cache.select(torch.tensor([1, 1, 0]))
    torch.testing.assert_close(cache.tensors, (key[[1, 1, 0]], value[[1, 1, 0]]))


def test_weights_too_large_for_memory_are_refused() -> None:
    with torch.device("meta"), pytest.raises(UserError, match="num_heads 1,024"):
        MultiHeadAttention(d_model=1024, num_heads=1024, d_k=1025, d_v=2)

"""Four answers to what a target token takes from each source token, to be judged alike.

Not in the paper. Attention weights say where a head looks, not what it takes from there.

- Value zeroing (Mohebbi et al. 2023, https://aclanthology.org/2023.eacl-main.245): with the
  value of one key at zero and the weights as they were, how much does the layer's output change?
- Gradient times input (Denil et al. 2014, https://arxiv.org/abs/1412.6815; for alignments Ding
  et al. 2019, https://aclanthology.org/W19-5201): how much would the logit of the token said
  change, to first order, if the source token's embedding grew?
- Hiding: by how much does the log probability of the token said fall when the decoder cannot
  see the source token (see `Hiding`)? No estimate, but what is lost.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from lessonkit.analysis.alignment import Pair, WordAttention
from lessonkit.analysis.heads import Head, attention_of
from lessonkit.analysis.interventions import network_of
from transformer.masks import padding_mask
from transformer.model import Transformer
from transformer.models.translator import Translator

# Takes a model in evaluation mode, source ids (1, src_len), what the decoder reads, "<bos>" first,
# and what it says, (1, tgt_len) each. Gives (tgt_len, src_len), each row summing to 1.
Method = Callable[[Transformer, Tensor, Tensor, Tensor], Tensor]


def attention_weights(model: Transformer, src: Tensor, tgt_in: Tensor, said: Tensor) -> Tensor:
    """Give the weights of cross-attention, mean over all layers and heads."""
    return model.attention_maps(src, tgt_in).cross[:, 0].mean(dim=(0, 1))


@torch.inference_mode()
def value_zeroing(model: Transformer, src: Tensor, tgt_in: Tensor, said: Tensor) -> Tensor:
    """Measure what each decoder layer's output loses without one source token's values.

    The loss is 1 - cosine, between a layer's output with the values of all heads of its
    cross-attention as they are and with one token's at zero; the mean over layers.
    """
    src_mask, src_len = padding_mask(src), src.shape[1]
    memory, scores = model.encode(src, src_mask), []
    copies = memory.expand(src_len, -1, -1), src_mask.expand(src_len, -1, -1, -1)
    read = tgt_in.expand(src_len, -1)
    for index, layer in enumerate(model.decoder.layers, start=1):
        outputs: list[Tensor] = []
        values = attention_of(model, Head("cross", index, 1)).value_projection
        keep = layer.register_forward_hook(lambda _, __, output, to=outputs: to.append(output[0]))
        with keep:
            model.decode(tgt_in, memory, src_mask)
            with values.register_forward_hook(_zero_one_each):
                model.decode(read, *copies)
        whole, without = outputs  # (1, tgt_len, d_model), (src_len, tgt_len, d_model)
        scores.append(1 - torch.cosine_similarity(whole, without, dim=-1).T)
    return _as_shares(torch.stack(scores).mean(0))


def _zero_one_each(_: torch.nn.Module, __: tuple[Tensor, ...], values: Tensor) -> Tensor:
    """Set the value of place i to zero in copy i, (src_len, src_len, num_heads * d_v)."""
    places = torch.arange(len(values), device=values.device)
    values = values.clone()
    values[places, places] = 0
    return values


def gradient_times_input(model: Transformer, src: Tensor, tgt_in: Tensor, said: Tensor) -> Tensor:
    """Measure how the logit of each token said depends on each source token's embedding.

    The gradient meets the embedding (with its position) in a dot product, whose size counts.
    """
    tgt_len = tgt_in.shape[1]
    with torch.no_grad():
        embedded = model.src_embedding(src)
    copies = embedded.expand(tgt_len, -1, -1).clone().requires_grad_()  # one for each row
    src_mask = padding_mask(src).expand(tgt_len, -1, -1, -1)
    memory = model.encoder(copies, src_mask)[0]
    logits = model.decode(tgt_in.expand(tgt_len, -1), memory, src_mask)
    rows = torch.arange(tgt_len, device=src.device)
    (gradient,) = torch.autograd.grad(logits[rows, rows, said[0]].sum(), copies)
    return _as_shares((gradient * embedded).sum(-1).abs())


@torch.inference_mode()
def hiding(model: Transformer, src: Tensor, tgt_in: Tensor, said: Tensor) -> Tensor:
    """Measure what each token said loses when the decoder cannot see one source token.

    The loss is of its log probability; where it rises instead, there is none, and a row in which
    nothing is lost sums to 0.
    """
    src_mask, src_len = padding_mask(src), src.shape[1]
    memory = model.encode(src, src_mask)
    seen = ~torch.eye(src_len, dtype=torch.bool, device=src.device)[:, None, None]
    copies = memory.expand(src_len, -1, -1), seen & src_mask  # copy i sees all but place i
    chosen = said[..., None]  # (1, tgt_len, 1)
    whole = model.decode(tgt_in, memory, src_mask).log_softmax(-1).gather(-1, chosen)
    logits = model.decode(tgt_in.expand(src_len, -1), *copies).log_softmax(-1)
    without = logits.gather(-1, chosen.expand(src_len, -1, -1))
    return _as_shares((whole - without)[..., 0].T.clamp(min=0))


METHODS: Mapping[str, Method] = {
    "attention weights": attention_weights,
    "value zeroing": value_zeroing,
    "gradient times input": gradient_times_input,
    "hiding": hiding,
}


def word_attribution(translator: Translator, src: str, tgt: str, method: Method) -> WordAttention:
    """Measure what each word of a given translation takes from each word of its source.

    Pieces of a source word are added, those of a target word averaged, as `word_attention`
    does; a word's rows are those that say it. The method is one of `METHODS`; the weights are
    (1, 1, tgt_words, src_words + 1), the last column "<eos>".
    """
    pair = Pair(translator, src, tgt)
    tgt_in, said = pair.tgt_in[:, :-1], pair.tgt_in[:, 1:]
    shares = method(network_of(translator), pair.src, tgt_in, said).detach().cpu()
    weights = pair.of_tgt_words @ shares @ pair.of_src_words
    return WordAttention(pair.src_words, pair.tgt_words, weights[None, None])


def _as_shares(scores: Tensor) -> Tensor:
    """Make each row sum to 1, (tgt_len, src_len)."""
    return scores / scores.sum(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)

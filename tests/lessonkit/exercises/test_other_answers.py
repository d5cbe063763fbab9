"""Wrong answers without a name, most of which have passed once, and right ones that must."""

import math

import torch

from lessonkit.exercises.edit_source import redefine_with_edits
from tests.helpers.exercise_walk import ALL, status
from transformer.data.grouping import group_pairs

# Edits of a reference, as an exercise has them.
ROUND = "living = longer[:beam_size]"
GRAMS = "collections.Counter(grams)"
LIVE = "open_ones = longer"
SENTENCES, MARKS = "    pad_id, bos_id, eos_id", "    sentences = [{} for ids in sentences]\n"
SCORES, TOP = "scores = query @ key.T / math.sqrt(query.shape[-1])", ".maximum(best)"
ENDS = "said, right = ([p{} for p in side] for side in (said, right))\n    common ="
RIGHT = {
    "a score low enough": ("attention", "-math.inf", "-1e4"),
    "attention written out": (
        *("attention", "    scores = scores.masked_fill(~mask, -math.inf)\n", ""),
        "scores.softmax(dim=-1)",
        "scores.exp() * mask\n    weights = weights / weights.sum(dim=-1, keepdim=True)",
    ),
    "blocks with a name for everything": (
        *("attention_in_blocks", SCORES),
        'turned = key.transpose(0, 1)\n        raw = torch.einsum("qd,dk->qk", query, turned)\n'
        "        scores = raw / query.shape[1] ** 0.5",
        *("weights = (scores - new_best).exp()", "moved = scores - new_best"),
        *("total = total", "weights = moved.exp()\n        total = total"),
    ),
    "a beam ends where nothing better can come": (
        *("beam_search", ROUND),
        f"{ROUND}\n        if not living or best_prob >= living[0][1]:\n            break",
    ),
    "a cache with a fused kernel": (
        *("cached_attention", "    scores =", "    import torch.nn.functional as F\n    scores ="),
        *("scores.softmax(dim=-1) @ values", "F.scaled_dot_product_attention(query, keys, values)"),
    ),
    "greedy by log probabilities": (
        *("greedy_decode", "logits[0, -1].argmax()", "logits[0].log_softmax(dim=-1)[-1].argmax()"),
        *("src.new_tensor([ids])", "torch.tensor(ids)[None]"),
    ),
    "a fault is looked for in many steps": (
        *("name_trainer_fault", "range(3)", "range(6)"),
        *("itertools.pairwise(states)", "(states[:2], states[-2:])"),
    ),
    "a loss is asked about random logits": (
        *("loss_fault", "torch.arange(30.0).sin().reshape(2, 3, 5)", "torch.randn(2, 3, 5)"),
        *("changed[1, 1:] *= -1", "changed[1, 1:] = torch.randn(2, 5)"),
    ),
}
# Those that alone hold a case of their exercise: without it, this passes and no mutant does.
WRONG = {
    "the best 6": (
        *("most_probable_sentence", LIVE, f"{LIVE}\n        open_ones.sort(key=lambda x: -x[1])"),
        *("-x[1])", "-x[1])\n        del open_ones[6:]"),
    ),
    "short ones first": (
        "frequent_types",
        "word: (-counts[word]",
        "word: (-counts[word], len(word)",
    ),
    "no capitals": ("frequent_types", "Counter(tokens)", "Counter(map(str.lower, tokens))"),
    "some word": ("most_probable_sentence", "> best_prob", "> best_prob and len(written) > 1"),
    "by alphabet alone": ("frequent_types", "-counts[word]", "-counts[word] * (min_frequency < 2)"),
    "two is enough": ("frequent_types", ">= min_frequency", ">= min(min_frequency, 2)"),
    "no unknown words": (
        *("pad_and_shift", SENTENCES, MARKS.format("[i for i in ids if i > 3]") + SENTENCES),
    ),
    "a score of minus fifty": ("attention", "-math.inf", "-50.0"),
    "the first block's maximum": (
        *("attention_in_blocks", TOP, " if best.isinf().any() else best"),
    ),
    "e to a large number": (
        *("top_p_sample", "(logits / temperature).softmax(dim=-1)"),
        "((powers := (logits / temperature).exp()) / powers.sum())",
    ),
    "joined words": ("clipped_counts", GRAMS, 'collections.Counter(map("".join, grams))'),
    "both ends": ("clipped_counts", GRAMS, "collections.Counter((g[0], g[-1]) for g in grams)"),
    "no capital": ("clipped_counts", "*(words", "*([w.lower() for w in words]"),
    "at most two": ("clipped_counts", "range(n)", "range(min(n, 2))"),
    "strong links": ("strongest_links", "src != eos", "src != eos and weights[tgt, src] >= 0.3"),
    "half the totals": ("beam_step", "totals[:, None]", "totals[:, None] / 2"),
    "ties as one text": (
        "most_frequent_pair",
        "(-counts[pair], pair)",
        '(-counts[pair], "".join(pair))',
    ),
    "no end": ("decoder_mask", "(tgt_in != 0)", "((tgt_in != 0) & (tgt_in != 3))"),
    "each pair once": ("leaked_share", "    seen =", "    test = list(set(test))\n    seen ="),
    "half a scale": ("loss_scaler_step", "gradient / scale", "(gradient / scale).bfloat16()"),
    "gradients of the call before": ("accumulate_gradients", "    model.zero_grad()\n", ""),
    "a step of its own": (
        *("accumulate_gradients", "    return"),
        "    torch.optim.SGD(model.parameters(), lr=0.1).step()\n    return",
    ),
    "small weights": ("attention_entropy", "w > 0", "w > 0.01"),
    "capitals alone": ("should_keep_pair", "src != tgt", "src.lower() != tgt.lower()"),
    "letters": (
        *("placeholder_accuracy", "(sorted(a), sorted(f))"),
        '(sorted("".join(a)), sorted("".join(f)))',
    ),
    "the other": ("phrase_f1", "common =", ENDS.format("[::2]")),
}


def test_another_right_answer_passes():
    for name, (exercise, *edits) in RIGHT.items():
        assert status(exercise, redefine_with_edits(ALL[exercise].reference, *edits)) == "passed", (
            name
        )


def test_another_wrong_answer_does_not():
    for name, (exercise, *edits) in WRONG.items():
        verdict = ALL[exercise].check(redefine_with_edits(ALL[exercise].reference, *edits))
        assert verdict.status == "wrong", name


def all_scores_in_a_list(query, blocks):
    pairs = list(blocks)
    scores = [query @ key.T / math.sqrt(query.shape[-1]) for key, _ in pairs]
    best = torch.stack([each.amax(dim=-1, keepdim=True) for each in scores]).amax(dim=0)
    powers = [(each - best).exp() for each in scores]
    total = sum(each.sum(dim=-1, keepdim=True) for each in powers)
    return sum(each @ value for each, (_, value) in zip(powers, pairs, strict=True)) / total


def in_three_hops(pairs):
    groups, left = [], list(pairs)
    while left:
        group = [left.pop(0)]
        for _ in range(3):
            near = [p for p in left if any(p[0] == a or p[1] == b for a, b in group)]
            group += near
            left = [p for p in left if p not in near]
        groups.append(sorted(group))
    return sorted(groups)


def names_that_never_close(tokens):
    closed = {token[1:] for token in tokens if token.startswith(")")}
    opened = [token[1:] for token in tokens if token.startswith("(")]
    return [f"){label}" for label in reversed(opened) if label not in closed]


def test_an_answer_of_another_make_does_not():
    def of_first_words(train, test):
        first = [[(a.split()[0], b.split()[0]) for a, b in pairs] for pairs in (train, test)]
        return ALL["leaked_share"].reference(*first)

    assert status("attention_in_blocks", all_scores_in_a_list) == "wrong"
    assert status("leaked_share", of_first_words) == "wrong"
    assert status("connected_groups", in_three_hops) == "wrong"
    assert status("closing_brackets", names_that_never_close) == "wrong"


def groups_by_hand(pairs):
    """A loop that takes both languages for one, its groups sorted."""
    found = []
    for pair in pairs:
        near = [g for g in found if any(set(pair) & set(p) for p in g)]
        rest = [g for g in found if g not in near]
        found = [*rest, [p for g in near for p in g] + [pair]]
    return sorted(map(sorted, found))


STOPPED = {
    "at the first end": (ROUND, f"{ROUND}\n        if best_prob:\n            break"),
    "at as many ends as places": (
        *("living = [([bos_id], 1.0)]", "living, ended = [([bos_id], 1.0)], 0"),
        "if token != eos_id:",
        "ended += token == eos_id and prob * next_prob > 0\n                if token != eos_id:",
        *(ROUND, f"{ROUND}\n        if ended >= beam_size:\n            break"),
    ),
}


ENDLESS = {
    "the first token again and again": (
        "while len(ids) <= limit",
        "while True",
        "ids.append(best)",
        "",
    ),
    "until the end alone": ("while len(ids) <= limit", "while True"),
}
MASKS = "from transformer import masks\n    return masks.padding_mask(tgt_in, 0) & past"
FUSED = "F.scaled_dot_product_attention(query, key, value, mask),"


def test_advice_names_the_mistake():
    def rounded(n, k):
        return max(1, math.ceil(math.log(n) / math.log(k)))

    stopped = [
        redefine_with_edits(ALL["beam_search"].reference, *edits) for edits in STOPPED.values()
    ]
    endless = [
        redefine_with_edits(ALL["greedy_decode"].reference, *edits) for edits in ENDLESS.values()
    ]
    _, *edits = WRONG["gradients of the call before"]
    kept_gradients = redefine_with_edits(ALL["accumulate_gradients"].reference, *edits)
    _, *edits = WRONG["a step of its own"]
    moved_weights = redefine_with_edits(ALL["accumulate_gradients"].reference, *edits)
    mask = redefine_with_edits(ALL["decoder_mask"].reference, "return real & past", MASKS)
    fused = redefine_with_edits(ALL["attention"].reference, "weights @ value,", FUSED)
    for exercise, answer, says in (
        ("connected_groups", groups_by_hand, "English *Stop* and French *Stop*"),
        (
            "connected_groups",
            lambda pairs: sorted(map(sorted, group_pairs(pairs))),
            "compare them as they",
        ),
        ("num_dilated_layers", rounded, "math.log(125, 5)"),
        *(("beam_search", answer, "some sentence is finished") for answer in stopped),
        *(("greedy_decode", answer, "does your loop end") for answer in endless),
        ("accumulate_gradients", kept_gradients, "model.zero_grad()"),
        ("accumulate_gradients", moved_weights, "the weights must stay as they are"),
        ("decoder_mask", mask, "it calls `padding_mask` of transformer.masks"),
        ("attention", fused, "it calls PyTorch's `scaled_dot_product_attention`"),
    ):
        verdict = ALL[exercise].check(answer)
        assert verdict.status == "wrong"
        assert says in " ".join(repr(verdict).split())

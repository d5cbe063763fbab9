"""Changes of a reference that leave it right, with the reason: no case can tell them apart."""

SYMMETRIC = "both sides are treated alike"
EQUAL_LENGTHS = "the lists are as long as each other"
THE_VALUE_IS_THE_SAME = "where the two differ, both ways give the same value"
TWO_AXES = "there are two axes only, the last is number 1"
SAME_LENGTH = "only the length counts, and it is the same"
EVERY_FACTOR = "a factor of all changes no order, and the product is not given back"

# exercise -> reason -> changes, as `tests.helpers.mutants` writes them
EQUIVALENT: dict[str, dict[str, list[str]]] = {
    "scaled_attention": {
        "the order of two axes to exchange": ["key.transpose(-2, -1) -> key.transpose(-1, -2)"],
        "keys are as wide as queries": ["query -> key #2"],
    },
    "split_heads": {
        "the order of two axes to exchange": [
            "joined.unflatten(-1, (num_heads, -1)).transpose(1, 2)"
            " -> joined.unflatten(-1, (num_heads, -1)).transpose(2, 1)"
        ],
    },
    "attention_in_blocks": {
        "the first maximum is minus infinity: what stands in total and sum is multiplied by 0": [
            "torch.zeros(len(query), 1) -> len(query)",
            "torch.zeros(len(query), 1) -> torch.zeros(1)",
            "torch.zeros(len(query), blocks[0][1].shape[-1]) -> len(query)",
            "torch.zeros(len(query), blocks[0][1].shape[-1])"
            " -> torch.zeros(blocks[0][1].shape[-1])",
        ],
        SAME_LENGTH: ["query -> best", "query -> best #2", "query -> total #2"],
        TWO_AXES: ["-1 -> 1", "-1 -> 1 #2", "-1 -> 1 #3", "-1 -> 1 #4"],
        "keys are as wide as queries": ["query -> key #5"],
        "every block has values of the same width": ["0 -> -1"],
    },
    "last_state": {SAME_LENGTH: ["outputs -> lengths #2"]},
    "groups": {"the groups are sorted at the end": ["[*apart, joined] -> [joined, *apart]"]},
    "leaked": {SAME_LENGTH: ["test -> seen #2"]},
    "untrained": {
        "both have the same names": ["before -> after"],
        SYMMETRIC: [
            "torch.equal(before[name], after[name]) -> torch.equal(after[name], before[name])"
        ],
    },
    "brevity": {
        THE_VALUE_IS_THE_SAME: [
            "hypothesis_length >= reference_length -> hypothesis_length > reference_length"
        ],
    },
    "matches": {
        SYMMETRIC: [
            "(hypothesis, reference) -> (reference, hypothesis)",
            "(mine, wanted) -> (wanted, mine)",
            "min(mine.count(gram), wanted.count(gram))"
            " -> min(wanted.count(gram), mine.count(gram))",
        ],
        "what one side alone has counts 0": ["mine -> wanted"],
    },
    "beam": {
        "a sentence of probability 0 is given where all have 0, and there is no such case": [
            "0.0 -> -1.0"
        ],
        EVERY_FACTOR: ["1.0 -> 2.0", "1.0 -> 0.5"],
        "no case has two best sentences": [
            "prob * next_prob > best_prob -> prob * next_prob >= best_prob"
        ],
    },
    "most_probable": {
        "a sentence of probability 0 is given where all have 0, and there is no such case": [
            "0.0 -> -1.0"
        ],
        EVERY_FACTOR: ["1.0 -> 2.0", "1.0 -> 0.5"],
        "no case has two best sentences": [
            "prob * next_prob > best_prob -> prob * next_prob >= best_prob"
        ],
    },
    "brevity_penalty": {
        SYMMETRIC: [
            "min(1.0, math.exp(1 - ref_len / hyp_len)) -> min(math.exp(1 - ref_len / hyp_len), 1.0)"
        ],
    },
    "clipped_precision": {
        EQUAL_LENGTHS: [
            "zip(hypotheses, references, strict=True) -> zip(hypotheses, references)",
            "True -> False",
        ],
        THE_VALUE_IS_THE_SAME: ["total -> matches"],
        "this is what zip does unless told otherwise": [
            "zip(*(words[i:] for i in range(n)), strict=False)"
            " -> zip(*(words[i:] for i in range(n)))"
        ],
    },
    "average": {"every state has the same names": ["0 -> -1"]},
    "best_hypothesis": {
        EVERY_FACTOR: [
            "(5 + length) / 6 -> (5 + length) * 6",
            "(5 + length) / 6 -> 5 + length",
            "6 -> 5",
            "6 -> 7",
        ],
    },
    "error_rate": {
        SYMMETRIC: [
            "(mine, true) -> (true, mine)",
            "zip(found, gold, strict=True) -> zip(gold, found, strict=True)",
        ],
        EQUAL_LENGTHS: [
            "zip(found, gold, strict=True) -> zip(found, gold)",
            "True -> False",
        ],
    },
    "links": {
        "a tensor without axes counts as its number": [
            "weights.argmax(dim=1).tolist() -> weights.argmax(dim=1)"
        ],
    },
    "layer_norm": {
        TWO_AXES: ["-1 -> 1", "-1 -> 1 #2"],
        "it is squared": ["hidden - mean -> mean - hidden"],
    },
    "offset": {
        "the slowest hand has not gone round, wherever the search begins": [
            "0.0 -> 1.0",
            "0.0 -> -1.0",
        ],
        SAME_LENGTH: ["one -> other"],
        "a tensor without axes counts as its number": [
            "float(here @ there) -> here @ there",
            "float(there[0] * here[1] - there[1] * here[0])"
            " -> there[0] * here[1] - there[1] * here[0]",
        ],
        SYMMETRIC: ["here @ there -> there @ here"],
        "a change of a tenth of a per mille is less than the noise": [
            "10000 -> 9999",
            "10000 -> 10001",
        ],
    },
    "shift_halves": {"arange takes a float for the end": ["d_model // 2 -> d_model / 2"]},
    "wavelength": {
        "a change of a tenth of a per mille counts as a rounding": [
            "10000 -> 9999",
            "10000 -> 10001",
        ],
    },
    "pad_and_shift": {
        "two empty lists are exchanged": ["(tgt_in, tgt_out) -> (tgt_out, tgt_in)"],
    },
    "best_pair": {"all counts begin at the same number": ["0 -> -1", "0 -> 1"]},
    "unknown_share": {
        "a list has the same members": ["set(types) -> types", "known -> types"],
        SAME_LENGTH: ["token -> known", "token -> tokens", "token -> types"],
    },
    "loss_per_token": {
        "two zeros are exchanged": ["(total, tokens) -> (tokens, total)", "(0.0, 0) -> (0, 0.0)"],
        "a tensor without axes counts as its number": [
            "float(losses[real].sum()) -> losses[real].sum()",
            "int(real.sum()) -> real.sum()",
        ],
    },
    "warmup_rate": {SYMMETRIC: ["min(rising, falling) -> min(falling, rising)"]},
    "accumulated_gradient": {
        "they are multiplied with each other": [
            "(grad, count) -> (count, grad)",
            "zip(grads, tokens, strict=True) -> zip(tokens, grads, strict=True)",
        ],
        EQUAL_LENGTHS: [
            "zip(grads, tokens, strict=True) -> zip(grads, tokens)",
            "True -> False",
        ],
        THE_VALUE_IS_THE_SAME: ["norm > clip_norm -> norm >= clip_norm"],
        "all gradients have one shape": ["0 -> -1"],
    },
    "standard_error": {SYMMETRIC: ["(first, second) -> (second, first)"]},
    "shared": {
        SYMMETRIC: ["min(said.count(p), right.count(p)) -> min(right.count(p), said.count(p))"],
        "what one side alone has counts 0": ["said -> right #2"],
    },
}

"""Changes of a reference that leave it right, with the reason: no case can tell them apart."""

SYMMETRIC = "both sides are treated alike"
EQUAL_LENGTHS = "the lists are as long as each other"
THE_VALUE_IS_THE_SAME = "where the two differ, both ways give the same value"
TWO_AXES = "there are two axes only, the last is number 1"
SAME_LENGTH = "only the length counts, and it is the same"
NO_AXES = "a tensor without axes counts as its number"
TWO_LISTS = "two empty lists are exchanged"
EVERY_FACTOR = "a factor of all changes no order, and the product is not given back"

# exercise -> reason -> changes, as `tests.helpers.mutants` writes them
EQUIVALENT: dict[str, dict[str, list[str]]] = {
    "scaled_attention": {
        "the order of two axes to exchange": ["key.transpose(-2, -1) -> key.transpose(-1, -2)"],
        "keys are as wide as queries": ["query -> key #2"],
    },
    "multi_head": {
        "the order of two axes to exchange": [
            "joined.unflatten(-1, (num_heads, -1)).transpose(1, 2)"
            " -> joined.unflatten(-1, (num_heads, -1)).transpose(2, 1)",
            "(shares @ values).transpose(1, 2) -> (shares @ values).transpose(2, 1)",
        ],
        "keys are as wide as queries": ["queries -> keys #2"],
    },
    "tied": {
        "rows and positions are as wide as each other": ["table -> positions #2"],
        "as many places are decoded as are read": ["ids -> decoded #2"],
    },
    "decoder_layer": {
        EQUAL_LENGTHS: [
            "zip(sublayers, layer.norms, strict=True) -> zip(sublayers, layer.norms)",
            "True -> False",
        ],
    },
    "train": {
        SYMMETRIC: [
            "min(step ** (-0.5), step * warmup_steps ** (-1.5))"
            " -> min(step * warmup_steps ** (-1.5), step ** (-0.5))"
        ],
        NO_AXES: ["loss.item() -> loss"],
        "the optimizer has all of the network's weights, and clears the same": ["adam -> model"],
        "the optimizer has a single group": ["0 -> -1 #2"],
    },
    "cached_greedy": {
        TWO_LISTS: ["(keys, values, written) -> (values, keys, written)"],
        NO_AXES: ["int(model.scores(attended).argmax()) -> model.scores(attended).argmax()"],
        "keys are as wide as queries": ["query -> key #2"],
        "there is one axis only": ["0 -> -1"],
    },
    "sample": {
        NO_AXES: [
            "int((reached <= chance).sum()) -> (reached <= chance).sum()",
            "int(tokens[place]) -> tokens[place]",
        ],
        "rounding decides where a sum is the number asked for, and no case is so near": [
            "before < top_p -> before <= top_p",
            "reached <= chance -> reached < chance",
        ],
        "what is cut comes last, beyond 1, and no chance is as large": ["kept -> probs"],
        "there is one axis only": ["1 -> 0", "1 -> 0 #2", "1 -> 0 #3"],
    },
    "fault": {
        TWO_LISTS: ["(states, losses) -> (losses, states)"],
        "two losses are equal only where nothing moves, which is known by then": [
            "losses[1] > losses[0] -> losses[1] >= losses[0]"
        ],
        "no training's second step is that much longer to the last digit": [
            "sum(other) > 1.5 * sum(one) -> sum(other) >= 1.5 * sum(one)"
        ],
        "a distance is the same both ways": [
            "(before, after) -> (after, before)",
            "after[name] - before[name] -> before[name] - after[name]",
        ],
        "what the first step moves the second moves too": ["one -> other", "one -> other #2"],
        "a loss that rises goes on rising": ["1 -> 2"],
        "every state has the same names": ["before -> after", "before -> state"],
    },
    "sight": {
        SYMMETRIC: [
            "torch.allclose(before, logits[:place]) -> torch.allclose(logits[:place], before)",
            "torch.allclose(decode(wider, tgt_in), logits)"
            " -> torch.allclose(logits, decode(wider, tgt_in))",
            "torch.allclose(decode(9 - src, tgt_in), logits)"
            " -> torch.allclose(logits, decode(9 - src, tgt_in))",
        ],
        "there is nothing before the first place": [
            "range(1, len(tgt_in)) -> range(len(tgt_in))",
            "1 -> 0",
        ],
        "two places of padding tell as much as one": ["1 -> 2 #2"],
        SAME_LENGTH: ["tgt_in -> logits #2"],
        "a copy has the same numbers": ["changed -> tgt_in #2"],
        "any other source will do": ["src -> tgt_in #4"],
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
        NO_AXES: ["weights.argmax(dim=1).tolist() -> weights.argmax(dim=1)"],
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
        NO_AXES: [
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
        TWO_LISTS: ["(tgt_in, tgt_out) -> (tgt_out, tgt_in)"],
    },
    "best_pair": {"all counts begin at the same number": ["0 -> -1", "0 -> 1"]},
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
    "ahead": {
        "there is nothing before the first place": ["range(1, len(tgt_in)) -> range(len(tgt_in))"],
        "the first token that moves its own position gives 0 at least": ["0 -> -1"],
        "a position never moves without its own logits all moving": [
            "(decode(changed) != logits).any -> (decode(changed) != logits).all"
        ],
        "the first axis left is the only one": ["1 -> 0"],
        SYMMETRIC: [
            "max(farthest, place - int(moved.nonzero()[0]))"
            " -> max(place - int(moved.nonzero()[0]), farthest)"
        ],
        SAME_LENGTH: ["tgt_in -> logits #2"],
        "a copy has the same numbers": ["changed -> tgt_in #2"],
    },
    "loss_fault": {
        SYMMETRIC: [
            "torch.isclose(loss(changed, tgt_out), both)"
            " -> torch.isclose(both, loss(changed, tgt_out))",
            "torch.isclose(both, right) -> torch.isclose(right, both)",
            "(one + other, (3 * one + other) / 4) -> ((3 * one + other) / 4, one + other)",
        ],
        "other logits at padding, whichever, will do": [
            "changed[1, 1:] *= -1 -> changed[1, 1:] /= -1",
            "changed[1, 1:] *= -1 -> changed[1, 1:] = -1",
            "1 -> 0",
            "1 -> 2",
            "(1, 1:) -> (1:, 1)",
        ],
        "any targets and logits will do": [
            "[3, 4, 2] -> [4, 3, 2]",
            "torch.arange(30.0).sin() -> torch.arange(30.0)",
            "torch.arange(30.0).sin -> torch.arange(30.0).cos",
            "3 -> 2 #2",
            "3 -> 4 #2",
            "4 -> 3 #2",
            "2 -> 1 #2",
            "2 -> 3 #2",
            "4 -> 3 #3",
            "1 -> 2 #3",
        ],
        "the loss with the logits before is known by then": ["logits.clone() -> logits"],
        "two softmaxes leave a loss of 0.9": [
            "loss(99 * F.one_hot(tgt_out).float(), tgt_out) > 0.1"
            " -> loss(99 * F.one_hot(tgt_out).float(), tgt_out) >= 0.1",
            "0.1 -> 0.2",
            "0.1 -> 0.05",
            "99 -> 98",
            "99 -> 100",
        ],
        "where padding counts nothing, logits there may be any": [
            "logits -> changed #3",
            "logits -> changed #4",
        ],
    },
}

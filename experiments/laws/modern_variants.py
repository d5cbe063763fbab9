"""Thirty sound variants of the two models of a later style, on which no law is to break."""

from collections.abc import Mapping

# What stands in a file, and what is to.
VariantEdits = Mapping[str, tuple[tuple[str, str], ...]]

RMS_NORM_CODE = """size = torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
        return x / size * self.weight"""
FUSED_ATTENTION_CODE = (
    "mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=drop)"
)
EXPLICIT_ATTENTION_CODE = """scores = q @ k.transpose(-2, -1) * HEAD_DIM**-0.5
        weights = scores.masked_fill(~mask, -torch.inf).softmax(dim=-1)
        mixed = F.dropout(weights, drop) @ v"""
GATE, ENCODER_MLP = "F.silu(self.gate(x))", "x + self.drop(self.mlp(self.mlp_norm(x)))\n\n\n"
ENCODER_ATTENTION_CODE = "x = x + self.drop(self.attn(h, k, v, mask))"
ROTATION_CODE = """one, other = x.chunk(2, dim=-1)
        return torch.cat((one * cos - other * sin, other * cos + one * sin), dim=-1)"""
INTERLEAVED_ROTATION_CODE = """one, other = x[..., 0::2], x[..., 1::2]
        turned = one * cos - other * sin, other * cos + one * sin
        return torch.stack(turned, dim=-1).flatten(-2)"""
PARTIAL_ROTATION_CODE = """one, other, rest = x.split((2, 2, 4), dim=-1)
        cos, sin = cos[:, :2], sin[:, :2]
        return torch.cat((one * cos - other * sin, other * cos + one * sin, rest), dim=-1)"""
QUERY_NORM_CODE = (
    "drop = DROPOUT if self.training else 0.0",
    "drop = DROPOUT if self.training else 0.0\n"
    "        q, k = F.rms_norm(q, (HEAD_DIM,)), F.rms_norm(k, (HEAD_DIM,))",
)
MODERN_SIZES = "KV_HEADS, HEAD_DIM, LAYERS, DROPOUT = 32, 48, 4, 2,"
MODERN_LOGITS, TIED_NAMES = "self.head(self.decoder_norm(x))", '("embed.weight", "head.weight"),'
UNTIED_EDITS = (
    ("        self.head.weight = self.embed.weight\n", ""),
    (TIED_NAMES, ""),
)
MODERN_VARIANT_EDITS: VariantEdits = {
    "layer_norm": ((RMS_NORM_CODE, "return F.layer_norm(x, (D_MODEL,), self.weight, eps=1e-6)"),),
    "biases": (("bias=False", "bias=True"),),
    "multi_query": ((MODERN_SIZES, MODERN_SIZES.replace("4, 2,", "4, 1,")),),
    "multi_head": ((MODERN_SIZES, MODERN_SIZES.replace("4, 2,", "4, 4,")),),
    "explicit_softmax": ((FUSED_ATTENTION_CODE, EXPLICIT_ATTENTION_CODE),),
    "query_key_norm": (QUERY_NORM_CODE,),
    "geglu": ((GATE, "F.gelu(self.gate(x))"),),
    "bilinear": ((GATE, "self.gate(x)"),),
    "untied": UNTIED_EDITS,
    "scaled_words": (
        ("self.drop(self.embed(src))", "self.drop(self.embed(src) * D_MODEL**0.5)"),
        ("self.drop(self.embed(tgt_in))", "self.drop(self.embed(tgt_in) * D_MODEL**0.5)"),
    ),
    "interleaved_rotary": ((ROTATION_CODE, INTERLEAVED_ROTATION_CODE),),
    "partial_rotary": ((ROTATION_CODE, PARTIAL_ROTATION_CODE),),
    "parallel_layers": (
        (ENCODER_ATTENTION_CODE, f"before = {ENCODER_ATTENTION_CODE[4:]}"),
        (ENCODER_MLP, "before + self.drop(self.mlp(self.mlp_norm(x)))\n\n\n"),
    ),
    "scaled_residual": (
        (ENCODER_ATTENTION_CODE, ENCODER_ATTENTION_CODE.replace("= x", "= 1.3 * x")),
    ),
    "soft_capped_logits": ((MODERN_LOGITS, f"30 * torch.tanh({MODERN_LOGITS} / 30)"),),
}

SCALE = " / math.sqrt(WIDTH // HEADS)"
DRAWN_QUERIES = '"q": self.matrix(WIDTH, '
BUCKETS_CODE = "    def buckets(self, q_len, k_len, both_sides):"
ALIBI_CODE = """    def alibi(self, q_len, k_len):
        gap = torch.arange(q_len)[:, None] - torch.arange(k_len)
        slopes = 2.0 ** -torch.arange(1, HEADS + 1)[:, None, None]
        return -slopes * gap.where(gap > 0, -2 * gap)

"""
ENCODER_BIAS = "self.enc_bias[self.buckets(src.size(1), src.size(1), True)].permute(2, 0, 1)"
DECODER_BIAS = "self.dec_bias[self.buckets(length, length, False)].permute(2, 0, 1)"
BIASES_DRAWN_CODE = """        self.enc_bias = self.matrix(1, BUCKETS, HEADS)
        self.dec_bias = self.matrix(1, BUCKETS, HEADS)
"""
SIZES = "WIDTH, INNER, HEADS, LAYERS, DROPOUT = 24, 56, 3, 2, 0.1"
ADAM = "torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.98), eps=1e-9)"
LOGITS_DRAWN_CODE = "self.logits = self.matrix(WIDTH, TGT_TYPES, WIDTH)"
ABSOLUTE_EDITS = (
    (BIASES_DRAWN_CODE, "        self.places = self.matrix(1, 64, WIDTH)\n"),
    (ENCODER_BIAS, "0.0"),
    (DECODER_BIAS, "0.0"),
    ("(src, self.src_words)", "(src, self.src_words) + self.places[: src.size(1)]"),
    ("(tgt_in, self.tgt_words)", "(tgt_in, self.tgt_words) + self.places[:length]"),
)
FUNCTIONAL_VARIANT_EDITS: VariantEdits = {
    "scale_in_queries": ((SCALE, ""), (DRAWN_QUERIES, '"q": self.matrix(WIDTH * WIDTH // HEADS, ')),
    "alibi": (
        (BIASES_DRAWN_CODE, ""),
        (BUCKETS_CODE, ALIBI_CODE + BUCKETS_CODE),
        (ENCODER_BIAS, "self.alibi(src.size(1), src.size(1))"),
        (DECODER_BIAS, "self.alibi(length, length)"),
    ),
    "relu": (("F.gelu(", "F.relu("),),
    "no_biases": (
        (', weights["in_bias"]', ""),
        (', weights["out_bias"]', ""),
        ('                "in_bias": nn.Parameter(torch.zeros(INNER)),\n', ""),
        ('                "out_bias": nn.Parameter(torch.zeros(WIDTH)),\n', ""),
    ),
    "rms_norm": ((" - x.mean(dim=-1, keepdim=True)", ""),),
    "one_head": ((SIZES, SIZES.replace("3, 2,", "1, 2,")),),
    "more_layers": ((SIZES, SIZES.replace("3, 2,", "4, 3,")),),
    "no_clipping": (
        ("        nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)\n", ""),
        ("        max_gradient_norm=CLIP,\n", ""),
    ),
    "absolute_positions": ABSOLUTE_EDITS,
    "more_buckets": (("BUCKETS, FARTHEST = 8, 16", "BUCKETS, FARTHEST = 16, 64"),),
    "finite_mask": (("torch.finfo(scores.dtype).min", "-1e4"),),
    "momentum": ((ADAM, "torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)"),),
    "no_smoothing": (("WARMUP, SMOOTHING, CLIP = 25, 0.1", "WARMUP, SMOOTHING, CLIP = 25, 0.0"),),
    "tied": (
        ("self.tgt_words = self.matrix(1,", "self.tgt_words = self.matrix(WIDTH,"),
        (LOGITS_DRAWN_CODE, "self.logits = self.tgt_words"),
    ),
    "summed_loss": ((".sum() / weight.sum()", ".sum()"),),
}

#!/usr/bin/env bash
# tokenizers 0.23.3.
#
# 1. The pre-tokenizer ByteLevel cuts text by GPT-2's pattern, in which a word is letters alone. A
#    vowel sign or another combining mark is no letter to it, so each is a piece of its own, and BPE
#    merges nothing across it: words of Hindi, Tamil, Thai, vocalized Arabic and Hebrew, and any
#    decomposed text, stay in pieces however large the vocabulary is. Whitespace keeps them whole.
# 2. BertNormalizer, with its defaults, drops these marks (its strip_accents is on where lowercase
#    is), and with it clean_text drops the zero-width non-joiner of Persian.
# 3. Lowercase() turns a final capital sigma into σ, where Python has ς.
#
# Seen: a Hindi word of six characters in four pieces; नमस्ते becomes नमसत, and Japanese ガ カ.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check tokenizers==0.23.3
cat > marks.py <<'PY'
import unicodedata

from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.normalizers import BertNormalizer, Lowercase
from tokenizers.pre_tokenizers import ByteLevel, Whitespace
from tokenizers.trainers import BpeTrainer

WORDS = {
    "Hindi": "नमस्ते",
    "Tamil": "தமிழ்",
    "Thai": "สวัสดี",
    "Arabic": "مُدَرِّسٌ",
    "Hebrew": "שָׁלוֹם",
    "French": unicodedata.normalize("NFD", "été"),
}


def pieces(pre_tokenizer, word):
    return [word[start:end] for _, (start, end) in pre_tokenizer.pre_tokenize_str(word)]


for language, word in WORDS.items():
    cut, whole = pieces(ByteLevel(add_prefix_space=False), word), pieces(Whitespace(), word)
    print(language, len(word), "characters:", len(cut), "pieces by bytes,", len(whole), "by blanks")
    assert len(cut) > 1 and whole == [word], "CHANGED"

tokenizer = Tokenizer(BPE())
tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
alphabet = ByteLevel.alphabet()
trainer = BpeTrainer(vocab_size=5000, initial_alphabet=alphabet, show_progress=False)
tokenizer.train_from_iterator([WORDS["Hindi"]] * 1000, trainer)
tokens = len(tokenizer.encode(WORDS["Hindi"]).tokens)
print("trained on one word alone, BPE needs", tokens, "tokens for it")
assert tokens == 4, "CHANGED"

normalized = [BertNormalizer().normalize_str(text) for text in ("नमस्ते", "ガ", "می\u200cخواهم")]
print("BertNormalizer:", normalized)
assert normalized == ["नमसत", "カ", "میخواهم"], "CHANGED"
assert Lowercase().normalize_str("ΣΑΣ") == "σασ" != "ΣΑΣ".lower(), "CHANGED"
PY
venv/bin/python marks.py
echo "as described: marks are cut off their letters by ByteLevel, and dropped by BertNormalizer"

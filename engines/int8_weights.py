"""A trained model's weights in 8 bits, for the page that translates in the browser.

Not in the paper. A visitor waits for the weights longer than for all else. In 8 bits they take
about half the bytes of the shipped ones: of each group of 64 numbers of a matrix's row the file has
whole numbers from -127 to 127 and one scale, and a weight is the product of the two (symmetric
quantization, as of Jacob et al. 2018, arXiv 1712.05877). Vectors (biases, norms) are few, and stay
as they are. Small magnitudes are more frequent than large ones, so that gzip saves 5 to 7% of that;
the page takes a file that is compressed, which its first bytes tell, or one that is not.

It needs the standard library alone, for `make live` needs no set-up.
"""

import gzip
import hashlib
import json
import struct
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any

COPIED_FILE_NAMES = ("recipe.json", "src_tokenizer.json", "tgt_tokenizer.json")
WEIGHTS, MANIFEST = "model.safetensors", "manifest.json"
SCALE_SUFFIX = "_scale"  # of the name of a matrix's scales: (rows, groups in a row)
GROUP_SIZE = 64  # numbers of a row that share a scale; all of them where 64 does not divide the row
MAX_INT8 = 127  # -128 is left out, so that the range is symmetric
STRUCT_FORMATS = {"F16": "e", "F32": "f"}  # of a number, by its type in a safetensors file
FLOAT16 = struct.Struct("<e")
HEADER_LENGTH = struct.Struct("<Q")  # bytes of the header that follows


def write_int8_model(folder: Path, out: Path) -> None:
    """Write what the page reads of a model folder, with its weights in 8 bits.

    The folder that is written has the same recipe and tokenizers. It has check sums of its own, of
    the weights before they are compressed, which are written last.

    Raises:
        ValueError: A tensor is neither of float16 nor of float32.
    """
    files = {name: (folder / name).read_bytes() for name in COPIED_FILE_NAMES}
    files[WEIGHTS] = quantize_safetensors((folder / WEIGHTS).read_bytes())
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    files[WEIGHTS] = gzip.compress(files[WEIGHTS], mtime=0)  # equal weights give equal bytes
    files[MANIFEST] = json.dumps({"sha256": sums}, indent=2).encode()
    out.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (out / name).write_bytes(content)


def quantize_safetensors(file: bytes) -> bytes:
    """Return a safetensors file with each matrix, NAME, as int8, and NAME_scale, as float16.

    Raises:
        ValueError: A tensor is neither of float16 nor of float32.
    """
    (length,) = HEADER_LENGTH.unpack_from(file)
    start = HEADER_LENGTH.size + length  # of the numbers
    header = json.loads(file[HEADER_LENGTH.size : start])
    about = header.pop("__metadata__", {})
    tensors: dict[str, tuple[str, list[int], bytes]] = {}  # type, shape and bytes, by name
    for name, entry in header.items():
        dtype, shape = entry["dtype"], entry["shape"]
        first, last = entry["data_offsets"]
        numbers = file[start + first : start + last]
        if dtype not in STRUCT_FORMATS:
            raise ValueError(f"{name} is of type {dtype}: give float16 or float32")
        if len(shape) == 1:
            tensors[name] = (dtype, shape, numbers)
            continue
        rows, cols = shape
        group_size = cols if cols % GROUP_SIZE else GROUP_SIZE
        values, scales = quantize_groups(numbers, dtype, group_size)
        tensors[name] = ("I8", shape, values)
        tensors[name + SCALE_SUFFIX] = ("F16", [rows, cols // group_size], scales)
    return _safetensors(tensors, about)


def quantize_groups(numbers: bytes, dtype: str, group_size: int) -> tuple[bytes, bytes]:
    """Return the values (int8) of numbers, and the scales (float16) of their groups, little-endian.

    A group's scale is its largest magnitude over 127, rounded to float16; that of a group of zeros
    is 0.
    """
    group = struct.Struct(f"<{group_size}{STRUCT_FORMATS[dtype]}")
    values, scales = array("b"), list[float]()
    for row in group.iter_unpack(numbers):
        scale = _as_float16(max(map(abs, row)) / MAX_INT8)
        scales.append(scale)
        values.extend([_as_int8(number / scale) for number in row] if scale else [0] * group_size)
    return values.tobytes(), struct.pack(f"<{len(scales)}e", *scales)


def _as_float16(number: float) -> float:
    """Return the float16 nearest to a number."""
    (rounded,) = FLOAT16.unpack(FLOAT16.pack(number))
    return float(rounded)


def _as_int8(number: float) -> int:
    """Return the whole number nearest to a number, from -127 to 127.

    A scale was rounded, so that the largest magnitude may be a little over 127 of it.
    """
    return max(-MAX_INT8, min(MAX_INT8, round(number)))


def _safetensors(
    tensors: Mapping[str, tuple[str, list[int], bytes]], about: Mapping[str, Any]
) -> bytes:
    """Return a safetensors file of tensors, the wider types first, so that each is aligned."""
    widths = {"F32": 4, "F16": 2, "I8": 1}
    header: dict[str, Any] = {"__metadata__": dict(about)}
    contents, end = list[bytes](), 0
    for name, (dtype, shape, content) in sorted(
        tensors.items(), key=lambda item: (-widths[item[1][0]], item[0])
    ):
        place = [end, end + len(content)]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": place}
        contents.append(content)
        end += len(content)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return HEADER_LENGTH.pack(len(text)) + text + b"".join(contents)

#!/usr/bin/env bash
# vl-convert 1.9.0.post1, with Pillow 13.0.0.
#
# A font that the machine lacks, named alone, is replaced by none: the PNG is drawn with every title,
# label and tick's number missing, and without a warning. A chart whose configuration names Arial has
# no letters on a server that lacks it. "Name, sans-serif" falls back as it should.
#
# Seen: no dark pixel of text with the font "No Such Font", hundreds with "No Such Font, sans-serif".
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check vl-convert-python==1.9.0.post1 pillow==13.0.0
cat > font.py <<'PY'
from io import BytesIO

import vl_convert
from PIL import Image


def dark_pixels(font):
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": "A title",
        "data": {"values": [{"a": 1, "b": 2}, {"a": 3, "b": 4}]},
        "mark": {"type": "point", "color": "#DDDDDD"},
        "encoding": {"x": {"field": "a", "type": "quantitative"}},
        "config": {"font": font, "axis": {"domain": False, "ticks": False, "grid": False}},
    }
    picture = Image.open(BytesIO(vl_convert.vegalite_to_png(spec))).convert("L")
    return sum(picture.histogram()[:100])


found = {font: dark_pixels(font) for font in ("No Such Font", "No Such Font, sans-serif")}
print(found)
assert found["No Such Font, sans-serif"] > 100
assert found["No Such Font"] == 0, "CHANGED: another font takes the place of a missing one"
PY
venv/bin/python font.py 2> said.txt || { cat said.txt && exit 1; }
test ! -s said.txt
echo "as described: a missing font leaves a picture without text"

#!/usr/bin/env bash
# Altair 6.3.0, with nbformat 5.11.1 and vl-convert 1.9.0.post1.
#
# 1. In a shorthand ("size.mm:Q") a dot is a path into an object. A column whose name has a dot is
#    not found, and the chart is drawn without a mark and without a word.
# 2. alt.renderers.enable("mimetype") stores a chart as application/vnd.vegalite.v6.json, with
#    "+json" lost. By its name that is text for nbformat, which takes no object there: a notebook
#    with such a chart is not valid.
#
# Seen: 0 points drawn of 2, and 2 with the dot escaped ("size\\.mm:Q"); NotebookValidationError.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check altair==6.3.0 nbformat==5.11.1 vl-convert-python==1.9.0.post1
cat > chart.py <<'PY'
import altair as alt
import nbformat
import vl_convert

data = alt.Data(values=[{"size.mm": 1, "price": 2}, {"size.mm": 3, "price": 4}])


def chart(field):
    return alt.Chart(data).mark_point().encode(x=field, y="price:Q")


def points(field):
    return vl_convert.vegalite_to_svg(chart(field).to_dict()).count('roledescription="point"')


print("points drawn:", points("size.mm:Q"), "and, escaped,", points("size\\.mm:Q"))
assert points("size\\.mm:Q") == 2
assert points("size.mm:Q") == 0, "CHANGED: a dot is part of a name"

alt.renderers.enable("mimetype")
bundle = chart("price:Q")._repr_mimebundle_()
forms = bundle[0] if isinstance(bundle, tuple) else bundle
print("stored as", sorted(forms))
assert "application/vnd.vegalite.v6.json" in forms, "CHANGED: another MIME type"
output = {"output_type": "display_data", "metadata": {}, "data": forms}
cell = {"id": "a", "cell_type": "code", "metadata": {}, "source": "", "execution_count": 1}
cells = [{**cell, "outputs": [output]}]
notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
try:
    nbformat.validate(notebook)
except nbformat.ValidationError:
    print("nbformat: not valid")
else:
    raise SystemExit("CHANGED: nbformat takes it")
PY
venv/bin/python chart.py
echo "as described: a dot empties a chart, and nbformat refuses Altair's own MIME type"

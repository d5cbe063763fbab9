"""How a chart is shown and stored on Colab, which draws no Vega-Lite of its own accord.

A page of HTML shows the picture with its description, and a script draws the chart that moves
in the picture's place. Where scripts do not run, in GitHub's viewer say, or where theirs cannot be
fetched, the picture stays.
"""

import hashlib
import html
import json
from typing import Any

# Of Vega-Lite 5, as the specification is. Colab has a network: these come from there.
SCRIPTS = tuple(
    f"https://cdn.jsdelivr.net/npm/{name}"
    for name in ("vega@5.30.0", "vega-lite@5.20.1", "vega-embed@6.26.0")
)
# Colab's pages may know RequireJS; a script that finds its `define` would not say what it holds.
_PAGE = """\
<div id="{name}" style="background: white; color-scheme: light">
<img src="data:image/png;base64,{picture}" width="{width}" height="{height}" alt="{text}">
</div>
<script>
(async () => {{
  const place = document.getElementById("{name}");
  const define = window.define;
  window.define = undefined;
  try {{
    for (const address of {scripts}) {{
      await new Promise((loaded, failed) => {{
        const script = document.createElement("script");
        Object.assign(script, {{src: address, onload: loaded, onerror: failed}});
        document.head.append(script);
      }});
    }}
  }} finally {{
    window.define = define;
  }}
  await vegaEmbed(place, {spec}, {{mode: "vega-lite", ast: false}});
}})();
</script>
"""


def page(spec: dict[str, Any], picture: str, width: int, height: int, text: str) -> str:
    """Give a chart as HTML: its picture, and a script that puts the chart in its place.

    Args:
        spec: A Vega-Lite 5 specification.
        picture: The chart as a PNG, in base64.
        width, height: Of the picture on the page, in pixels.
        text: What the chart shows, for who does not see it.
    """
    written = json.dumps(spec, sort_keys=True).replace(
        "</", "<\\/"
    )  # or a text in it could end the script
    name = "chart-" + hashlib.sha256(written.encode()).hexdigest()[:12]
    return _PAGE.format(
        name=name,
        picture=picture,
        width=width,
        height=height,
        text=html.escape(text),
        scripts=json.dumps(SCRIPTS),
        spec=written,
    )

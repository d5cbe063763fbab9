"""Build the course's site into build/site: `python docs/site/build.py`, or `make site`.

It needs the extra [site], and Node for the formulas and for Pyodide. No lesson is executed; the
finished site needs no network and works from a folder, except what needs a server: the page that
translates, and the gaps that are judged.
"""

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "docs" / "colab"), str(ROOT)]

BUILD = ROOT / "build"
SOURCES, STATIC = BUILD / "site-sources", BUILD / "site-static"
DOCTREES, SITE = BUILD / "site-doctrees", BUILD / "site"
NODE_MODULES = ROOT / ".venv" / "node" / "node_modules"
KATEX, PYODIDE = NODE_MODULES / "katex" / "dist", NODE_MODULES / "pyodide"
LEFT_OUT = (".*", "__pycache__", "build", "dist", "runs", "cache", "tests", "*.safetensors")
OTHER_FONTS = re.compile(r",url\([^)]*\.(?:woff|ttf)\) format\(\"\w+\"\)")


def stage() -> None:
    """Lay out the sources: a copy of the repository's texts, and the pages that are written."""
    from course_site.lessons import prepare, read_lessons
    from course_site.package import Package
    from course_site.package_pages import write_pages

    shutil.rmtree(SOURCES, ignore_errors=True)
    shutil.copytree(ROOT, SOURCES, ignore=shutil.ignore_patterns(*LEFT_OUT))
    for lesson in (SOURCES / "notebooks").glob("*.ipynb"):
        prepare(lesson)
    opening = (HERE / "index.md").read_text(encoding="utf-8").replace("](../../", "](")
    (SOURCES / "index.md").write_text(opening, encoding="utf-8")
    write_pages(Package(ROOT), read_lessons(ROOT), SOURCES)


def bundle() -> None:
    """Put what pages load beside them: Vega as vl-convert ships it, KaTeX's style, Pyodide."""
    import vl_convert
    from course_site.gaps import write_browser_files
    from course_site.head import PICTURE
    from course_site.outputs import VEGALITE_VERSION

    shutil.rmtree(STATIC, ignore_errors=True)
    write_browser_files(ROOT, PYODIDE, STATIC / "gaps")
    fonts = STATIC / "katex" / "fonts"
    fonts.mkdir(parents=True, exist_ok=True)
    script = vl_convert.javascript_bundle(
        "window.vegaEmbed = vegaEmbed;", vl_version=VEGALITE_VERSION
    )
    # In a scope of its own: Sphinx's scripts and Vega's share short names.
    (STATIC / "vega.js").write_text(f"(() => {{\n{script}\n}})();\n", encoding="utf-8")
    for font in (KATEX / "fonts").glob("*.woff2"):
        shutil.copy(font, fonts)
    shutil.copy(ROOT / "figures" / PICTURE, STATIC)
    style = OTHER_FONTS.sub("", (KATEX / "katex.min.css").read_text(encoding="utf-8"))
    (STATIC / "katex" / "katex.min.css").write_text(style, encoding="utf-8")


def main() -> int:
    """Build the site anew; the exit status is Sphinx's, which takes a warning for a failure."""
    from course_site.live import copy_live_page
    from stamping import readme

    start = time.monotonic()
    if shutil.which("node") is None or not KATEX.is_dir() or not PYODIDE.is_dir():
        sys.exit("The site needs KaTeX and Pyodide: install node and npm, then `make site`")
    stage()
    bundle()
    shutil.rmtree(SITE, ignore_errors=True)
    options = ["-W", "--keep-going", "-q", "-E", "-b", "html", "-c", HERE, "-d", DOCTREES]
    command = [sys.executable, "-m", "sphinx", *map(str, [*options, SOURCES, SITE])]
    status = subprocess.run(command, check=False).returncode
    if status:
        return status
    address = readme.read_site(ROOT / "pyproject.toml")
    copy_live_page(ROOT, SITE, address)
    for lesson in sorted((ROOT / "notebooks").glob("*.ipynb")):  # which its page offers
        shutil.copy(lesson, SITE / "notebooks")
    # GitHub Pages shows it at every address where nothing is, so it knows no path relative to it.
    missing = (HERE / "404.html").read_text(encoding="utf-8")
    missing = missing.replace('href="/', f'href="{address or "/"}')
    (SITE / "404.html").write_text(missing, encoding="utf-8")
    files = [path for path in SITE.rglob("*") if path.is_file()]
    pages = sum(path.suffix == ".html" for path in files)
    size = sum(path.stat().st_size for path in files) / 1e6
    print(f"{pages} pages, {size:.1f} MB, {time.monotonic() - start:.0f} s, no warning")
    print("Open build/site/index.html. What translates or judges in the page needs a server:")
    print("python -m http.server --directory build/site")
    return 0


if __name__ == "__main__":
    sys.exit(main())

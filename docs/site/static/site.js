// What scrolls sideways can be reached with the keyboard.
const SCROLLS = "pre, .table-wrapper, .chart, .math, .katex-display";

function reachable() {
  for (const part of document.querySelectorAll(SCROLLS)) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
}

document.addEventListener("DOMContentLoaded", () => {
  reachable();
  for (const chart of document.querySelectorAll(".chart")) {
    chart.addEventListener("drawn", reachable);
  }
});
window.addEventListener("load", reachable);
window.addEventListener("resize", reachable);

// A button copies a block of code; where the browser has no clipboard, the code is selected.
function copyButtons() {
  for (const code of document.querySelectorAll("div.highlight")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const pre = code.querySelector("pre");
      try {
        await navigator.clipboard.writeText(pre.textContent.trimEnd());
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(pre);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    code.append(button);
  }
}
document.addEventListener("DOMContentLoaded", copyButtons);

// The search shows a passage of each page that it finds; from a folder no page may be read.
if (location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") {
  DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
}

// A formula is on a page twice, drawn and as MathML: in a passage that was found, once is enough.
if (typeof Search !== "undefined") {
  const passage = Search.htmlToText;
  Search.htmlToText = (html, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    page.querySelectorAll(".katex-mathml").forEach((formula) => formula.remove());
    return passage(page.documentElement.outerHTML, anchor);
  };
}

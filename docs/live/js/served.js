// Not a module: a browser that has opened the page from a file reads no module, and says nothing.

"use strict";

if (location.protocol === "file:") {
  document.addEventListener("DOMContentLoaded", () => {
    const line = document.getElementById("error");
    line.textContent =
      "A browser does not let a page opened from a file read its models: serve the folder " +
      "(python -m http.server), and open http://localhost:8000.";
    line.hidden = false;
  });
}

// Draws each chart in the place of its stored picture. If that fails, the picture stays.
document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll(".chart")) {
    const [spec, options] = JSON.parse(place.querySelector("script").textContent);
    const drawing = document.createElement("div");
    vegaEmbed(drawing, spec, { mode: "vega", renderer: "svg", actions: false, ...options }).then(() => {
      place.querySelector("img").replaceWith(drawing);
      place.classList.add("drawn");
      place.dispatchEvent(new Event("drawn"));
    });
  }
});

// The panel of an opened box: beside the box in the drawing, or, on a narrow page, below it.

import { by_id } from "./dom.js";
import { place_beside } from "./placement.js";

/** Mark the opened box's buttons, and put the panel beside them; null closes it. */
export function place_panel(opened) {
  for (const button of document.querySelectorAll("[data-box]")) {
    button.setAttribute("aria-expanded", String(button.dataset.box === opened));
  }
  const [panel, stage] = [by_id("panel"), by_id("stage")];
  panel.hidden = opened === null;
  if (opened === null || stage.classList.contains("narrow")) return;
  const button = stage.querySelector(`[data-box="${opened}"]`);
  const [box, room] = [button, stage].map((element) => element.getBoundingClientRect());
  const spot = place_beside(box.left - room.left, box.width, room.width);
  panel.style.left = `${spot.left}px`;
  panel.style.width = `${spot.width}px`;
}

/** Close the panel with its button or Escape, and return the focus to the box. */
export function listen_to_panel(close) {
  const shut = () => {
    const name = document.querySelector("[data-box][aria-expanded=true]")?.dataset.box;
    close();
    document.querySelector(`[data-box="${name}"]`)?.focus();
  };
  by_id("panel-close").addEventListener("click", shut);
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape" && !by_id("panel").hidden) shut();
  });
}

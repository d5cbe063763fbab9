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

/**
 * Close the panel by `close`, and return the focus to a button of its box that can be seen; return
 * whether it could be closed: it is all that a page shows that has one box embedded.
 */
export function close_panel(close) {
  if (by_id("panel").hidden || document.body.classList.contains("embed-box")) return false;
  const buttons = [...document.querySelectorAll("[data-box][aria-expanded=true]")];
  close();
  buttons.find(({ offsetParent }) => offsetParent !== null)?.focus();
  return true;
}

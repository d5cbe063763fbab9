// The panel of an opened box: right of the drawing, which makes room for it, or, where there is too
// little, below.

import { by_id } from "./dom.js";
import { panel_width, width_beside } from "./placement.js";

let room = 0; // the width of drawing and panel, as it was seen last; 0 where it is not known

/** Call `on_change` whenever the width of drawing and panel has changed. */
export function listen_to_room(on_change) {
  const observer = new ResizeObserver(([{ contentRect }]) => {
    const width = Math.round(contentRect.width);
    if (width === room) return;
    room = width;
    requestAnimationFrame(on_change);
  });
  observer.observe(by_id("stage"));
}

/**
 * Mark the opened box's buttons, and show its panel; null closes it.
 * @returns {number} The width that is left for the drawing.
 */
export function place_panel(opened) {
  const stage = by_id("stage");
  // To ask for the width makes the browser lay out the page.
  if (room === 0) room = stage.clientWidth;
  for (const button of document.querySelectorAll("[data-box]")) {
    const expanded = String(button.dataset.box === opened);
    if (button.getAttribute("aria-expanded") !== expanded) button.setAttribute("aria-expanded", expanded);
  }
  const width = opened === null ? 0 : panel_width(room);
  by_id("panel").hidden = opened === null;
  stage.classList.toggle("docked", width > 0);
  stage.style.setProperty("--panel", `${width}px`);
  return width_beside(room, width);
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

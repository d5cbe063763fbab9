// Where floating things stand: beside what they belong to, inside the window. Lengths are in pixels.

const GAP = 12;
const PANEL_SHARE = 0.34; // of the room
const [LEAST_PANEL, WIDEST_PANEL] = [360, 560];
const LEAST_DRAWING = 835; // in which every box's name can still be read

/**
 * Return the width of a panel that stands right of the drawing, which makes room for it, so that no box
 * is covered; 0 where there is not room enough, and the panel stands below.
 * @param {number} room The width of both.
 */
export function panel_width(room) {
  const width = Math.round(Math.min(room * PANEL_SHARE, WIDEST_PANEL, room - GAP - LEAST_DRAWING));
  return width >= LEAST_PANEL ? width : 0;
}

/** Return the width that is left for the drawing beside a panel. */
export const width_beside = (room, panel) => (panel === 0 ? room : room - panel - GAP);

/**
 * Return the left and top edge of a card beside a target: right of it, left, below or above, where it
 * hides nothing of it; else in the window's corner that hides least.
 * @param {{left: number, top: number, right: number, bottom: number}} target
 * @param {{width: number, height: number}} card
 * @param {{width: number, height: number}} room The window.
 */
export function place_card(target, card, room) {
  const within = (at, size, most) => Math.max(GAP, Math.min(at, most - size - GAP));
  const level = within(target.top, card.height, room.height);
  const along = within(target.left, card.width, room.width);
  // A target that has been scrolled out of the window takes no card with it.
  const below = within(target.bottom + GAP, card.height, room.height);
  const above = within(target.top - GAP - card.height, card.height, room.height);
  if (target.right + GAP + card.width + GAP <= room.width) return { left: target.right + GAP, top: level };
  if (target.left - GAP - card.width >= GAP) return { left: target.left - GAP - card.width, top: level };
  if (target.bottom + GAP + card.height + GAP <= room.height) return { left: along, top: below };
  if (target.top - GAP - card.height >= GAP) return { left: along, top: above };
  return { left: room.width - card.width - GAP, top: room.height - card.height - GAP };
}

/** Return whether a card with its corner at `spot` covers a part of an element. */
export const overlap = ({ left, top, right, bottom }, spot, { width, height }) =>
  left < spot.left + width && right > spot.left && top < spot.top + height && bottom > spot.top;

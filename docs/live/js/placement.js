// Where floating things stand: beside what they belong to, inside the window. Lengths are in pixels.

const GAP = 12;
const WIDEST_PANEL = 560;
const LEAST_PANEL = 440; // that is enough on the right, where a sentence flows to

/**
 * Return the left edge and the width of a panel beside a box, right of it where there is room enough,
 * else on the side that has more.
 * @param {number} left Of the box, within the room.
 * @param {number} width Of the box.
 * @param {number} room The whole width.
 */
export function place_beside(left, width, room) {
  const before = left - GAP;
  const after = room - left - width - GAP;
  const is_right = after >= LEAST_PANEL || after >= before;
  const wide = Math.min(is_right ? after : before, WIDEST_PANEL);
  return is_right
    ? { left: left + width + GAP, width: wide }
    : { left: left - GAP - wide, width: wide };
}

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
  if (target.right + GAP + card.width + GAP <= room.width) return { left: target.right + GAP, top: level };
  if (target.left - GAP - card.width >= GAP) return { left: target.left - GAP - card.width, top: level };
  if (target.bottom + GAP + card.height + GAP <= room.height) return { left: along, top: target.bottom + GAP };
  if (target.top - GAP - card.height >= GAP) return { left: along, top: target.top - GAP - card.height };
  return { left: room.width - card.width - GAP, top: room.height - card.height - GAP };
}

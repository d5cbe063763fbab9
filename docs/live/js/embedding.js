// A page within a page: without its furniture, or one box alone; where a link opens none, those there are.

import { BOXES } from "./boxes.js";
import { by_id, make } from "./dom.js";

/**
 * Show as much of the page as its frame asks for.
 * @param {?string} embedded What the address says of `embed`: null, "", or "box".
 * @param {function(function(object))} on_drawn Takes a function to call with what the page shows.
 */
export function set_up_embedding(embedded, on_drawn) {
  document.body.classList.toggle("embed", embedded !== null);
  document.body.classList.toggle("embed-box", embedded === "box");
  if (embedded !== "box") return;
  const links = Object.entries(BOXES).flatMap(([box, about], i) => {
    const hash = new URLSearchParams({ ...Object.fromEntries(new URLSearchParams(location.hash.slice(1))), box });
    return [i ? ", " : "", make("a", { href: `?embed=box#${hash}` }, name_of(about))];
  });
  by_id("embeddable").replaceChildren("This link opens no box. It can open one of these: ", ...links, ".");
  on_drawn(({ box }) => (by_id("embeddable").hidden = box !== null));
}

/** Return a name that no other box has. */
function name_of({ name, stack, frame }) {
  const what = frame ? `${name} of ${BOXES[frame].name.toLowerCase()}` : name;
  return `${what} (${stack})`;
}

// A vector as a strip of colours, one for each number: blue below 0, orange above.

import { make, two_decimals } from "./dom.js";

const BELOW = [0, 114, 178];
const ABOVE = [213, 94, 0];

/**
 * Return a drawing of a vector.
 * @param {string} name What it is.
 * @param {Float32Array} values
 */
export function draw_strip(name, values) {
  const said = summary(values);
  const told = make("span", { className: "small told" }, said);
  const band = make("div", { className: "band", role: "img", "aria-label": `${name}: ${said}` });
  band.style.backgroundImage = gradient_of(values);
  band.values = values; // others, once `update_children` has changed the strip
  band.addEventListener("pointermove", ({ offsetX }) => {
    const { values } = band;
    const i = Math.min(Math.floor((offsetX / band.clientWidth) * values.length), values.length - 1);
    told.textContent = `number ${i}: ${two_decimals(values[i])}`;
  });
  band.addEventListener("pointerleave", () => (told.textContent = summary(band.values)));
  return make("div", { className: "strip" }, make("span", { className: "small" }, name), told, band);
}

/** Return a gradient without transitions: a colour for each number. It costs less than a canvas. */
function gradient_of(values) {
  const most = largest_magnitude(values) || 1;
  const stops = Array.from(values, (value, i) => {
    return `rgb(${signed_colour(value / most).join(" ")}) 0 ${((i + 1) / values.length) * 100}%`;
  });
  return `linear-gradient(90deg, ${stops.join(", ")})`;
}

/** Return the colour of a number from -1 to 1, as [red, green, blue]. */
export function signed_colour(share) {
  const full = share < 0 ? BELOW : ABOVE;
  return full.map((part) => Math.round(255 + Math.abs(share) * (part - 255)));
}

/** Return in words how many numbers there are, and how they begin. */
function summary(values) {
  const first = [...values.slice(0, 3)].map(two_decimals).join(", ");
  return `${values.length} numbers, none beyond ±${two_decimals(largest_magnitude(values))}: ${first}, …`;
}

export const largest_magnitude = (values) => values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);

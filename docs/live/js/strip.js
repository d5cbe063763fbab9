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
  const most = Math.max(...values.map(Math.abs)) || 1;
  const canvas = make("canvas", { width: values.length, height: 1 });
  const context = canvas.getContext("2d");
  const image = context.createImageData(values.length, 1);
  values.forEach((value, i) => {
    const share = Math.abs(value) / most;
    const full = value < 0 ? BELOW : ABOVE;
    image.data.set([...full.map((part) => 255 + share * (part - 255)), 255], 4 * i);
  });
  context.putImageData(image, 0, 0);
  const told = make("span", { className: "small told" }, summary(values, most));
  canvas.addEventListener("pointermove", ({ offsetX }) => {
    const i = Math.min(Math.floor((offsetX / canvas.clientWidth) * values.length), values.length - 1);
    told.textContent = `number ${i}: ${two_decimals(values[i])}`;
  });
  canvas.addEventListener("pointerleave", () => (told.textContent = summary(values, most)));
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${name}: ${summary(values, most)}`);
  return make("div", { className: "strip" }, make("span", { className: "small" }, name), told, canvas);
}

/** Return in words how many numbers there are, and how they begin. */
function summary(values, most) {
  const first = [...values.slice(0, 3)].map(two_decimals).join(", ");
  return `${values.length} numbers, none beyond ±${two_decimals(most)}: ${first}, …`;
}

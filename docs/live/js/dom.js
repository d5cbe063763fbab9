// Small helpers for the page's elements.

import { isolate_bytes } from "./languages.js";

/** Return the element with this id. */
export const by_id = (id) => document.getElementById(id);

/**
 * Return a new element.
 * @param {string} tag
 * @param {object} properties Of the element, and "aria-...", "data-..." and the like as attributes.
 * @param {...(Node|string)} inside What stands in it.
 */
export function make(tag, properties = {}, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (/^(aria|data)-|^(role|for|scope|lang|dir)$/.test(name)) element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...inside);
  return element;
}

/** Return a new element of a drawing, with these attributes. */
export function make_svg(tag, attributes = {}, ...inside) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...inside);
  return element;
}

/**
 * Give an element these children. A child that is there is changed in place where it is of the same
 * kind, which costs a browser less than a new one: it keeps its listeners, and what is no attribute
 * (such as what is checked) except for `values`.
 * @param {Element} place
 * @param {Node[]} wanted Made by the same function as those that are there.
 */
export function update_children(place, wanted) {
  const there = [...place.childNodes];
  wanted.forEach((node, i) => {
    const old = there[i];
    if (old === undefined) place.append(node);
    else if (old.nodeName !== node.nodeName) old.replaceWith(node);
    else if (old.nodeType !== Node.TEXT_NODE) update_element(old, node);
    else if (old.data !== node.data) old.data = node.data;
  });
  for (const node of there.slice(wanted.length)) node.remove();
}

/** Give an element the attributes, the style, the `values` and the children of another. */
function update_element(old, wanted) {
  for (const name of old.getAttributeNames()) if (!wanted.hasAttribute(name)) old.removeAttribute(name);
  for (const name of wanted.getAttributeNames()) {
    const value = wanted.getAttribute(name);
    if (old.getAttribute(name) === value) continue;
    // The page's policy forbids to set a style by its attribute.
    if (name === "style") old.style.cssText = value;
    else old.setAttribute(name, value);
  }
  if (wanted.values) old.values = wanted.values;
  update_children(old, [...wanted.childNodes]);
}

/** Say something in an element that a screen reader follows, unless it says so already. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Fill a fieldset with radio buttons that look like one bar; legend and focus stay.
 * @param {HTMLElement} fieldset
 * @param {[string, string|Node][]} choices Value and label of each.
 * @param {string} chosen The value to begin with.
 * @param {function(string)} on_choice
 */
export function fill_radios(fieldset, choices, chosen, on_choice) {
  const labels = choices.map(([value, text]) => {
    const input = make("input", { type: "radio", name: fieldset.id, value, checked: value === chosen });
    input.addEventListener("change", () => on_choice(value));
    return make("label", {}, input, make("span", {}, text));
  });
  refill(fieldset, make("div", {}, ...labels));
}

/** Put other radio buttons below a fieldset's legend; the chosen one has the focus if one had it. */
export function refill(fieldset, ...rows) {
  const focused = fieldset.contains(document.activeElement);
  fieldset.replaceChildren(fieldset.querySelector("legend"), ...rows);
  if (focused) fieldset.querySelector(":checked").focus();
}

/** Return a token for a reader: its blank is a blank again, bytes beside a word stay in order. */
export const readable = (token) => isolate_bytes(token.replaceAll("▁", " ").trim()) || "blank";

/** Return a number with two decimals; none is -0.00. */
export const two_decimals = (value) => value.toFixed(2).replace(/^-(0\.00)$/, "$1");

/** Return a probability in letters, a small one as such, not as 0. */
export const chance_text = (chance) =>
  chance > 0 && chance < 0.005 ? "< 0.01" : two_decimals(chance);

/** Return a bar as long as a probability. */
export function draw_bar(chance) {
  const bar = make("span", { className: "bar" });
  bar.style.setProperty("--share", chance);
  return bar;
}

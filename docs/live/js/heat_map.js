// A table of attention weights: coloured cells, walked through with the arrow keys.

import { make, readable, two_decimals } from "./dom.js";
import { isolate } from "./languages.js";

// Viridis at nine places from 0 to 1; between them colours are mixed.
const VIRIDIS = [
  [68, 1, 84],
  [72, 40, 120],
  [62, 74, 137],
  [49, 104, 142],
  [38, 130, 142],
  [31, 158, 137],
  [109, 205, 89],
  [180, 222, 44],
  [253, 231, 37],
];
const MAX_TOKENS = 64; // tokens of either side that are drawn

/** Return the colour of a weight, 0 to 1, as [red, green, blue]. */
export function viridis(weight) {
  const place = Math.min(Math.max(weight, 0), 1) * (VIRIDIS.length - 1);
  const left = Math.min(Math.floor(place), VIRIDIS.length - 2);
  return VIRIDIS[left].map((low, i) =>
    Math.round(low + (place - left) * (VIRIDIS[left + 1][i] - low)),
  );
}

/** Paint a matrix into a canvas, one pixel a value; `colour_of` returns a value's [red, green, blue]. */
export function paint(canvas, { rows, cols, data }, colour_of) {
  Object.assign(canvas, { width: cols, height: rows });
  const context = canvas.getContext("2d");
  const image = context.createImageData(cols, rows);
  data.forEach((value, i) => image.data.set([...colour_of(value), 255], 4 * i));
  context.putImageData(image, 0, 0);
}

/** Return a drawing of a map without words, one pixel a weight. */
export function draw_small(weights) {
  const canvas = make("canvas");
  paint(canvas, weights, viridis);
  return canvas;
}

/**
 * Draw a map into an element.
 * @param {HTMLElement} place
 * @param {object} map The weights (rows, cols, data), the tokens of rows and columns and their
 *   places, [side, number]; the set of `hidden` columns; the sides' `langs`; and
 *   a caption.
 * @param {HTMLElement} readout Where the weight under the pointer or the keys is told.
 */
export function draw_map(place, map, readout) {
  const { weights, row_tokens, col_tokens, row_places, col_places, hidden, caption, langs } = map;
  const token_at = ([side, at]) => ({ "data-side": side, "data-at": at, lang: langs[side] });
  const rows = row_tokens.slice(0, MAX_TOKENS);
  const cols = col_tokens.slice(0, MAX_TOKENS);
  const value = (i, j) => weights.data[i * weights.cols + j];
  const heads = cols.map((token, j) => {
    const name = make("span", {}, readable(token));
    const className = hidden.has(j) ? "hidden-token" : "";
    return make("th", { scope: "col", className, ...token_at(col_places[j]) }, name);
  });
  const body = rows.map((token, i) => {
    const cells = cols.map((_, j) => {
      const cell = make("td", { tabIndex: i + j === 0 ? 0 : -1 });
      cell.style.background = `rgb(${viridis(value(i, j)).join(" ")})`;
      cell.append(make("span", { className: "sr" }, two_decimals(value(i, j))));
      return cell;
    });
    const head = make("th", { scope: "row", ...token_at(row_places[i]) }, readable(token));
    return make("tr", {}, head, ...cells);
  });
  const table = make(
    "table",
    { className: "map", role: "grid" },
    make("caption", { className: "sr" }, caption),
    make("thead", {}, make("tr", {}, make("td", {}), ...heads)),
    make("tbody", {}, ...body),
  );
  place.replaceChildren(table);
  if (Math.max(row_tokens.length, col_tokens.length) > MAX_TOKENS) {
    place.append(make("p", { className: "small" }, `The first ${MAX_TOKENS} tokens of either side.`));
  }
  walk(table, (i, j) => {
    const [from, to] = [row_tokens[i], col_tokens[j]].map((token) => isolate(readable(token)));
    readout.textContent = `${from} attends to ${to}: ${two_decimals(value(i, j))}`;
  });
}

/** Mark the row of a map that is looked at now. */
export function mark_row(place, current) {
  place.querySelector("tr.current")?.classList.remove("current");
  place.querySelector("tbody").rows[current]?.classList.add("current");
}

/** Let pointer and arrow keys choose a cell, and tell which. */
function walk(table, tell) {
  const rows = [...table.tBodies[0].rows].map((row) => [...row.cells].slice(1));
  const choose = chooser_of(table, rows, tell);
  const place_of = (cell) => {
    const i = rows.findIndex((row) => row.includes(cell));
    return i < 0 ? null : [i, rows[i].indexOf(cell)];
  };
  for (const event of ["pointerover", "focusin", "click"]) {
    table.addEventListener(event, ({ target }) => {
      const place = place_of(target.closest("td"));
      if (place !== null) choose(...place);
    });
  }
  table.addEventListener("keydown", (event) => {
    const place = place_of(event.target);
    const next = place && step_from(place, event.key, rows.length, rows[0].length);
    if (!next) return;
    event.preventDefault();
    rows[next[0]][next[1]].focus();
  });
}

/** Return a function that marks a cell and its titles, makes it the one that Tab reaches, and tells it. */
function chooser_of(table, rows, tell) {
  const col_heads = [...table.tHead.rows[0].cells].slice(1);
  let [reached, marked] = [rows[0][0], []];
  return (i, j) => {
    for (const cell of marked) cell.classList.remove("chosen");
    marked = [rows[i][j], col_heads[j], rows[i][j].parentElement.cells[0]];
    for (const cell of marked) cell.classList.add("chosen");
    reached.tabIndex = -1;
    reached = rows[i][j];
    reached.tabIndex = 0;
    tell(i, j);
  };
}

/** Return the place, inside the table, to which a key leads from a place; null where it leads nowhere. */
export function step_from([i, j], key, num_rows, num_cols) {
  const next = {
    ArrowUp: [i - 1, j],
    ArrowDown: [i + 1, j],
    ArrowLeft: [i, j - 1],
    ArrowRight: [i, j + 1],
    Home: [i, 0],
    End: [i, num_cols - 1],
  }[key];
  if (next === undefined) return null;
  const within = (at, size) => Math.min(Math.max(at, 0), size - 1);
  return [within(next[0], num_rows), within(next[1], num_cols)];
}

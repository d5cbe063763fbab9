// The section "Take something away": tokens to hide, heads removed, and what that changes.

import { by_id, chance_text, draw_bar, fill_radios, make, readable } from "./dom.js";
import { head_name } from "./heads_view.js";

const MODES = [
  ["after", "from the decoder only"],
  ["before", "from the encoder too"],
];
const HIDDEN = { after: "hidden from the decoder", before: "hidden from encoder and decoder" };

/**
 * Draw the section.
 * @param {object} state cuts; mode, "before" or "after".
 * @param {object} result The worker's: whole and cut.
 * @param {object} act choose_mode, toggle_place, toggle_head: what the controls do.
 */
export function draw_cuts(state, result, act) {
  const { whole, cut } = result;
  fill_radios(by_id("mode-picker"), MODES, state.mode, act.choose_mode);
  draw_places(state, whole.src_tokens, act);
  const removed = state.cuts.removed.map((head) => {
    const name = head_name(head);
    const button = make("button", { type: "button", "aria-label": `Put back ${name}` }, `${name} ×`);
    button.addEventListener("click", () => act.toggle_head(head));
    return button;
  });
  by_id("removed").replaceChildren(...(removed.length ? removed : ["none; an attention's box, above, removes them."]));
  by_id("put-back").disabled = cut === null;
  by_id("whole").textContent = whole.translation;
  if (cut === null) by_id("cut").replaceChildren(in_english("Nothing is taken away yet."));
  else mark_changes(by_id("cut"), whole.translation, cut.translation);
  draw_chances(whole, cut);
}

/** Draw the source's tokens as buttons, and keep the focus. */
function draw_places({ cuts }, tokens, act) {
  const place = by_id("places");
  const focused = [...place.children].indexOf(document.activeElement);
  const open = tokens.length - cuts.before.length - cuts.after.length;
  const buttons = tokens.map((token, i) => {
    const how = ["before", "after"].find((mode) => cuts[mode].includes(i));
    const button = make(
      "button",
      { type: "button", className: how ?? "", "data-side": "src", "data-at": i },
      readable(token),
    );
    button.setAttribute("aria-pressed", String(how !== undefined));
    if (how === undefined && open === 1) {
      button.disabled = true; // at least one place must be attended to
      button.title = "One token must stay";
    }
    if (how !== undefined) {
      button.title = HIDDEN[how];
      button.append(make("span", { className: "sr" }, `, ${HIDDEN[how]}`));
    }
    button.addEventListener("click", () => act.toggle_place(i));
    return button;
  });
  place.replaceChildren(...buttons);
  if (focused >= 0) buttons[Math.min(focused, buttons.length - 1)].focus();
}

/** Return words of the page's own, to stand where a translation would. */
const in_english = (text, className = "") => make("span", { lang: "en", dir: "ltr", className }, text);

/** Write a translation, and mark the words that the other lacks in these places. */
function mark_changes(place, before, after) {
  if (before === after) {
    place.replaceChildren(after, " ", in_english("(unchanged)", "small"));
    return;
  }
  const kept = common_words(before.split(" "), after.split(" "));
  const words = after.split(" ").flatMap((word, i) => {
    const shown = kept.has(i) ? word : make("mark", {}, word);
    return i === 0 ? [shown] : [" ", shown];
  });
  place.replaceChildren(...(after === "" ? [in_english("(nothing)")] : words));
}

/** Return the places in `after` of a longest common subsequence with `before`. */
function common_words(before, after) {
  const longest = Array.from({ length: before.length + 1 }, () =>
    new Array(after.length + 1).fill(0),
  );
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      longest[i][j] =
        before[i] === after[j]
          ? longest[i + 1][j + 1] + 1
          : Math.max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  const kept = new Set();
  for (let [i, j] = [0, 0]; i < before.length && j < after.length; ) {
    if (before[i] === after[j]) {
      kept.add(j);
      i++;
      j++;
    } else if (longest[i + 1][j] >= longest[i][j + 1]) i++;
    else j++;
  }
  return kept;
}

/** Draw the probability of each token of the whole model's translation, whole and cut. */
function draw_chances(whole, cut) {
  const bar = (chance) => make("td", {}, draw_bar(chance), chance_text(chance));
  const rows = whole.tgt_tokens.map((token, t) => {
    const cells = [bar(whole.probabilities[t])];
    if (cut !== null) cells.push(bar(cut.probabilities[t]));
    return make("tr", {}, make("th", { scope: "row" }, readable(token)), ...cells);
  });
  const titles = ["Token", "whole", ...(cut === null ? [] : ["cut"])];
  const heads = titles.map((title) => make("th", { scope: "col" }, title));
  const caption = "Probability of each token of the whole translation";
  by_id("chances").replaceChildren(
    make(
      "table",
      { className: "chances" },
      make("caption", {}, caption),
      make("thead", {}, make("tr", {}, ...heads)),
      make("tbody", {}, ...rows),
    ),
  );
}

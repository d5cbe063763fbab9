// A link to what is shown, into the clipboard: where the browser has no clipboard for the page (plain
// http, frames) by a selected text, and where that fails too, to be copied by hand.

import { by_id, make, say } from "./dom.js";
import { describe_left_out } from "./permalink.js";

/** Copy the page's address, and say whether it was, and what of the cuts it leaves out. */
export async function copy_link(cuts) {
  const link = location.href;
  const asked = navigator.clipboard?.writeText(link).then(() => true, () => false);
  const copied = (await asked) || copy_selected(link);
  say(by_id("copied"), `${copied ? "Copied." : "Copy it from here:"} ${describe_left_out(cuts)}`.trim());
  by_id("link").hidden = copied;
  if (copied) return;
  by_id("link").value = link;
  by_id("link").select();
}

/** Copy a text by selecting it; return whether the browser did. */
function copy_selected(text) {
  const focused = document.activeElement;
  const field = make("textarea", { value: text, readOnly: true, className: "sr", "aria-hidden": "true" });
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  focused?.focus();
  return copied;
}

// The languages of models: their names, and how their text is marked for browsers.

// Scripts that are written from right to left (ISO 15924).
const RIGHT_TO_LEFT = new Set([
  ...["Adlm", "Arab", "Aran", "Hebr", "Mand", "Mend", "Nkoo", "Rohg", "Samr", "Syrc", "Thaa", "Yezi"],
]);
const ENGLISH_NAMES = new Intl.DisplayNames(["en"], { type: "language" }); // a new one for each name takes milliseconds
const MODIFIERS = { latin: "Latn", cyrillic: "Cyrl", devanagari: "Deva" }; // of gettext: sr@latin
const RIGHT_TO_LEFT_LETTER = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Nko}\p{Script=Syriac}\p{Script=Thaana}]/u;

/** Return a language's tag for browsers (BCP 47), of a code as "zh_CN" or "sr_latin"; "und" of none. */
export function language_tag(code) {
  const [language, ...rest] = String(code).split(/[_@-]/);
  const parts = rest.map((part) => MODIFIERS[part.toLowerCase()] ?? part);
  const is_script = (part) => /^\p{L}{4}$/u.test(part);
  const tag = [language, ...parts.filter(is_script), ...parts.filter((part) => !is_script(part))];
  try {
    return Intl.getCanonicalLocales(tag.join("-"))[0];
  } catch {
    return "und"; // it is no tag; a browser then goes by the letters
  }
}

/** Return a language's English name, or its code where browsers know none. */
export function language_name(code) {
  const tag = language_tag(code);
  if (tag === "und") return String(code);
  const name = ENGLISH_NAMES.of(tag);
  return name === tag ? String(code) : name;
}

/** Return the direction in which a language is written; "auto", by the letters, of one unknown. */
export function language_direction(code) {
  const tag = language_tag(code);
  const { script } = tag === "und" ? {} : new Intl.Locale(tag).maximize();
  if (script === undefined) return "auto";
  return RIGHT_TO_LEFT.has(script) ? "rtl" : "ltr";
}

/** Mark an element as written in a language. */
export function mark_language(element, code) {
  element.lang = language_tag(code);
  element.dir = language_direction(code);
}

/** Return a token that may stand amid English: one from right to left does not turn what follows. */
export function isolate(text) {
  return RIGHT_TO_LEFT_LETTER.test(text) ? `\u2068${text}\u2069` : text;
}

/** Return a token whose bytes, "<0xD7>", a neighbouring letter from right to left does not turn. */
export function isolate_bytes(token) {
  if (!RIGHT_TO_LEFT_LETTER.test(token)) return token;
  return token.replace(/(?:<0x[0-9A-F]{2}>)+/g, (bytes) => `\u2066${bytes}\u2069`);
}

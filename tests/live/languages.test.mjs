// Names, tags and directions of languages, those that nobody listed too: node --test FILE

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  isolate,
  language_direction,
  language_name,
  language_tag,
} from "../../docs/live/js/languages.js";

test("a code as gettext writes it is a tag for browsers; one that is none is undetermined", () => {
  const tags = { en: "en", zh_CN: "zh-CN", sr_latin: "sr-Latn", "sr@latin": "sr-Latn", pt_BR: "pt-BR" };
  for (const [code, tag] of Object.entries({ ...tags, zh_Hant_TW: "zh-Hant-TW", uz_UZ_cyrillic: "uz-Cyrl-UZ" })) {
    assert.equal(language_tag(code), tag);
  }
  for (const code of ["", "a language", "x", "<b>", undefined]) assert.equal(language_tag(code), "und");
});

test("direction goes by the script in which a language is usually written, or the code's own", () => {
  for (const code of ["ar", "he", "fa", "ur", "yi", "dv", "ps", "ckb", "az_Arab", "ks"]) {
    assert.equal(language_direction(code), "rtl", code);
  }
  for (const code of ["en", "ja", "uk", "zh_TW", "az", "ks_Deva", "sr_latin", "ha"]) {
    assert.equal(language_direction(code), "ltr", code);
  }
  for (const code of ["", "?"]) assert.equal(language_direction(code), "auto", code);
});

test("a language has its English name, an unknown one its code", () => {
  const names = { uk: "Ukrainian", eu: "Basque", he: "Hebrew", xq: "xq", "not a code": "not a code" };
  for (const [code, name] of Object.entries(names)) assert.equal(language_name(code), name);
});

test("a word from right to left is isolated, others stay as they are", () => {
  assert.equal(isolate("cat"), "cat");
  assert.equal(isolate("猫"), "猫");
  for (const word of ["חתול", "قط"]) assert.equal(isolate(word), `\u2068${word}\u2069`);
});

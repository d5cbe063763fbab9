// The models that the page offers, and what they were trained on.

const DEMO =
  "It was trained on 20,000 sentences that a grammar generated about a small world: family, animals, " +
  "food, things in a house, jobs, colours, days. Ours, CC BY 4.0.";
const CAPTIONS =
  "It was trained on 29,000 photo captions, Multi30k. Their terms, and so those of these weights, " +
  "are Flickr30K's: non-commercial research and education.";

export const CODES = { English: "en", French: "fr", German: "de" }; // of languages, in a recipe

export const MODELS = {
  "demo-en-fr": {
    languages: ["English", "French"],
    group: "A small world",
    about: DEMO,
    samples: [
      "The small cat is sleeping in the garden.",
      "My brother is not working today.",
      "Where did the children find the ball?",
      "The old woman is reading a book.",
    ],
  },
  "demo-fr-en": {
    languages: ["French", "English"],
    group: "A small world",
    about: DEMO,
    samples: [
      "Le chat noir ne dort pas dans le jardin.",
      "La vieille femme lit un livre.",
      "Ma grand-mère est forte.",
      "Où est-ce que les enfants ont trouvé le ballon ?",
    ],
  },
  "de-en": {
    languages: ["German", "English"],
    group: "Photo captions (Multi30k: non-commercial)",
    about: CAPTIONS,
    samples: [
      "Zwei Frauen in roten Jacken sitzen auf einer Bank.",
      "Ein Mann mit Hut spielt auf der Straße Gitarre.",
      "Ein Hund springt über einen Zaun.",
    ],
  },
  "fr-en": {
    languages: ["French", "English"],
    group: "Photo captions (Multi30k: non-commercial)",
    about: CAPTIONS,
    samples: [
      "Deux femmes en vestes rouges sont assises sur un banc.",
      "Un chien saute par-dessus une clôture.",
      "Un homme joue de la guitare dans la rue.",
    ],
  },
  "en-fr": {
    languages: ["English", "French"],
    group: "Photo captions (Multi30k: non-commercial)",
    about: CAPTIONS,
    samples: [
      "Two women in red jackets are sitting on a bench.",
      "A dog is jumping over a fence.",
      "A man is playing the guitar on the street.",
    ],
  },
};

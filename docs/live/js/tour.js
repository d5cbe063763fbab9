// The guided tour: eight stops, each with something to see and one thing to do. A test translates
// each, and holds it to what `says`, `looks` and `first` (the probability of the first token with
// the `cuts`) tell here.
//
// `target` is what a stop outlines. `deeds` do its task: changes of the state, one after the other.
// `is_done` tells from the trail whether the task is done: what the page has shown since the stop
// began, the latest last (see `seen_now` in drawing.js).

const CAT = "The small cat is sleeping in the garden.";
const SALESWOMAN = "The clever saleswoman is reading an interesting novel.";
const BLACK_DOG = "The black dog is not sleeping.";
const LA_VENDEUSE = "La vendeuse intelligente lit un roman intéressant.";

const HIDDEN_BUT_THE = [1, 2, 3, 4, 5, 6, 7, 8, 9]; // places of SALESWOMAN

/** Return whether a head has this layer and number. */
const is_head = ({ layer, head }, its_layer, number) => layer === its_layer && head === number;

/** Return whether two lists of places are the same, in whatever order. */
const same_places = (a, b) => a.length === b.length && a.every((place) => b.includes(place));

/** Return the step, from 1, at which the second best hypothesis parts from the best; null where there is one. */
export function parting_step([best, second]) {
  if (second === undefined) return null;
  let same = 0; // tokens that both begin with; the shorter one's next is its end
  while (same < best.length && best[same] === second[same]) same += 1;
  return same + 1;
}

export const STOPS = [
  {
    model: "demo-en-fr",
    title: "Words become numbers",
    box: "source",
    see: "Each token brings its own row of numbers, and the encoding of its position is added.",
    todo: "Press “the” and then “The” in the source: two tokens at two positions, and two different rows.",
    sentence: CAT,
    says: "Le petit chat dort dans le jardin.",
    target: "#panel",
    deeds: [{ src_at: 6 }, { src_at: 0 }],
    is_done: (trail) => trail.some(({ src_at }) => src_at === 6) && trail.at(-1).src_at === 0,
  },
  {
    model: "demo-en-fr",
    title: "Words read each other",
    box: "encoder",
    see: "In this head each article looks at its noun: The at cat, the at garden.",
    todo: "Choose another head by its small map: most do something else, and many nothing that has a name.",
    sentence: CAT,
    says: "Le petit chat dort dans le jardin.",
    head: { stack: "encoder", layer: 2, head: 3 },
    looks: [
      ["▁The", "▁cat"],
      ["▁the", "▁garden"],
    ],
    target: "#panel",
    deeds: [{ head: { stack: "encoder", layer: 1, head: 2 } }, { head: { stack: "encoder", layer: 2, head: 1 } }],
    is_done: (trail) => trail.some(({ head }) => !is_head(head, 2, 3)),
  },
  {
    model: "demo-en-fr",
    title: "Nothing looks ahead",
    box: "decoder",
    see: "Right of the diagonal every weight is 0: the mask. This head looks at the token just written.",
    todo: "Press Play: the translation is written token by token, and each row reads one place more.",
    sentence: CAT,
    says: "Le petit chat dort dans le jardin.",
    head: { stack: "decoder", layer: 1, head: 1 },
    looks: [["▁chat", "▁petit"]],
    target: "#panel",
    deeds: [{ plays: true }],
    is_done: (trail) => trail.some(({ step }) => step === 1) && trail.at(-1).step === trail.at(-1).tgt_len,
  },
  {
    model: "demo-en-fr",
    title: "Nobody wrote this dictionary",
    box: "cross",
    see: "The bright squares pair French with English, and cross where the order differs: noir goes back to black.",
    todo: "Type “The black dog is not sleeping.”: in head 2.2, both ne and pas go back to not.",
    sentence: "The black cat is sleeping in the garden.",
    says: "Le chat noir dort dans le jardin.",
    head: { stack: "cross", layer: 2, head: 1 },
    looks: [
      ["▁noir", "▁black"],
      ["▁chat", "▁cat"],
    ],
    target: "#panel",
    deeds: [{ sentence: BLACK_DOG }, { head: { stack: "cross", layer: 2, head: 2 } }],
    is_done: (trail) => trail.at(-1).sentence === BLACK_DOG && is_head(trail.at(-1).head, 2, 2),
  },
  {
    model: "demo-en-fr",
    title: "A map is a question",
    box: "cross",
    see: "Before it writes “La”, this head looks straight at saleswoman. Does the gender come from there? Here the noun is hidden from the decoder: La stays, with 0.70.",
    todo: "Hide all of the sentence but “The” from the decoder: La still has 0.90.",
    sentence: SALESWOMAN,
    says: LA_VENDEUSE,
    head: { stack: "cross", layer: 2, head: 3 },
    looks: [["▁La", "▁saleswoman"]],
    step: 1,
    cuts: { after: [2] },
    first: 0.7,
    target: "#cutting",
    deeds: [{ cuts: { before: [], after: HIDDEN_BUT_THE, removed: [] } }],
    is_done: (trail) => same_places(trail.at(-1).cuts.after, HIDDEN_BUT_THE),
  },
  {
    model: "demo-en-fr",
    title: "The answer is a cut",
    box: "encoder",
    see: "Hidden from the encoder too, the noun takes the gender with it: La has 0.15 left, and the model says Le. So it was the encoder that moved it to the article.",
    todo: "The control: put the noun back, and hide “novel” in the same way. La stays at 1.00.",
    sentence: SALESWOMAN,
    says: LA_VENDEUSE,
    head: { stack: "encoder", layer: 2, head: 3 },
    cuts: { before: [2] },
    first: 0.15,
    target: "#cutting",
    deeds: [{ cuts: { before: [], after: [], removed: [] } }, { cuts: { before: [7], after: [], removed: [] } }],
    is_done: (trail) => same_places(trail.at(-1).cuts.before, [7]),
  },
  {
    model: "demo-en-fr",
    title: "The next token",
    box: null,
    see: "One probability for each token of the vocabulary. Greedy search takes the longest bar, and a draw may take another.",
    todo: "Choose “draw”: this model is so sure that at top-p 0.9 it repeats itself. Set the temperature to 2 and top-p to 1, and draw again.",
    sentence: SALESWOMAN,
    says: LA_VENDEUSE,
    step: 2,
    target: "#options .pop",
    deeds: [
      { options: { search: "draw", temperature: 2, top_p: 1, seed: 1 } },
      { options: { seed: 2 } },
      { options: { seed: 3 } },
    ],
    is_done: (trail) => {
      const drawn = trail.filter(({ options }) => options.search === "draw");
      return new Set(drawn.map(({ translation }) => translation)).size > 1;
    },
  },
  {
    model: "de-en",
    title: "Several at once",
    box: "output",
    see: "A model trained on 29,000 captions. The beam keeps four prefixes; one that is dropped never comes back.",
    todo: "Step through the search, and find the step at which the second best sentence parts from the best.",
    sentence: "Zwei Frauen in roten Jacken sitzen auf einer Bank.",
    says: "Two women in red jackets are sitting on a bench.",
    step: 3,
    target: "#panel",
    deeds: [{ step: 5 }, { step: 6 }],
    is_done: (trail) => trail.length > 1 && trail.at(-1).step === parting_step(trail.at(-1).hypotheses),
  },
];

// The guided tour: eight stops, each with something to see and one thing to do. A test translates
// each, and holds it to what `says`, `looks` and `first` (the probability of the first token with
// the `cuts`) tell here.

const CAT = "The small cat is sleeping in the garden.";
const SALESWOMAN = "The clever saleswoman is reading an interesting novel.";
const LA_VENDEUSE = "La vendeuse intelligente lit un roman intéressant.";

export const STOPS = [
  {
    model: "demo-en-fr",
    title: "Words become numbers",
    box: "source",
    see: "Each token brings its own row of numbers, and the encoding of its position is added.",
    todo: "Press “the” and then “The” in the source: the position is another, and so is the row.",
    sentence: CAT,
    says: "Le petit chat dort dans le jardin.",
  },
  {
    model: "demo-en-fr",
    title: "Words read each other",
    box: "encoder",
    see: "In this head each article looks at its noun: The at cat, the at garden.",
    todo: "Choose another head: most do something else, and many nothing that has a name.",
    sentence: CAT,
    says: "Le petit chat dort dans le jardin.",
    head: { stack: "encoder", layer: 2, head: 3 },
    looks: [
      ["▁The", "▁cat"],
      ["▁the", "▁garden"],
    ],
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
  },
  {
    model: "demo-en-fr",
    title: "A map is a question",
    box: "cross",
    see: "Before it writes “La”, this head looks straight at saleswoman. Does the gender come from there? Below, the noun is hidden from the decoder: La stays, with 0.70.",
    todo: "Below, hide all of the sentence but “The” from the decoder: La still has 0.90.",
    sentence: SALESWOMAN,
    says: LA_VENDEUSE,
    head: { stack: "cross", layer: 2, head: 3 },
    looks: [["▁La", "▁saleswoman"]],
    step: 1,
    cuts: { after: [2] },
    first: 0.7,
  },
  {
    model: "demo-en-fr",
    title: "The answer is a cut",
    box: "encoder",
    see: "Hidden from the encoder too, the noun takes the gender with it: La has 0.15 left, and the model says Le. So it was the encoder that moved it to the article.",
    todo: "The control: put the noun back, and hide “novel” so. La stays at 1.00.",
    sentence: SALESWOMAN,
    says: LA_VENDEUSE,
    head: { stack: "encoder", layer: 2, head: 3 },
    cuts: { before: [2] },
    first: 0.15,
  },
  {
    model: "demo-en-fr",
    title: "The next token",
    box: "output",
    see: "One probability for each token of the vocabulary. Greedy search takes the longest bar, and a draw may take another.",
    todo: "Under Search choose “draw”, raise the temperature to 1.5, and draw again and again.",
    sentence: SALESWOMAN,
    says: LA_VENDEUSE,
    step: 2,
  },
  {
    model: "de-en",
    title: "Several at once",
    box: "output",
    see: "A model of 29,000 captions. The beam keeps four beginnings alive; what is dropped never comes back.",
    todo: "Step through the search, and find the step at which the second best sentence parts from the best.",
    sentence: "Zwei Frauen in roten Jacken sitzen auf einer Bank.",
    says: "Two women in red jackets are sitting on a bench.",
    step: 6,
  },
];

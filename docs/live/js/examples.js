// One example for each claim of lesson 00. A test translates each, and holds it to what `says`
// and `first` (the probability of the first token) tell here.

const SALESWOMAN = "The clever saleswoman is reading an interesting novel.";
const LA_VENDEUSE = "La vendeuse intelligente lit un roman intéressant.";

export const EXAMPLES = [
  {
    title: "Nobody wrote this dictionary",
    see:
      "The bright squares pair each French word with its English one: chat with cat, " +
      "jardin with garden.",
    sentence: "The small cat is sleeping in the garden.",
    says: "Le petit chat dort dans le jardin.",
    head: { stack: "cross", layer: 2, head: 1 },
  },
  {
    title: "Where word order differs, they cross",
    see:
      "French puts the colour behind the noun: noir goes back to black, and the squares " +
      "cross.",
    sentence: "The black cat is sleeping in the garden.",
    says: "Le chat noir dort dans le jardin.",
    head: { stack: "cross", layer: 2, head: 1 },
  },
  {
    title: "One “not”, two French words",
    see:
      "Nobody gave it the rule: ne and pas stand on either side of the verb. For both, this " +
      "head looks at not.",
    sentence: "My brother is not working today.",
    says: "Mon frère ne travaille pas aujourd'hui.",
    head: { stack: "cross", layer: 2, head: 2 },
  },
  {
    title: "“La” looks past “The”, at the noun",
    see:
      "In the first row this head looks straight at saleswoman. Is that where “La” gets " +
      "its gender from? The next three test it.",
    sentence: SALESWOMAN,
    says: LA_VENDEUSE,
    head: { stack: "cross", layer: 2, head: 3 },
  },
  {
    title: "Hide the noun from the decoder",
    see:
      "The decoder cannot look at saleswoman, and still says La, with a probability of " +
      "0.70.",
    sentence: SALESWOMAN,
    says: LA_VENDEUSE,
    cuts: { after: [2] },
    first: 0.7,
  },
  {
    title: "Let it see nothing but “The”",
    see:
      "What follows is lost, but La stays, with 0.90: the encoder has carried the gender " +
      "from the noun to its article.",
    sentence: SALESWOMAN,
    says: LA_VENDEUSE,
    cuts: { after: [1, 2, 3, 4, 5, 6, 7, 8, 9] },
    first: 0.9,
  },
  {
    title: "Hide the noun from the encoder too",
    see:
      "Now the gender is lost: La has 0.15 left, and the model says Le. So it was the " +
      "encoder that moved it.",
    sentence: SALESWOMAN,
    says: LA_VENDEUSE,
    cuts: { before: [2] },
    first: 0.15,
  },
  {
    title: "The control: hide another word so",
    see:
      "Hiding some word from the encoder is not what counts: without novel, La stays at " +
      "1.00. It has to be the noun of the article.",
    sentence: SALESWOMAN,
    says: LA_VENDEUSE,
    cuts: { before: [7] },
    first: 1,
  },
  {
    title: "Remove all heads of a layer",
    see:
      "Layer 2 of cross-attention gives nothing any more: the rest nearly makes up for it, " +
      "but not for the verb.",
    sentence: SALESWOMAN,
    says: LA_VENDEUSE,
    cuts: {
      removed: [1, 2, 3, 4].map((head) => ({ stack: "cross", layer: 2, head })),
    },
    first: 1,
  },
  {
    title: "A word it has never seen",
    see:
      "No error: the name falls into pieces that the model knows, down to letters. It just " +
      "knows nothing about them.",
    sentence: "Wolfgang is reading a novel.",
    says: "À la soupe lit un roman.",
    head: { stack: "encoder", layer: 1, head: 4 },
  },
  {
    title: "The wrong way round",
    see:
      "It takes French for English, and still answers in French: it has never learnt to " +
      "say anything else.",
    sentence: "Le chat noir dort dans le jardin.",
    says: "Il a parce qu'ils sont malades.",
    head: { stack: "cross", layer: 2, head: 1 },
  },
  {
    title: "Real text: captions of photos",
    see:
      "Twice the layers, learnt from 29,000 captions (terms of Multi30k). Step through its " +
      "search: it has other ways to say this.",
    model: "de-en",
    sentence: "Zwei Frauen in roten Jacken sitzen auf einer Bank.",
    says: "Two women in red jackets are sitting on a bench.",
    step: 6,
  },
];

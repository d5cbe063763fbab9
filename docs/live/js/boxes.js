// The boxes of the drawing, in the order in which a sentence flows, and what each does.

/**
 * Of each box: its name; the stack it stands in; its section of the paper; the file that carries
 * it out; and what it does. `head` names the kind of attention that it is, `frame` the sub-layer
 * whose sum and normalisation it is.
 */
export const BOXES = {
  source: {
    name: "Embedding + position",
    stack: "encoder",
    section: "§3.4, §3.5",
    file: "embeddings.js",
    does: "Each token is a row of a table of learned numbers, times √d_model. The wave of its place is added: the sum knows what stands there, and where.",
  },
  encoder: {
    name: "Self-attention",
    stack: "encoder",
    section: "§3.2",
    file: "attention.js",
    head: "encoder",
    does: "Each token asks all tokens of the sentence, and takes an average of what they hold, weighted by how well they answer.",
  },
  encoder_norm: {
    name: "Add & norm",
    stack: "encoder",
    section: "§3.1",
    file: "layers.js",
    frame: "encoder",
    does: "What went into the sub-layer is added to what comes out of it: the sub-layer writes a change, not a new sentence.",
  },
  encoder_feed: {
    name: "Feed-forward",
    stack: "encoder",
    section: "§3.3",
    file: "feed_forward.js",
    does: "Each token for itself: many numbers are made of its own, those below 0 become 0, and the rest is brought back to d_model.",
  },
  encoder_feed_norm: {
    name: "Add & norm",
    stack: "encoder",
    section: "§3.1",
    file: "layers.js",
    frame: "encoder_feed",
    does: "The same around the second sub-layer. After the last layer the result is called memory, and goes to every layer of the decoder.",
  },
  target: {
    name: "Embedding + position",
    stack: "decoder",
    section: "§3.4, §3.5",
    file: "embeddings.js",
    does: "The decoder reads what has been written so far, begun with <bos>: the same table, the same waves.",
  },
  decoder: {
    name: "Masked self-attention",
    stack: "decoder",
    section: "§3.2.3",
    file: "attention.js",
    head: "decoder",
    does: "Each place asks itself and those before it. What comes later is masked: it is what the model has to find out.",
  },
  decoder_norm: {
    name: "Add & norm",
    stack: "decoder",
    section: "§3.1",
    file: "layers.js",
    frame: "decoder",
    does: "What went in is added to what came out.",
  },
  cross: {
    name: "Cross-attention",
    stack: "decoder",
    section: "§3.2.3",
    file: "attention.js",
    head: "cross",
    does: "The translation asks the source: queries come from the decoder, keys and values from the encoder's memory.",
  },
  cross_norm: {
    name: "Add & norm",
    stack: "decoder",
    section: "§3.1",
    file: "layers.js",
    frame: "cross",
    does: "What went in is added to what came out.",
  },
  decoder_feed: {
    name: "Feed-forward",
    stack: "decoder",
    section: "§3.3",
    file: "feed_forward.js",
    does: "Each place for itself, as in the encoder.",
  },
  decoder_feed_norm: {
    name: "Add & norm",
    stack: "decoder",
    section: "§3.1",
    file: "layers.js",
    frame: "decoder_feed",
    does: "What went in is added to what came out.",
  },
  output: {
    name: "Linear & softmax",
    stack: "decoder",
    section: "§3.4, §6.1",
    file: "decoding.js",
    does: "A score for every token of the vocabulary, turned into probabilities of the next one. The search chooses among them.",
  },
};

/** Tell whether a box stands in a layer, so that there is one in each. */
export const is_layered = (box) => !["source", "target", "output"].includes(box);

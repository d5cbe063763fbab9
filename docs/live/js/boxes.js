// The boxes of the drawing, in the order in which a sentence flows, and what each does.

/**
 * Each box has its name; the stack it stands in; its section of the paper; the file that carries
 * it out; and what it does. `head` names the kind of attention that it is, `frame` the sub-layer
 * whose sum and normalisation it is.
 */
export const BOXES = {
  source: {
    name: "Embedding + position",
    stack: "encoder",
    section: "§3.4, §3.5",
    file: "embeddings.js",
    does: "Each token is a row of a learned table, times √d_model. The encoding of its position is added: the sum holds what the token is, and where it stands.",
  },
  encoder: {
    name: "Self-attention",
    stack: "encoder",
    section: "§3.2",
    file: "attention.js",
    head: "encoder",
    does: "Each token's query is compared with the keys of all tokens of the sentence. The output is an average of their values, weighted by how well query and key match.",
  },
  encoder_norm: {
    name: "Residual connection and norm",
    stack: "encoder",
    section: "§3.1",
    file: "layers.js",
    frame: "encoder",
    does: "The sub-layer's input is added to its output: the sub-layer computes a change, not a new vector.",
  },
  encoder_feed: {
    name: "Feed-forward",
    stack: "encoder",
    section: "§3.3",
    file: "feed_forward.js",
    does: "Each token on its own: its vector is mapped to d_ff numbers, those below 0 become 0, and the result is mapped back to d_model.",
  },
  encoder_feed_norm: {
    name: "Residual connection and norm",
    stack: "encoder",
    section: "§3.1",
    file: "layers.js",
    frame: "encoder_feed",
    does: "The same around the second sub-layer.",
  },
  memory: {
    name: "The encoder's last norm: memory",
    stack: "encoder",
    section: "§3.1",
    file: "model.js",
    does: "The last layer's result, normalised once more, is called memory: every layer of the decoder reads it. The paper's layers end in a norm of their own.",
  },
  target: {
    name: "Embedding + position",
    stack: "decoder",
    section: "§3.4, §3.5",
    file: "embeddings.js",
    does: "The decoder reads what has been written so far, starting with <bos>. Tokens and positions become vectors as in the encoder; in the paper, encoder and decoder share one table.",
  },
  decoder: {
    name: "Masked self-attention",
    stack: "decoder",
    section: "§3.2.3",
    file: "attention.js",
    head: "decoder",
    does: "Each position attends to itself and to those before it. Later ones are masked: they are what the model has to predict.",
  },
  decoder_norm: {
    name: "Residual connection and norm",
    stack: "decoder",
    section: "§3.1",
    file: "layers.js",
    frame: "decoder",
    does: "The sub-layer's input is added to its output.",
  },
  cross: {
    name: "Cross-attention",
    stack: "decoder",
    section: "§3.2.3",
    file: "attention.js",
    head: "cross",
    does: "The translation attends to the source: queries come from the decoder, keys and values from the encoder's memory.",
  },
  cross_norm: {
    name: "Residual connection and norm",
    stack: "decoder",
    section: "§3.1",
    file: "layers.js",
    frame: "cross",
    does: "The sub-layer's input is added to its output.",
  },
  decoder_feed: {
    name: "Feed-forward",
    stack: "decoder",
    section: "§3.3",
    file: "feed_forward.js",
    does: "Each position on its own, as in the encoder.",
  },
  decoder_feed_norm: {
    name: "Residual connection and norm",
    stack: "decoder",
    section: "§3.1",
    file: "layers.js",
    frame: "decoder_feed",
    does: "The sub-layer's input is added to its output.",
  },
  decoder_end: {
    name: "The decoder's last norm",
    stack: "decoder",
    section: "§3.1",
    file: "model.js",
    does: "The last layer's result is normalised once more before the linear map. The paper's layers end in a norm of their own.",
  },
  output: {
    name: "Linear & softmax",
    stack: "decoder",
    section: "§3.4, §6.1",
    file: "decoding.js",
    does: "A score for every token of the vocabulary, turned into probabilities of the next one. The search chooses among them.",
  },
};

/** Return whether a box stands in a layer, so that there is one in each. */
export const is_layered = (box) => !["source", "memory", "target", "decoder_end", "output"].includes(box);

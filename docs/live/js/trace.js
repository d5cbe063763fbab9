// Every value on a sentence's way through a model, for the drawing's boxes. The layers' own parts
// are called one by one, in the order of layers.js and model.js; a test holds the last value of
// both ways to each other.

import { scaled_dot_product_attention } from "./attention.js";
import { BOS_ID } from "./config.js";
import { mask_without } from "./interventions.js";
import { causal_mask, padding_mask } from "./masks.js";
import { columns, Matrix, multiply_transposed, relu, side_by_side } from "./matrix.js";

/**
 * Return every value on the way of a sentence and its translation through a model.
 * @param {Transformer} model
 * @param {number[]} src Source ids with eos, (src_len).
 * @param {number[]} said Target ids, (tgt_len); row t has read those before it.
 * @param {number[]} before Places of the source that are hidden before the encoder.
 * @param {number[]} after Places that are hidden after it (see `SourceMaskedModel`).
 * @returns {object} source and target (see `embed`); of each layer of encoder and decoder its
 *   sub-layers (see `attend` and `feed`); the stacks' ends, `memory` and `decoder_end` (see
 *   `normed`); and the logits, (tgt_len, vocab_size).
 */
export function trace(model, src, said, before = [], after = []) {
  const src_mask = mask_without(padding_mask(src), before);
  const memory_mask = mask_without(padding_mask(src), [...before, ...after]);
  const tgt_mask = causal_mask(said.length);
  const source = embed(model.src_embedding, src);
  const encoder = [];
  let hidden = source.sum;
  for (const layer of model.encoder.layers) {
    const attention = attend(layer.self_attention, layer.self_attention_residual, hidden, src_mask);
    const fed = feed(layer, attention.sum);
    encoder.push({ encoder: attention, encoder_feed: fed });
    hidden = fed.sum;
  }
  const memory = normed(model.encoder, hidden);
  const target = embed(model.tgt_embedding, [BOS_ID, ...said.slice(0, -1)]);
  const decoder = [];
  hidden = target.sum;
  for (const layer of model.decoder.layers) {
    const own = attend(layer.self_attention, layer.self_attention_residual, hidden, tgt_mask);
    const residual = layer.cross_attention_residual;
    const cross = attend(layer.cross_attention, residual, own.sum, memory_mask, memory.output);
    const fed = feed(layer, cross.sum);
    decoder.push({ decoder: own, cross, decoder_feed: fed });
    hidden = fed.sum;
  }
  const decoder_end = normed(model.decoder, hidden);
  const logits = model.output.forward(decoder_end.output); // (tgt_len, vocab_size)
  return { source, target, encoder, memory, decoder, decoder_end, logits };
}

/** Return a stack's last hidden states, and its output: their norm in pre-norm, else the same. */
function normed({ norm }, hidden) {
  return { hidden, output: norm === null ? hidden : norm.forward(hidden) };
}

/** Return the scaled vectors of words, their positions, and the sum, (length, d_model) each. */
function embed(embedding, ids) {
  const sum = embedding.forward(ids);
  const word = new Matrix(ids.length, embedding.token.cols);
  const position = new Matrix(ids.length, embedding.positions.cols);
  ids.forEach((id, i) => {
    word.row(i).set(embedding.token.row(id).map((value) => value * embedding.scale));
    position.row(i).set(embedding.positions.row(i));
  });
  return { ids, word, position, sum };
}

/** Return what an attention does in its residual connection: of each head all of Equation 1. */
function attend(attention, residual, hidden, mask, memory = null) {
  let heads, output, read;
  const sum = residual.forward(hidden, (input) => {
    read = input;
    heads = attend_by_head(attention, input, memory ?? input, mask);
    output = attention.output_projection.forward(side_by_side(heads.map((head) => head.output)));
    return output;
  });
  return { mask, hidden, read, heads, output, sum };
}

/** Return of each head its query, key and value, their products, the weights and the output. */
function attend_by_head(attention, input, memory, mask) {
  const split = (projection, from) => {
    const joined = projection.forward(from);
    const width = joined.cols / attention.num_heads;
    return Array.from({ length: attention.num_heads }, (_, head) =>
      columns(joined, head * width, (head + 1) * width),
    );
  };
  const queries = split(attention.query_projection, input);
  const keys = split(attention.key_projection, memory);
  const values = split(attention.value_projection, memory);
  return queries.map((query, head) => {
    const [key, value] = [keys[head], values[head]];
    const [output, weights] = scaled_dot_product_attention(query, key, value, mask);
    return { query, key, value, products: multiply_transposed(query, key), weights, output };
  });
}

/** Return what a feed-forward network does in its residual connection. */
function feed({ feed_forward, feed_forward_residual }, hidden) {
  let inner, output, read;
  const sum = feed_forward_residual.forward(hidden, (input) => {
    read = input;
    inner = relu(feed_forward.inner.forward(input)); // (length, d_ff)
    output = feed_forward.outer.forward(inner);
    return output;
  });
  return { hidden, read, inner, output, sum };
}

// The Transformer: encoder, decoder, embeddings and softmax weights (§3, Fig. 1).
// Compare transformer/model.py.

import { KeyValueCache } from "./attention.js";
import { Embedding } from "./embeddings.js";
import { ModelFileError } from "./errors.js";
import { DecoderLayer, EncoderLayer } from "./layers.js";
import { LayerNorm, Linear } from "./linear.js";
import { causal_mask, padding_mask } from "./masks.js";

/** Return the layers of a stack. */
function make_layers(Layer, config, weights) {
  return Array.from(
    { length: config.num_layers },
    (_, layer) => new Layer(config, weights.of(`layers.${layer}`)),
  );
}

/** A stack of encoder layers (§3.1). */
export class Encoder {
  constructor(config, weights) {
    this.layers = make_layers(EncoderLayer, config, weights);
    this.norm = config.pre_norm ? new LayerNorm(weights.of("norm"), config.d_model) : null;
  }

  /** Return the hidden states, (src_len, d_model), after the last layer, and each layer's weights. */
  forward(hidden, mask) {
    const all_weights = [];
    for (const layer of this.layers) {
      let weights;
      [hidden, weights] = layer.forward(hidden, mask);
      all_weights.push(weights);
    }
    return [this.norm === null ? hidden : this.norm.forward(hidden), all_weights];
  }
}

/** The keys and values of all decoder layers, kept from step to step. */
export class DecoderCache {
  /** @param {KeyValueCache[][]} layers Of each the caches of self-attention and cross-attention. */
  constructor(layers) {
    this.layers = layers;
  }

  /** Number of target positions so far. */
  get length() {
    const { key } = this.layers[0][0];
    return key === null ? 0 : key[0].rows;
  }

  /** Return a cache that grows on its own from here, as the prefixes of a beam do. */
  copy() {
    return new DecoderCache(this.layers.map((layer) => layer.map((cache) => cache.copy())));
  }
}

/** A stack of decoder layers (§3.1). */
export class Decoder {
  constructor(config, weights) {
    this.layers = make_layers(DecoderLayer, config, weights);
    this.norm = config.pre_norm ? new LayerNorm(weights.of("norm"), config.d_model) : null;
  }

  /** Return the hidden states, (tgt_len, d_model), after the last layer, and each layer's weights. */
  forward(hidden, memory, tgt_mask, src_mask, cache = null) {
    const [decoder, cross] = [[], []];
    this.layers.forEach((layer, index) => {
      const layer_cache = cache === null ? null : cache.layers[index];
      let self_weights, cross_weights;
      [hidden, self_weights, cross_weights] = layer.forward(
        hidden,
        memory,
        tgt_mask,
        src_mask,
        layer_cache,
      );
      decoder.push(self_weights);
      cross.push(cross_weights);
    });
    return [this.norm === null ? hidden : this.norm.forward(hidden), decoder, cross];
  }
}

/** An encoder-decoder made of attention alone (§3, Fig. 1). */
export class Transformer {
  /**
   * @param {ModelConfig} config The shape of the network.
   * @param {Weights} weights All of them, as saved: what is tied is there once.
   * @param {number} src_vocab_size
   * @param {number} tgt_vocab_size
   * @throws {ModelFileError} A weight is missing, foreign, or of another shape.
   */
  constructor(config, weights, src_vocab_size, tgt_vocab_size) {
    if (config.tie_source_target && src_vocab_size !== tgt_vocab_size) {
      const sizes = `${src_vocab_size} and ${tgt_vocab_size} types`;
      throw new ModelFileError("recipe.json", `ties the vocabularies, and the tokenizers have ${sizes}`);
    }
    const { d_model, output_bias } = config;
    this.config = config;
    this.src_embedding = new Embedding(config, weights.of("src_embedding"), src_vocab_size);
    this.tgt_embedding = config.tie_source_target
      ? this.src_embedding
      : new Embedding(config, weights.of("tgt_embedding"), tgt_vocab_size);
    this.encoder = new Encoder(config, weights.of("encoder"));
    this.decoder = new Decoder(config, weights.of("decoder"));
    const tied = config.tie_softmax ? this.tgt_embedding.token : undefined;
    this.output = new Linear(weights.of("output"), d_model, tgt_vocab_size, output_bias, tied);
    weights.require_all_used();
  }

  /**
   * Return the encoded source.
   * @param {number[]} src Source ids, (src_len).
   * @param {Matrix} src_mask From `padding_mask`, (1, src_len).
   * @returns {Matrix} Memory for the decoder, (src_len, d_model).
   */
  encode(src, src_mask) {
    return this.encoder.forward(this.src_embedding.forward(src), src_mask)[0];
  }

  /**
   * Return the scores of the token after each of `tgt_in`.
   * @param {number[]} tgt_in Target ids, (tgt_len); with a cache only the new ones.
   * @param {Matrix} memory From `encode`, (src_len, d_model).
   * @param {Matrix} src_mask From `padding_mask`, (1, src_len).
   * @param {?DecoderCache} cache From `new_cache`; the new positions are appended to it.
   * @returns {Matrix} Logits, before the softmax, (tgt_len, tgt_vocab_size).
   */
  decode(tgt_in, memory, src_mask, cache = null) {
    const start = cache === null ? 0 : cache.length;
    const hidden = this.tgt_embedding.forward(tgt_in, start); // (tgt_len, d_model)
    const length = tgt_in.length;
    const tgt_mask = length > 1 ? causal_mask(length, start + length) : null;
    const decoded = this.decoder.forward(hidden, memory, tgt_mask, src_mask, cache)[0];
    return this.output.forward(decoded); // (tgt_len, tgt_vocab_size)
  }

  /** Return an empty cache for `decode`. */
  new_cache() {
    const pair = () => [new KeyValueCache(), new KeyValueCache()];
    return new DecoderCache(this.decoder.layers.map(pair));
  }

  /**
   * Return every attention weight for a sentence and its translation (the paper's appendix figures).
   * @param {number[]} src Source ids, (src_len).
   * @param {number[]} tgt_in Target ids that begin with bos, (tgt_len).
   * @param {Matrix} src_mask What the encoder may read, (1, src_len).
   * @param {Matrix} cross_mask What the decoder may read of it, (1, src_len).
   * @returns {{encoder: Matrix[][], decoder: Matrix[][], cross: Matrix[][]}} By layer and head;
   *   each row sums to 1.
   */
  attention_maps(src, tgt_in, src_mask = padding_mask(src), cross_mask = src_mask) {
    const tgt_mask = causal_mask(tgt_in.length);
    const [memory, encoder] = this.encoder.forward(this.src_embedding.forward(src), src_mask);
    const hidden = this.tgt_embedding.forward(tgt_in);
    const [, decoder, cross] = this.decoder.forward(hidden, memory, tgt_mask, cross_mask);
    return { encoder, decoder, cross };
  }
}

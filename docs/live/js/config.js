// Compare transformer/config.py. The values are read from the model's recipe.json.

import { UserError } from "./errors.js";

export const SPECIAL_TOKENS = ["<pad>", "<unk>", "<bos>", "<eos>"];
export const [PAD_ID, UNK_ID, BOS_ID, EOS_ID] = [0, 1, 2, 3];
export const NUM_SPECIAL_TOKENS = SPECIAL_TOKENS.length; // of the types that stand for text
export const BEAM_SIZE = 4; // §6.1: of the search
export const LENGTH_PENALTY = 0.6; // §6.1: alpha

/** The shape of the network (§3, Table 3). */
export class ModelConfig {
  /**
   * @param {object} values The section "model" of a recipe. What only training needs (dropout,
   *   how weights are drawn) is left alone.
   */
  constructor(values) {
    this.d_model = values.d_model; // width of every layer's output
    this.num_heads = values.num_heads; // h in the paper
    this.num_layers = values.num_layers; // N in the paper
    this.d_k = values.d_k ?? null; // null means d_model / num_heads
    this.d_v = values.d_v ?? null;
    this.pre_norm = values.pre_norm; // normalise before each sub-layer, not after the sum
    this.positions = values.positions; // "sinusoidal", "learned" or "concatenated"
    this.position_dim = values.position_dim; // width of concatenated positions
    this.max_len = values.max_len; // most tokens of a sentence
    this.tie_source_target = values.tie_source_target; // one embedding for both languages
    this.tie_softmax = values.tie_softmax; // the softmax reuses the target embedding
  }

  /** Width of one head's queries and keys, d_k in the paper. */
  get key_size() {
    return this.d_k ?? this.d_model / this.num_heads;
  }

  /** Width of one head's values, d_v in the paper. */
  get value_size() {
    return this.d_v ?? this.d_model / this.num_heads;
  }
}

/** Read what a recipe.json says of the network. */
export function config_of(recipe) {
  if (recipe.network !== "transformer") {
    throw new UserError(
      `${recipe.name} is of the kind "${recipe.network}", and this page runs Transformers only: ` +
        "choose another model",
    );
  }
  return new ModelConfig(recipe.model);
}

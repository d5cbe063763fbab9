// Compare transformer/config.py. The values are read from the model's recipe.json.

import { ModelFileError } from "./errors.js";

export const SPECIAL_TOKENS = ["<pad>", "<unk>", "<bos>", "<eos>"];
export const [PAD_ID, UNK_ID, BOS_ID, EOS_ID] = [0, 1, 2, 3];
export const NUM_SPECIAL_TOKENS = SPECIAL_TOKENS.length; // of the types that stand for text
export const BEAM_SIZE = 4; // §6.1: of the search
export const LENGTH_PENALTY = 0.6; // §6.1: alpha

const MAX_DIMENSION = 2 ** 16; // the largest network that the package trains
const POSITIONS = ["sinusoidal", "learned", "concatenated"];
const SIZES = ["d_model", "d_ff", "num_heads", "num_layers", "position_dim", "max_len"];
const OPTIONAL_SIZES = ["d_k", "d_v"];
const SWITCHES = ["pre_norm", "tie_source_target", "tie_softmax", "attention_bias", "output_bias"];
const TRAINING = ["dropout", "attention_dropout", "feed_forward_dropout", "xavier_embeddings"];

/** The shape of the network (§3, Table 3). */
export class ModelConfig {
  /**
   * @param {object} values The section "model" of a recipe. What only training needs (dropout,
   *   how weights are drawn) is left alone.
   * @throws {ModelFileError} A value is missing, unknown, of another type or out of range.
   */
  constructor(values) {
    check_values(values);
    this.d_model = values.d_model; // width of every layer's output
    this.d_ff = values.d_ff; // inner width of the feed-forward layers
    this.num_heads = values.num_heads; // h in the paper
    this.num_layers = values.num_layers; // N in the paper
    this.d_k = values.d_k; // null means d_model / num_heads
    this.d_v = values.d_v;
    this.pre_norm = values.pre_norm; // normalise before each sub-layer, not after the sum
    this.positions = values.positions; // "sinusoidal", "learned" or "concatenated"
    this.position_dim = values.position_dim; // width of concatenated positions
    this.max_len = values.max_len; // most tokens of a sentence
    this.tie_source_target = values.tie_source_target; // one embedding for both languages
    this.tie_softmax = values.tie_softmax; // the softmax reuses the target embedding
    this.attention_bias = values.attention_bias; // a bias in attention's four projections
    this.output_bias = values.output_bias; // a bias before the softmax
    this._check_widths();
  }

  /** Width of a word's vector: d_model, less what concatenated positions take of it. */
  get word_dim() {
    return this.positions === "concatenated" ? this.d_model - this.position_dim : this.d_model;
  }

  /** Width of one head's queries and keys, d_k in the paper. */
  get key_size() {
    return this.d_k ?? this.d_model / this.num_heads;
  }

  /** Width of one head's values, d_v in the paper. */
  get value_size() {
    return this.d_v ?? this.d_model / this.num_heads;
  }

  /** Raise unless the widths fit each other. */
  _check_widths() {
    const { d_model, num_heads } = this;
    const concatenated = this.positions === "concatenated";
    if (!Number.isInteger(this.key_size) || !Number.isInteger(this.value_size)) {
      throw recipe_error(`d_model ${d_model} is not divisible by num_heads ${num_heads}`);
    }
    if (this.positions === "sinusoidal" && d_model % 2 !== 0) {
      throw recipe_error(`d_model ${d_model} is odd, and sinusoids come in pairs`);
    }
    if (concatenated && this.word_dim < 1) {
      throw recipe_error(`position_dim ${this.position_dim} leaves no room in d_model ${d_model}`);
    }
    if (concatenated && this.tie_softmax) {
      throw recipe_error("tie_softmax does not go with concatenated positions");
    }
  }
}

/** Raise unless each value is known, and of its type and range. */
function check_values(values) {
  if (values === null || typeof values !== "object") throw recipe_error('the section "model"');
  const is_size = (value) => Number.isInteger(value) && value >= 1 && value <= MAX_DIMENSION;
  const checks = [
    [SIZES, is_size],
    [OPTIONAL_SIZES, (value) => value === null || is_size(value)],
    [SWITCHES, (value) => typeof value === "boolean"],
    [["positions"], (value) => POSITIONS.includes(value)],
    [TRAINING, () => true],
  ];
  const is_right = new Map(checks.flatMap(([names, check]) => names.map((name) => [name, check])));
  for (const name of is_right.keys()) {
    if (!is_right.get(name)(values[name])) {
      throw recipe_error(`${name} is ${JSON.stringify(values[name])}`);
    }
  }
  for (const name of Object.keys(values)) {
    if (!is_right.has(name)) throw recipe_error(`${name} is a setting that this page does not know`);
  }
}

/** Return the error for a recipe that describes no network. */
function recipe_error(detail) {
  return new ModelFileError("recipe.json", `describes no network of this page's (${detail})`);
}

/** Return what a recipe.json says of the network. */
export function config_of(recipe) {
  if (typeof recipe.network !== "string") throw recipe_error('no "network"');
  if (recipe.network !== "transformer") {
    const problem = `is of the kind "${recipe.network}", and this page runs Transformers only`;
    throw new ModelFileError("recipe.json", problem);
  }
  const parts = recipe.parts ?? "paper"; // a recipe of an earlier version names none
  if (parts !== "paper") {
    const problem = `has the parts "${parts}", and this page runs the paper's only`;
    throw new ModelFileError("recipe.json", problem);
  }
  return new ModelConfig(recipe.model);
}

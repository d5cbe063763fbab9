// What PyTorch is to the Python, this file is to the JavaScript: tables of numbers, and the few
// operations on them that a Transformer is made of. All of it is loops that you can read.
//
// One sentence is translated at a time, so that the Python's first axis, the batch, is not here:
// its (batch, length, d_model) is a Matrix of length rows and d_model columns.

/** A table of numbers, row after row in one typed array. */
export class Matrix {
  /**
   * @param {number} rows
   * @param {number} cols
   * @param {Float32Array|Uint8Array} data rows * cols values; zeros by default.
   */
  constructor(rows, cols, data = new Float32Array(rows * cols)) {
    this.rows = rows;
    this.cols = cols;
    this.data = data;
  }

  /** Return the values of one row; changing them changes the matrix. */
  row(index) {
    return this.data.subarray(index * this.cols, (index + 1) * this.cols);
  }
}

/**
 * Return the product of a and the transpose of b: every row of a with every row of b.
 * @param {Matrix} a (n, width)
 * @param {Matrix} b (m, width)
 * @returns {Matrix} (n, m)
 */
export function multiply_transposed(a, b) {
  const product = new Matrix(a.rows, b.rows);
  const [left, right, into] = [a.data, b.data, product.data];
  const width = a.cols;
  for (let i = 0; i < a.rows; i++) {
    const at = i * width;
    const row = i * b.rows;
    let j = 0;
    // Four rows of b at once: each number of a is fetched once for four products. Variables are set
    // one by one: taken apart as arrays they are slow until a browser has compiled the loop.
    for (; j + 4 <= b.rows; j += 4) {
      const at0 = j * width;
      const at1 = at0 + width;
      const at2 = at1 + width;
      const at3 = at2 + width;
      let sum0 = 0;
      let sum1 = 0;
      let sum2 = 0;
      let sum3 = 0;
      for (let k = 0; k < width; k++) {
        const value = left[at + k];
        sum0 += value * right[at0 + k];
        sum1 += value * right[at1 + k];
        sum2 += value * right[at2 + k];
        sum3 += value * right[at3 + k];
      }
      into[row + j] = sum0;
      into[row + j + 1] = sum1;
      into[row + j + 2] = sum2;
      into[row + j + 3] = sum3;
    }
    for (; j < b.rows; j++) {
      let sum = 0;
      for (let k = 0; k < width; k++) sum += left[at + k] * right[j * width + k];
      into[row + j] = sum;
    }
  }
  return product;
}

/**
 * Return the product of a and b.
 * @param {Matrix} a (n, length)
 * @param {Matrix} b (length, width)
 * @returns {Matrix} (n, width)
 */
export function multiply(a, b) {
  const product = new Matrix(a.rows, b.cols);
  const into = product.data;
  for (let i = 0; i < a.rows; i++) {
    for (let k = 0; k < a.cols; k++) {
      const factor = a.data[i * a.cols + k];
      for (let j = 0; j < b.cols; j++) into[i * b.cols + j] += factor * b.data[k * b.cols + j];
    }
  }
  return product;
}

/** Return the sum of two matrices of one shape. */
export function add(a, b) {
  const sum = new Matrix(a.rows, a.cols);
  for (let i = 0; i < sum.data.length; i++) sum.data[i] = a.data[i] + b.data[i];
  return sum;
}

/** Return a matrix with 0 in the place of every negative value. */
export function relu(a) {
  const cut = new Matrix(a.rows, a.cols);
  for (let i = 0; i < cut.data.length; i++) cut.data[i] = Math.max(a.data[i], 0);
  return cut;
}

/** Return two matrices of one width as one, b's rows below a's. */
export function below_each_other(a, b) {
  const both = new Matrix(a.rows + b.rows, a.cols);
  both.data.set(a.data);
  both.data.set(b.data, a.data.length);
  return both;
}

/** Return matrices of one length as one, side by side. */
export function side_by_side(matrices) {
  const width = matrices.reduce((sum, { cols }) => sum + cols, 0);
  const joined = new Matrix(matrices[0].rows, width);
  for (let i = 0; i < joined.rows; i++) {
    let at = i * width;
    for (const matrix of matrices) {
      joined.data.set(matrix.row(i), at);
      at += matrix.cols;
    }
  }
  return joined;
}

/** Return the columns from `from` up to, not including, `to`. */
export function columns(matrix, from, to) {
  const part = new Matrix(matrix.rows, to - from);
  for (let i = 0; i < matrix.rows; i++) part.row(i).set(matrix.row(i).subarray(from, to));
  return part;
}

/**
 * Return the probabilities that scores stand for: in the same order, with the sum 1.
 * @param {Float32Array} scores The probability of -Infinity is 0, even where all scores are that.
 */
export function softmax(scores) {
  const largest = max(scores); // taken away first, so that no exponential overflows
  if (largest === -Infinity) return new Float32Array(scores.length);
  const powers = scores.map((score) => Math.exp(score - largest));
  const total = powers.reduce((sum, power) => sum + power);
  return powers.map((power) => power / total);
}

/** Return the logarithms of what `softmax` returns (nats). */
export function log_softmax(scores) {
  const largest = max(scores);
  let total = 0;
  for (let i = 0; i < scores.length; i++) total += Math.exp(scores[i] - largest);
  const shift = largest + Math.log(total);
  return scores.map((score) => score - shift);
}

/** Return the largest value. */
function max(values) {
  let largest = -Infinity;
  for (let i = 0; i < values.length; i++) if (values[i] > largest) largest = values[i];
  return largest;
}

/** Return where the largest values stand, at most `number` of them: the largest first, of equal ones the first. */
export function places_of_largest(values, number) {
  const places = [];
  for (let i = 0; i < values.length; i++) {
    if (places.length === number && values[i] <= values[places[number - 1]]) continue;
    let rank = places.length;
    while (rank > 0 && values[places[rank - 1]] < values[i]) rank--;
    places.splice(rank, 0, i);
    if (places.length > number) places.pop();
  }
  return places;
}

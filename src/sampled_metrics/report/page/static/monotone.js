// Constrained least squares (eq. 21): the non-increasing estimator of at least 0 with the least
// squared bias, and a weight of 1e-12 of the variance to choose among those that fit alike.
"use strict";

const TIE_BREAK = 1e-12;
const LEAST_SQUARE = 1e-15; // of singular values kept where m is large
const ALL_KEPT = 200;
const LEAST_GAIN = 1e-16; // of another step, to the size of the problem

SM.monotone = (mean, n) => {
  const m = mean.length - 1, { columns, target } = stepSystem(mean, n);
  const steps = SM.nonnegative(columns, target);
  const vector = new Float64Array(m + 1);
  for (let j = m, sum = 0; j >= 0; j--) vector[j] = sum += steps[j];
  return vector;
};

// Least squares in the steps down x_j - x_(j+1), each column the spectrum of a step function.
function stepSystem(mean, n) {
  const m = mean.length - 1, squares = SM.squaredSingularValues(n, m);
  const polynomials = new SM.Polynomials(m);
  const rank = m <= ALL_KEPT ? m + 1 : squares.findIndex((s) => s < LEAST_SQUARE) + 1 || m + 1;
  const columns = Array.from({ length: m + 1 }, () => new Float64Array(rank));
  const target = new Float64Array(rank);
  for (let l = 0; l < rank; l++) {
    const values = polynomials.of(l), odd = l % 2 ? -1 : 1;
    const weight = Math.sqrt((1 - TIE_BREAK) * squares[l] + TIE_BREAK);
    let share = 0;
    for (let i = 0, sum = 0; i <= m; i++) {
      const value = i < polynomials.half ? values[i] : odd * values[m - i];
      share += mean[i] * value;
      columns[i][l] = (weight * (sum += value)) / (m + 1);
    }
    target[l] = share / (m + 1) / weight;
  }
  return { columns, target };
}

// Least squares with coefficients of at least 0, by the active sets of Lawson and Hanson (1974);
// the columns in use are kept orthonormal.
SM.nonnegative = (columns, target) => {
  const size = columns.length, solution = new Float64Array(size), closed = new Uint8Array(size);
  const basis = new Orthonormal(target);
  const norm = Math.max(...columns.map((column) => Math.sqrt(dot(column, column))));
  const least = LEAST_GAIN * norm * Math.sqrt(dot(target, target));
  for (let step = 0; step < 30 * size; step++) {
    const best = steepest(columns, basis.residual, closed, least);
    if (best < 0) break;
    closed[best] = 1; // in use, or of no use until another one has come in
    if (!basis.add(best, columns[best])) continue;
    closed.fill(0);
    while (!descend(basis, columns, solution));
    for (const j of basis.used) closed[j] = 1;
  }
  return solution;
};

function steepest(columns, residual, closed, least) {
  let best = -1, most = least;
  for (let j = 0; j < columns.length; j++) {
    if (closed[j]) continue;
    const gain = dot(columns[j], residual);
    if (gain > most) [best, most] = [j, gain];
  }
  return best;
}

// Go towards the least squares of the columns in use until one reaches 0, which leaves; true where
// none does.
function descend(basis, columns, solution) {
  const wanted = basis.solve();
  let share = 1, leaving = -1;
  basis.used.forEach((j, place) => {
    if (wanted[place] > 0) return;
    const reach = solution[j] / (solution[j] - wanted[place]);
    if (leaving < 0 || reach < share) [share, leaving] = [reach, place];
  });
  basis.used.forEach((j, place) => { solution[j] += share * (wanted[place] - solution[j]); });
  if (leaving < 0) return true;
  solution[basis.used[leaving]] = 0;
  for (const j of basis.removeFrom(leaving).slice(1)) basis.add(j, columns[j]);
  return false;
}

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

class Orthonormal {
  constructor(target) {
    this.used = [];
    this.vectors = [];
    this.triangle = [];
    this.shares = [];
    this.residual = Float64Array.from(target);
  }

  // Take out the columns from a place on, and return which they were.
  removeFrom(place) {
    for (let k = place; k < this.used.length; k++) {
      const vector = this.vectors[k], share = this.shares[k];
      for (let i = 0; i < vector.length; i++) this.residual[i] += share * vector[i];
    }
    for (const list of [this.vectors, this.triangle, this.shares]) list.length = place;
    return this.used.splice(place);
  }

  // Gram and Schmidt, twice, which is enough; false where the column depends on those in use.
  add(j, column) {
    const vector = Float64Array.from(column), above = new Float64Array(this.used.length);
    const before = Math.sqrt(dot(column, column));
    for (let pass = 0; pass < 2; pass++) {
      this.vectors.forEach((each, place) => {
        const share = dot(each, vector);
        above[place] += share;
        for (let i = 0; i < vector.length; i++) vector[i] -= share * each[i];
      });
    }
    const length = Math.sqrt(dot(vector, vector));
    if (!(length > 1e-14 * before)) return false;
    for (let i = 0; i < vector.length; i++) vector[i] /= length;
    const share = dot(vector, this.residual);
    for (let i = 0; i < vector.length; i++) this.residual[i] -= share * vector[i];
    this.used.push(j);
    this.vectors.push(vector);
    this.triangle.push([...above, length]);
    this.shares.push(share);
    return true;
  }

  solve() {
    const count = this.used.length, solution = new Float64Array(count);
    for (let place = count - 1; place >= 0; place--) {
      let rest = this.shares[place];
      for (let k = place + 1; k < count; k++) rest -= this.triangle[k][place] * solution[k];
      solution[place] = rest / this.triangle[place][place];
    }
    return solution;
  }
}

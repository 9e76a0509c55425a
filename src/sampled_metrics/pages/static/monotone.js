// Constrained least squares (eq. 21): the non-increasing, non-negative estimator with the least
// squared bias; a weight of 1e-12 on the variance selects one where several fit equally well.

const TIE_BREAK = 1e-12;
const LEAST_GAIN = 1e-16; // of another step down, relative to the size of the problem

SM.monotone = (mean, n) => {
  const { columns, target } = stepSystem(mean, n), steps = SM.nonnegative(columns, target);
  for (let j = steps.length - 1; j > 0; j--) steps[j - 1] += steps[j];
  return steps;
};

// Least squares in the steps down x_j - x_(j+1), each column the spectrum of a step function.
function stepSystem(mean, n) {
  const m = mean.length - 1, squares = SM.squaredSingularValues(n, m);
  const polynomials = new SM.Polynomials(m), target = new Float64Array(m + 1);
  const columns = Array.from({ length: m + 1 }, () => new Float64Array(m + 1));
  for (let l = 0; l <= m; l++) {
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

// Least squares with non-negative coefficients, by the active sets of Lawson and Hanson (1974).
SM.nonnegative = (columns, target) => {
  const solution = new Float64Array(columns.length), active = new Set(), rejected = new Set();
  const norm = Math.sqrt(Math.max(...columns.map((column) => SM.dot(column, column))) * SM.dot(target, target));
  let { residual } = leastSquares([], target);
  for (let step = 0; step < 30 * columns.length; step++) {
    const gains = columns.map((column, j) => (active.has(j) || rejected.has(j) ? 0 : SM.dot(column, residual)));
    const best = gains.indexOf(Math.max(...gains));
    if (!(gains[best] > LEAST_GAIN * norm)) break;
    active.add(best);
    let fit = leastSquares([...active].map((j) => columns[j]), target);
    if (!fit) { // the column depends on the active ones
      active.delete(best);
      rejected.add(best);
      continue;
    }
    rejected.clear();
    while (!advance(solution, active, fit.coefficients)) {
      fit = leastSquares([...active].map((j) => columns[j]), target);
    }
    ({ residual } = fit);
  }
  return solution;
};

// Move the active coefficients towards `wanted` until one of them reaches 0 and leaves; true if
// none does.
function advance(solution, active, wanted) {
  let share = 1, leaving = null;
  [...active].forEach((j, place) => {
    if (wanted[place] > 0) return;
    const reach = solution[j] / (solution[j] - wanted[place]);
    if (leaving === null || reach < share) [share, leaving] = [reach, j];
  });
  [...active].forEach((j, place) => { solution[j] += share * (wanted[place] - solution[j]); });
  if (leaving === null) return true;
  solution[leaving] = 0;
  active.delete(leaving);
  return false;
}

// Coefficients and residual of a least-squares fit, by Gram-Schmidt with one repetition; null if
// the last column depends on the others.
function leastSquares(columns, target) {
  const basis = [], triangle = [], shares = [], residual = Float64Array.from(target);
  for (const column of columns) {
    const vector = Float64Array.from(column), above = new Float64Array(basis.length + 1);
    for (let pass = 0; pass < 2; pass++) {
      basis.forEach((other, place) => {
        const share = SM.dot(other, vector);
        above[place] += share;
        for (let i = 0; i < vector.length; i++) vector[i] -= share * other[i];
      });
    }
    const length = Math.sqrt(SM.dot(vector, vector));
    if (!(length > 1e-14 * Math.sqrt(SM.dot(column, column)))) return null;
    above[basis.length] = length;
    const unit = vector.map((value) => value / length), share = SM.dot(unit, residual);
    for (let i = 0; i < unit.length; i++) residual[i] -= share * unit[i];
    basis.push(unit);
    triangle.push(above);
    shares.push(share);
  }
  for (let place = shares.length - 1; place >= 0; place--) {
    shares[place] /= triangle[place][place];
    for (let k = 0; k < place; k++) shares[k] -= triangle[place][k] * shares[place];
  }
  return { coefficients: shares, residual };
}

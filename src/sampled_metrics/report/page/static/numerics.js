// Distribution of the sampled rank given the true rank, without replacement (section 4.3), and
// sums over true ranks.
"use strict";

// Entries below this share of the largest are left out of a row.
SM.NEGLIGIBLE = 1e-17;

// Rows of C(r-1, i) C(n-r, m-i) / C(n-1, m), from the mode outwards. `at(r)` fills `values[lo..hi]`;
// ranks that are not whole need more than m candidates on both sides.
SM.Rows = class {
  constructor(n, m) {
    this.n = n;
    this.m = m;
    this.values = new Float64Array(m + 1);
    this.lo = this.hi = 0;
  }

  at(r) {
    const { n, m, values } = this;
    const first = Math.max(0, Math.ceil(m - (n - r))), last = Math.min(m, Math.floor(r - 1));
    const mode = Math.min(Math.max(Math.floor(((m + 1) * r) / (n + 1)), first), last);
    let sum = 1, p = 1, i = mode;
    values[mode] = 1;
    for (; i < last; ) {
      p *= ((r - 1 - i) * (m - i)) / ((i + 1) * (n - r - m + i + 1));
      if (p < SM.NEGLIGIBLE) break;
      values[++i] = p;
      sum += p;
    }
    this.hi = i;
    for (p = 1, i = mode; i > first; ) {
      p *= (i * (n - r - m + i)) / ((r - i) * (m - i + 1));
      if (p < SM.NEGLIGIBLE) break;
      values[--i] = p;
      sum += p;
    }
    this.lo = i;
    for (const scale = 1 / sum; i <= this.hi; i++) values[i] *= scale;
    return this;
  }

  // Expectation of `vector` at the row last made.
  dot(vector) {
    let sum = 0;
    for (let i = this.lo; i <= this.hi; i++) sum += this.values[i] * vector[i];
    return sum;
  }
};

// Expectation of an estimator at some true ranks.
SM.expectedAt = (ranks, n, vector) => {
  const rows = new SM.Rows(n, vector.length - 1);
  return Array.from(ranks, (r) => rows.at(r).dot(vector));
};

// Nodes and weights of the Gauss rule for the sum over `count` whole numbers from `first` on, from
// the recurrence of the discrete Chebyshev polynomials; Newton's method from Legendre's nodes.
const NODES = 20;
SM.gaussSum = (first, count) => {
  const middle = first + (count - 1) / 2;
  const beside = Float64Array.from({ length: NODES + 1 }, (_, k) =>
    Math.sqrt((k * k * (count * count - k * k)) / (4 * (4 * k * k - 1))));
  const nodes = [];
  for (let j = 1; j <= NODES; j++) {
    let x = (count / 2) * Math.cos((Math.PI * (j - 0.25)) / (NODES + 0.5)), squares = 0;
    for (let step = 0; step < 20; step++) {
      let before = 0, now = 1, dBefore = 0, dNow = 0;
      squares = 0;
      for (let k = 0; k < NODES; k++) {
        squares += now * now;
        const next = (x * now - beside[k] * before) / beside[k + 1];
        const dNext = (now + x * dNow - beside[k] * dBefore) / beside[k + 1];
        [before, now, dBefore, dNow] = [now, next, dNow, dNext];
      }
      const move = now / dNow;
      x -= move;
      if (Math.abs(move) < 1e-11 * count) break;
    }
    nodes.push([middle + x, count / squares]);
  }
  return nodes;
};

// Ranks and weights for sums over 1 ... last of n: all of them where they are few, else those near
// both ends and Gauss nodes of blocks in between (as `estimators.quadrature` in Python).
SM.rankRule = (n, m, last) => {
  const rule = [];
  const edge = Math.max(2 * m, 512);
  for (let first = 1; first <= last; ) {
    let count = 1;
    if (n > 4096 && first > edge && first <= n - edge) {
      const share = first / n;
      const width = Math.min(
        0.25 * Math.min(first, n - first), 2 * n * Math.sqrt((share * (1 - share)) / m));
      count = Math.min(Math.max(1, Math.floor(width)), n - edge + 1 - first, last + 1 - first);
    }
    if (count >= 8 * NODES) rule.push(...SM.gaussSum(first, count));
    else for (let r = first; r < first + count; r++) rule.push([r, 1]);
    first += count;
  }
  return rule;
};

// Mean of the metric given the sampled rank under a uniform prior, E[M | i]: the estimator of
// gamma = 1 (eq. 26). Every sampled rank then has probability 1/(m + 1).
SM.posteriorMean = (measure, n, m) => {
  if (measure.kind === "auc") {
    return Float64Array.from({ length: m + 1 }, (_, i) =>
      (n - ((i + 1) * (n + 1)) / (m + 2)) / (n - 1));
  }
  const mean = new Float64Array(m + 1), rows = new SM.Rows(n, m);
  for (const [r, weight] of SM.rankRule(n, m, Math.min(n, measure.cutoff))) {
    const { lo, hi, values } = rows.at(r);
    const scale = (weight * measure.at(r, n) * (m + 1)) / n;
    for (let i = lo; i <= hi; i++) mean[i] += scale * values[i];
  }
  return mean;
};

// Distribution of the sampled rank given the true rank, without replacement (section 4.3), and
// sums over true ranks.

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

SM.dot = (a, b) => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
};

// Expectation of an estimator at some true ranks.
SM.expectedAt = (ranks, n, vector) => {
  const rows = new SM.Rows(n, vector.length - 1);
  return Array.from(ranks, (r) => rows.at(r).dot(vector));
};

// Ranks and weights for sums over 1 ... last of n: single ranks near both ends, and in between three
// Gauss nodes for each block, which is narrow beside the spread of the true rank.
SM.rankRule = (n, m, last) => {
  const rule = [], edge = Math.max(2 * m, 512);
  for (let first = 1, count; first <= last; first += count) {
    const share = first / n, deviation = n * Math.sqrt((share * (1 - share)) / m);
    const width = Math.floor(Math.min(0.25 * deviation, 0.1 * Math.min(first, n - first)));
    const inner = first > edge && first + width <= Math.min(n - edge, last);
    count = inner ? Math.max(1, width) : 1;
    if (count < 4) {
      count = 1;
      rule.push([first, 1]);
      continue;
    }
    const middle = first + (count - 1) / 2, square = (3 * count ** 2 - 7) / 20;
    const weight = (count * (count ** 2 - 1)) / (24 * square), beside = Math.sqrt(square);
    rule.push([middle - beside, weight], [middle, count - 2 * weight], [middle + beside, weight]);
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

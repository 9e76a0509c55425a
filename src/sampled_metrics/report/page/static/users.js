// Recommenders given by the true ranks of their users: distribution, mean and variance of sampled
// evaluations, and the order of two of them.
"use strict";

// Kinds of users: `n` candidates, `better` and `tied` ones, and `count` users of each kind.
SM.decodeRecords = (text) => {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const all = new Uint32Array(bytes.buffer), size = all.length / 4;
  const [n, better, tied, count] = [0, 1, 2, 3].map((i) => all.subarray(i * size, (i + 1) * size));
  return { n, better, tied, count, users: count.reduce((sum, number) => sum + number, 0) };
};

// Rows of p(i | r) that make up the distribution of each kind of users: `untied(row, u)` gets that
// of a user without ties, `tied(row, scale, u)` two rows whose scaled sum is to be cumulated, for
// sum over r <= R of p(i | r) = n/(m + 1) P(more than i of m + 1 draws from n are <= R).
function eachRow(records, m, untied, tied) {
  const rows = new Map(), longer = new Map();
  const rowsOf = (cache, n, size) => {
    if (!cache.has(n)) cache.set(n, new SM.Rows(n, size));
    return cache.get(n);
  };
  for (let u = 0; u < records.n.length; u++) {
    const n = records.n[u], rank = records.better[u] + 1, ties = records.tied[u];
    if (!ties) untied(rowsOf(rows, n, m).at(rank), u);
    else {
      const row = rowsOf(longer, n + 1, m + 1), scale = n / ((m + 1) * (ties + 1));
      tied(row.at(rank), scale, u);
      tied(row.at(rank + ties + 1), -scale, u);
    }
  }
}

// Probability of every sampled rank, averaged over users.
SM.meanDistribution = (records, m) => {
  const mean = new Float64Array(m + 1), steps = new Float64Array(m + 2);
  const adding = (sums) => (row, scale) => {
    for (let i = row.lo; i <= row.hi; i++) sums[i] += scale * row.values[i];
  };
  const toMean = adding(mean), toSteps = adding(steps);
  eachRow(records, m,
    (row, u) => toMean(row, records.count[u] / records.users),
    (row, scale, u) => toSteps(row, (scale * records.count[u]) / records.users));
  for (let i = 0, sum = 0; i <= m; i++) mean[i] += sum += steps[i];
  return mean;
};

// Mean of an estimate over users and negatives, and its variance over the negatives of one user,
// averaged over users.
SM.outlook = (records, vector) => {
  const m = vector.length - 1, squares = vector.map((value) => value * value);
  const tails = [vector, squares].map((values) => {
    const tail = new Float64Array(m + 2);
    for (let i = m; i >= 0; i--) tail[i] = tail[i + 1] + values[i];
    return tail;
  });
  const own = new Float64Array(records.n.length), ownSquare = new Float64Array(records.n.length);
  eachRow(records, m, (row, u) => {
    own[u] = row.dot(vector);
    ownSquare[u] = row.dot(squares);
  }, (row, scale, u) => {
    own[u] += scale * row.dot(tails[0]);
    ownSquare[u] += scale * row.dot(tails[1]);
  });
  let mean = 0, within = 0;
  for (let u = 0; u < own.length; u++) {
    const share = records.count[u] / records.users;
    mean += share * own[u];
    within += share * Math.max(ownSquare[u] - own[u] ** 2, 0);
  }
  return { mean, within };
};

// Distribution function of the normal distribution, by its series about 0.
SM.normal = (z) => {
  if (Math.abs(z) > 8) return Number(z > 0);
  let sum = 0;
  for (let term = z, k = 3; sum + term !== sum; k += 2) {
    sum += term;
    term *= (z * z) / k;
  }
  return 0.5 + (sum * Math.exp((-z * z) / 2)) / Math.sqrt(2 * Math.PI);
};

// Probability that the estimates of two recommenders are ordered as their exact metrics are, if
// negatives are drawn independently for each and the difference is normal. `a` and `b` hold an
// outlook, the number of `users` and the `exact` metric.
SM.ordering = (a, b) => {
  const difference = b.mean - a.mean;
  const sd = Math.sqrt(a.within / a.users + b.within / b.users);
  const right = Math.sign(b.exact - a.exact) * difference;
  const scale = Math.max(Math.abs(a.mean), Math.abs(b.mean));
  const still = Math.abs(right) <= 1e-13 * scale ? 0.5 : Number(right > 0);
  return { difference, sd, probability: sd > 0 ? SM.normal(right / sd) : still };
};

// Sizes at which two curves change their order, interpolated on a logarithmic scale; curves that are
// equal up to rounding have no order.
SM.changes = (sizes, first, second) => {
  const found = [];
  const signed = (i) => {
    const difference = first[i] - second[i];
    return Math.abs(difference) > 1e-12 * Math.abs(first[i]) ? difference : 0;
  };
  for (let i = 1, last = 0; i < sizes.length; i++) {
    const before = signed(i - 1), now = signed(i);
    if (before !== 0) last = Math.sign(before);
    if (now === 0 || last === 0 || Math.sign(now) === last) continue;
    const share = before / (before - now);
    const size = sizes[i - 1] * (sizes[i] / sizes[i - 1]) ** share;
    found.push({ size, value: first[i - 1] + share * (first[i] - first[i - 1]) });
  }
  return found;
};

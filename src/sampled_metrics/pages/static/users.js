// Recommenders given by the true ranks of their users: distribution, mean and variance of sampled
// evaluations, and the order of two of them.

// Kinds of users: `n` candidates, `better` and `tied` ones, and `count` users of each kind.
SM.decodeRecords = ({ bytes, text }) => {
  const raw = Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  const all = bytes === 2 ? new Uint16Array(raw) : new Uint32Array(raw), size = all.length / 4;
  const [n, better, tied, count] = [0, 1, 2, 3].map((i) => all.subarray(i * size, (i + 1) * size));
  return { n, better, tied, count, users: count.reduce((sum, number) => sum + number, 0) };
};

// Calls `visit(values, low, high, u)` with the distribution of the sampled rank of each kind of users,
// which is 0 beyond its entries `low` to `high`; the next call overwrites `values`. With ties it is the
// mean over their ranks, by sum over r <= R of p(i | r) = n/(m + 1) P(more than i of m + 1 draws from n
// are <= R).
SM.eachUser = (records, m, visit) => {
  const row = new SM.Rows(0, m), edge = new SM.Rows(0, m + 1), steps = new Float64Array(m + 2);
  for (let u = 0; u < records.n.length; u++) {
    const n = records.n[u], rank = records.better[u] + 1, ties = records.tied[u];
    if (!ties) {
      row.n = n;
      row.at(rank);
      visit(row.values, row.lo, row.hi, u);
      continue;
    }
    steps.fill(0);
    edge.n = n + 1;
    for (const [place, sign] of [[rank, 1], [rank + ties + 1, -1]]) {
      const { lo, hi, values } = edge.at(place), scale = (sign * n) / ((m + 1) * (ties + 1));
      for (let i = lo; i <= hi; i++) steps[i] += scale * values[i];
    }
    for (let i = 1; i <= m; i++) steps[i] += steps[i - 1];
    visit(steps, 0, m, u);
  }
};

// Probability of every sampled rank, averaged over users.
SM.meanDistribution = (records, m) => {
  const mean = new Float64Array(m + 1);
  SM.eachUser(records, m, (values, low, high, u) => {
    const share = records.count[u] / records.users;
    for (let i = low; i <= high; i++) mean[i] += share * values[i];
  });
  return mean;
};

// Mean of an estimate over users and negatives, and its variance over the negatives of one user,
// averaged over users.
SM.outlook = (records, vector) => {
  let mean = 0, within = 0;
  SM.eachUser(records, vector.length - 1, (values, low, high, u) => {
    let own = 0, square = 0;
    for (let i = low; i <= high; i++) {
      const part = values[i] * vector[i];
      own += part;
      square += part * vector[i];
    }
    const share = records.count[u] / records.users;
    mean += share * own;
    within += share * Math.max(square - own * own, 0);
  });
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
  const crossings = [];
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
    crossings.push({ size, value: first[i - 1] + share * (first[i] - first[i - 1]) });
  }
  return crossings;
};

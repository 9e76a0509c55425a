// Recommenders by the true ranks of their users, and what an evaluation of them is expected to give.
"use strict";

// Kinds of users: n candidates, `better` and `tied` ones, and `count` users of each kind.
SM.records = (columns) => {
  const users = columns.count.reduce((a, b) => a + b, 0);
  return { ...columns, users };
};

SM.decodeRecords = (text) => {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const all = new Uint32Array(bytes.buffer), size = all.length / 4;
  const column = (i) => all.subarray(i * size, (i + 1) * size);
  return SM.records({ n: column(0), better: column(1), tied: column(2), count: column(3) });
};

// Calls `each(row, scale, u)` with the rows of p(i | r) that make up a user's distribution: one for
// a user without ties; for one with ties two, whose difference is to be cumulated, for
// sum over r <= R of p(i | r) = n/(m + 1) P(more than i of m + 1 draws from n are <= R).
function eachRow(records, m, untied, cumulated) {
  const rows = new Map(), longer = new Map();
  const of = (kept, n, size) => {
    if (!kept.has(n)) kept.set(n, new SM.Rows(n, size));
    return kept.get(n);
  };
  for (let u = 0; u < records.n.length; u++) {
    const n = records.n[u], rank = records.better[u] + 1, tied = records.tied[u];
    if (!tied) untied(of(rows, n, m).at(rank), u);
    else {
      const row = of(longer, n + 1, m + 1), scale = n / ((m + 1) * (tied + 1));
      cumulated(row.at(rank), scale, u);
      cumulated(row.at(rank + tied + 1), -scale, u);
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

// Expectation of the estimate over users and negatives, and its variance over negatives averaged
// over users, for one user (`Population.outlook` in Python).
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

// The distributions of sampled ranks of few kinds of users, each from its first entry on, to be used
// again for many vectors: `starts` of rows in `values`, and `lows`, the place of the first entry.
SM.table = (records, m) => {
  const rows = [];
  eachRow(records, m, (row, u) => {
    rows[u] = [row.lo, row.values.slice(row.lo, row.hi + 1)];
  }, (row, scale, u) => {
    const steps = rows[u]?.[1] ?? new Float64Array(m + 1);
    for (let i = row.lo; i <= Math.min(row.hi, m); i++) steps[i] += scale * row.values[i];
    if (scale < 0) for (let i = 1; i <= m; i++) steps[i] += steps[i - 1];
    rows[u] = [0, steps];
  });
  const starts = new Uint32Array(rows.length + 1);
  rows.forEach(([, entries], u) => { starts[u + 1] = starts[u] + entries.length; });
  const values = new Float32Array(starts[rows.length]);
  rows.forEach(([, entries], u) => values.set(entries, starts[u]));
  return { starts, values, lows: Uint16Array.from(rows, ([low]) => low), count: records.count, users: records.users };
};

// Variance over negatives of one user's estimate, averaged over the users of a table.
SM.within = ({ starts, values, lows, count, users }, vector) => {
  let sum = 0;
  for (let u = 0; u < lows.length; u++) {
    let own = 0, square = 0;
    for (let place = starts[u], i = lows[u]; place < starts[u + 1]; place++, i++) {
      const part = values[place] * vector[i];
      own += part;
      square += part * vector[i];
    }
    sum += count[u] * Math.max(square - own * own, 0);
  }
  return sum / users;
};

// Few kinds of users that stand for many: evenly spaced in the order of their ranks' share of the
// candidates, each with its share of the users.
SM.thinned = (records, most) => {
  if (records.n.length <= most) return records;
  const place = (u) => (records.better[u] + records.tied[u] / 2) / (records.n[u] - 1);
  const order = Uint32Array.from(records.n.keys()).sort((a, b) => place(a) - place(b));
  const chosen = [];
  let passed = 0, wanted = records.users / most / 2;
  for (const u of order) {
    passed += records.count[u];
    for (; passed >= wanted && chosen.length < most; wanted += records.users / most) chosen.push(u);
  }
  const pick = (column) => Float64Array.from(chosen, (u) => column[u]);
  return SM.records({ n: pick(records.n), better: pick(records.better), tied: pick(records.tied), count: new Float64Array(chosen.length).fill(1) });
};

// Probability that the estimates of two recommenders, negatives drawn independently for each, are
// ordered as their exact metrics are, the difference being normal. `a` and `b` hold the outlook of
// one user, the number of `users` and the `exact` metric.
SM.ordering = (a, b) => {
  const difference = b.mean - a.mean;
  const sd = Math.sqrt(a.within / a.users + b.within / b.users);
  const right = Math.sign(b.exact - a.exact) * difference;
  const scale = Math.max(Math.abs(a.mean), Math.abs(b.mean));
  const still = Math.abs(right) <= 1e-13 * scale ? 0.5 : Number(right > 0);
  return { difference, sd, probability: sd > 0 ? SM.normal(right / sd) : still };
};

// Sizes at which two curves change their order, by interpolation against the logarithm of the size.
// Where they are equal up to rounding they have none.
SM.changes = (sizes, first, second) => {
  const found = [];
  const apart = (i) => {
    const difference = first[i] - second[i];
    return Math.abs(difference) > 1e-12 * Math.abs(first[i]) ? difference : 0;
  };
  for (let i = 1, last = 0; i < sizes.length; i++) {
    const before = apart(i - 1), now = apart(i);
    if (before !== 0) last = Math.sign(before);
    if (now === 0 || last === 0 || Math.sign(now) === last) continue;
    const share = before / (before - now);
    const size = sizes[i - 1] * (sizes[i] / sizes[i - 1]) ** share;
    found.push({ size, value: first[i - 1] + share * (first[i] - first[i - 1]) });
  }
  return found;
};

// Ranks 1 ... n in blocks, narrow ones first, each a kind of users with ties
// (`population.rank_blocks` in Python).
const SINGLE_RANKS = 1000;
const BLOCKS_PER_E_FOLD = 200;
SM.rankBlocks = (n) => {
  const starts = Array.from({ length: Math.min(n, SINGLE_RANKS) }, (_, r) => r);
  for (let step = 0; ; step++) {
    const start = Math.floor(SINGLE_RANKS * Math.exp(step / BLOCKS_PER_E_FOLD));
    if (start >= n) break;
    if (start > starts.at(-1)) starts.push(start);
  }
  const widths = starts.map((start, i) => (starts[i + 1] ?? n) - start);
  return SM.records({ n: starts.map(() => n), better: starts, tied: widths.map((w) => w - 1), count: widths });
};

// Shares of sampled ranks that a smooth distribution of true ranks gives which fits those counted:
// a few steps of expectation maximisation (`Population.smoothed` in Python).
const SMOOTHING_ITERATIONS = 30;
SM.smoothed = (counts, n) => {
  const { starts, values, lows, count } = SM.table(SM.rankBlocks(n), counts.length - 1);
  const users = counts.reduce((a, b) => a + b, 0);
  const share = Float64Array.from(count, (width) => width / n);
  const given = () => {
    const mean = new Float64Array(counts.length);
    for (let b = 0; b < lows.length; b++) {
      for (let place = starts[b], i = lows[b]; place < starts[b + 1]; place++, i++) mean[i] += share[b] * values[place];
    }
    return mean;
  };
  for (let step = 0; step < SMOOTHING_ITERATIONS; step++) {
    const now = given(), ratio = now.map((q, i) => (counts[i] ? counts[i] / users / q : 0));
    for (let b = 0; b < lows.length; b++) {
      let sum = 0;
      for (let place = starts[b], i = lows[b]; place < starts[b + 1]; place++, i++) sum += values[place] * ratio[i];
      share[b] *= sum;
    }
  }
  const fitted = given(), total = fitted.reduce((a, b) => a + b, 0);
  return fitted.map((value) => value / total);
};

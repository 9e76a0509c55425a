// Metrics of one relevant item as functions of its rank (eq. 7-13), as fractions.
"use strict"; // of all scripts: the page joins them, this one first

const SM = {};

SM.METRICS = {
  recall: { label: "Recall@k", cutoff: true, at: () => 1 },
  ndcg: { label: "NDCG@k", cutoff: true, at: (r) => 1 / Math.log2(r + 1) },
  ap: { label: "AP@k", cutoff: true, at: (r) => 1 / r },
  precision: { label: "Precision@k", cutoff: true, at: (r, n, k) => 1 / k },
  "ap-all": { label: "AP", cutoff: false, at: (r) => 1 / r },
  "ndcg-all": { label: "NDCG", cutoff: false, at: (r) => 1 / Math.log2(r + 1) },
  auc: { label: "AUC", cutoff: false, at: (r, n) => (n - r) / (n - 1) },
};

// A metric and its cut-off: `at(rank, n)` and the last rank at which it is not zero.
SM.measure = (kind, k) => {
  const { label, cutoff, at } = SM.METRICS[kind];
  return {
    kind,
    key: cutoff ? `${kind}@${k}` : kind,
    label: cutoff ? label.replace("k", String(k)) : label,
    cutoff: cutoff ? k : Infinity,
    at: (r, n) => (cutoff && r > k ? 0 : at(r, n, k)),
  };
};

// Exact metric averaged over users, and for each over a uniformly random order of the ties: ranks
// b + 1 ... b + e + 1 are equally likely.
SM.exactMean = (measure, { n, better, tied, count, users }) => {
  const auc = measure.kind === "auc", last = better.reduce((most, b, u) => Math.max(most, b + tied[u] + 1), 0);
  const sums = new Float64Array(last + 1);
  for (let r = 1; r <= last && !auc; r++) sums[r] = sums[r - 1] + measure.at(r, n[0]);
  let total = 0;
  for (let u = 0; u < n.length; u++) {
    const low = better[u], high = low + tied[u] + 1;
    total += count[u] * (auc ? measure.at((low + 1 + high) / 2, n[u]) : (sums[high] - sums[low]) / (high - low));
  }
  return total / users;
};

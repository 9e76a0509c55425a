// Every estimator as a vector over sampled ranks 1 ... m + 1 (section 5).

SM.ESTIMATORS = {
  sampled: "Sampled, uncorrected",
  "rank-estimate": "Rank estimate",
  cls: "CLS, constrained least squares",
  bv: "BV, bias-variance trade-off",
};

// Vectors that do not depend on gamma, for the most recent settings.
const KEPT = new Map();
const MOST_KEPT = 800;

function kept(name, measure, n, m, make) {
  const key = [name, measure.key, n, m].join(" ");
  if (!KEPT.has(key)) {
    if (KEPT.size >= MOST_KEPT) KEPT.delete(KEPT.keys().next().value);
    KEPT.set(key, make());
  }
  return KEPT.get(key);
}

SM.vector = ({ name, gamma }, measure, n, m) => {
  const pointwise = (at) => Float64Array.from({ length: m + 1 }, (_, i) => at(i));
  if (name === "sampled" || (name === "cls" && measure.kind === "auc")) { // unbiased for AUC
    return pointwise((i) => measure.at(i + 1, m + 1));
  }
  if (name === "rank-estimate") {
    return pointwise((i) => measure.at(1 + Math.floor(((n - 1) * i) / (m + 1)), n));
  }
  const mean = kept("mean", measure, n, m, () => SM.posteriorMean(measure, n, m));
  if (name === "bv") return SM.biasVariance(mean, n, gamma);
  return kept("cls", measure, n, m, () => SM.monotone(mean, n));
};

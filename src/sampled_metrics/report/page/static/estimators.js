// Every estimator as a vector over sampled ranks 1 ... m + 1 (section 5).
"use strict";

SM.ESTIMATORS = {
  sampled: "Sampled, uncorrected",
  "rank-estimate": "Rank estimate",
  cls: "CLS, constrained least squares",
  bv: "BV, bias-variance trade-off",
};

const MEANS = new Map(); // what does not depend on gamma, most recent last
const MOST_MEANS = 400;

function posteriorMean(measure, n, m) {
  const key = `${measure.key} ${n} ${m}`;
  if (!MEANS.has(key)) {
    if (MEANS.size >= MOST_MEANS) MEANS.delete(MEANS.keys().next().value);
    MEANS.set(key, SM.posteriorMean(measure, n, m));
  }
  return MEANS.get(key);
}

const CONSTRAINED = new Map();

// `estimator` is { name, gamma }.
SM.vector = (estimator, measure, n, m) => {
  if (estimator.name === "sampled") {
    return Float64Array.from({ length: m + 1 }, (_, i) => measure.at(i + 1, m + 1));
  }
  if (estimator.name === "rank-estimate") {
    return Float64Array.from({ length: m + 1 }, (_, i) =>
      measure.at(1 + Math.floor(((n - 1) * i) / (m + 1)), n));
  }
  const mean = posteriorMean(measure, n, m);
  if (estimator.name === "bv") return SM.biasVariance(mean, n, estimator.gamma);
  if (measure.kind === "auc") return SM.vector({ name: "sampled" }, measure, n, m); // unbiased
  const key = `${measure.key} ${n} ${m}`;
  if (!CONSTRAINED.has(key)) {
    if (CONSTRAINED.size >= MOST_MEANS) CONSTRAINED.delete(CONSTRAINED.keys().next().value);
    CONSTRAINED.set(key, SM.monotone(mean, n));
  }
  return CONSTRAINED.get(key);
};

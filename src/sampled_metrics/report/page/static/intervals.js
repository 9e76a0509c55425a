// Standard errors and intervals of a mean over users, as `sampled_metrics.intervals` in Python.
"use strict";

const PRIOR_USERS = 0.5;
const LIKELY_USERS = 50;
const LEAST_CURVATURE = -2;

// log Gamma by Stirling's series after a shift; relative error about 1e-15.
SM.logGamma = (x) => {
  let shift = 0;
  for (; x < 10; x++) shift += Math.log(x);
  const s = 1 / (x * x);
  const series = (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s / 1188)))) / x;
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series - shift;
};

// Regularised incomplete beta function, by Lentz's continued fraction.
SM.incompleteBeta = (a, b, x) => {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - SM.incompleteBeta(b, a, 1 - x);
  const front = Math.exp(SM.logGamma(a + b) - SM.logGamma(a) - SM.logGamma(b)
    + a * Math.log(x) + b * Math.log1p(-x)) / a;
  let c = 1, d = 1 / (1 - ((a + b) * x) / (a + 1)), fraction = d;
  for (let m = 1; m < 10000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    let step = 1;
    for (const term of [even, odd]) {
      d = 1 / (1 + term * d);
      c = 1 + term / c;
      step = c * d;
      fraction *= step;
    }
    if (Math.abs(step - 1) < 1e-15) break;
  }
  return front * fraction;
};

// Regularised incomplete gamma functions of 1/2 give the normal distribution.
SM.normal = (z) => {
  const x = (z * z) / 2;
  if (x > 700) return z > 0 ? 1 : 0;
  let tail;
  if (x < 2) {
    let term = 2 * Math.sqrt(x / Math.PI), sum = term;
    for (let k = 1; term > 1e-17 * sum; k++) sum += term *= x / (k + 0.5);
    tail = (1 - sum * Math.exp(-x)) / 2;
  } else {
    let b = x + 0.5, c = 1e300, d = 1 / b, fraction = d;
    for (let i = 1; i < 500; i++) {
      const a = -i * (i - 0.5);
      b += 2;
      d = 1 / (a * d + b);
      c = b + a / c;
      fraction *= c * d;
      if (Math.abs(c * d - 1) < 1e-15) break;
    }
    tail = (Math.exp(-x) * Math.sqrt(x / Math.PI) * fraction) / 2;
  }
  return z > 0 ? 1 - tail : tail;
};

// Quantile of Student's distribution, for p above 1/2: bisection of the upper tail.
SM.studentQuantile = (df, p) => {
  const tail = (t) => SM.incompleteBeta(df / 2, 0.5, df / (df + t * t)) / 2;
  let low = 0, high = 1;
  while (tail(high) > 1 - p && high < 1e12) high *= 2;
  for (let i = 0; i < 100 && high - low > 1e-13 * high; i++) {
    const middle = (low + high) / 2;
    if (tail(middle) > 1 - p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
};

// Mean, central moments and range of values with weights.
SM.shape = (values, weights) => {
  let total = 0, mean = 0, second = 0, third = 0, fourth = 0, low = Infinity, high = -Infinity;
  for (let i = 0; i < values.length; i++) {
    total += weights[i];
    mean += weights[i] * values[i];
    low = Math.min(low, values[i]);
    high = Math.max(high, values[i]);
  }
  mean /= total;
  for (let i = 0; i < values.length; i++) {
    const d = values[i] - mean, share = weights[i] / total;
    second += share * d * d;
    third += share * d ** 3;
    fourth += share * d ** 4;
  }
  return { mean, second, third, fourth, low, high };
};

// Second to fourth moments of a shape about a centre.
const momentsAbout = (shape, centre) => {
  const d = shape.mean - centre;
  return [
    shape.second + d ** 2,
    shape.third + 3 * d * shape.second + d ** 3,
    shape.fourth + 4 * d * shape.third + 6 * d ** 2 * shape.second + d ** 4,
  ];
};

// A mean of users with its standard error and interval; `prior` is the shape at a random rank,
// `likely` that of a smooth distribution fitted to the users, or null.
SM.estimate = (observed, users, prior, confidence, likely) => {
  const { mean } = observed;
  if (users < 2) return { value: mean, stdError: NaN, low: NaN, high: NaN, users };
  const joined = [[observed, users], [prior, PRIOR_USERS]];
  if (likely) joined.push([likely, LIKELY_USERS]);
  const total = joined.reduce((sum, [, number]) => sum + number, 0);
  const [second, third, fourth] = [0, 1, 2].map((i) =>
    joined.reduce((sum, [shape, number]) => sum + number * momentsAbout(shape, mean)[i], 0) / total);
  const stdError = Math.sqrt(observed.second / (users - 1));
  if (second <= 0) return { value: mean, stdError, low: mean, high: mean, users };
  const curvature = fourth / second ** 2 - 3 - third ** 2 / second ** 3;
  const step = SM.studentQuantile(users - 1, (1 + confidence) / 2) ** 2 / users;
  const leading = Math.max(1 - (step * Math.max(curvature, LEAST_CURVATURE)) / 2, 0.5);
  const middle = (step * third) / second;
  const root = Math.sqrt(middle ** 2 + (4 * leading * step * second * users) / (users - 1));
  return {
    value: mean,
    stdError,
    low: Math.max(mean + (middle - root) / (2 * leading), Math.min(prior.low, mean)),
    high: Math.min(mean + (middle + root) / (2 * leading), Math.max(prior.high, mean)),
    users,
  };
};

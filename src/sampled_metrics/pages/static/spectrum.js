// Singular value decomposition of the matrix of section 5.2 under a uniform prior.
//
// Without replacement, p(i | r) maps the discrete Chebyshev polynomials of m + 1 points to those of
// n points, so these are its singular functions, with squared singular values
//   prod over j = 1 ... l of (m + 1 - j)(n + j) / ((m + 1 + j)(n - j)).

SM.squaredSingularValues = (n, m) => {
  const squares = new Float64Array(m + 1);
  for (let l = 0, square = 1; l <= m; l++) {
    if (l) square *= ((m + 1 - l) * (n + l)) / ((m + 1 + l) * (n - l));
    squares[l] = square;
  }
  return squares;
};

// The polynomials on 0 ... m with mean square 1, by their difference equation from the left end,
// where they are smallest, to the middle; degree l is even or odd about it as l is.
SM.Polynomials = class {
  constructor(m) {
    this.size = m + 1;
    this.half = (m + 2) >> 1; // the middle included
    this.up = new Float64Array(this.half);
    this.down = new Float64Array(this.half);
    for (let x = 0; x < this.half; x++) {
      this.up[x] = (x + 1) * (x - m);
      this.down[x] = x * (x - m - 1);
    }
    this.values = new Float64Array(this.half);
  }

  // Values at 0 ... half - 1, in an array that the next call overwrites.
  of(degree) {
    const { up, down, values, half, size } = this;
    const eigenvalue = degree * (degree + 1);
    let before = 0, now = 1, sum = 0;
    for (let x = 0; x < half; x++) {
      values[x] = now;
      sum += now * now;
      if (up[x] === 0) break;
      const next = ((eigenvalue + up[x] + down[x]) * now - down[x] * before) / up[x];
      before = now;
      now = next;
      if (Math.abs(now) > 1e100) {
        for (let j = 0; j <= x; j++) values[j] *= 1e-100;
        [before, now, sum] = [before * 1e-100, now * 1e-100, sum * 1e-200];
      }
    }
    const middle = size % 2 ? values[half - 1] ** 2 : 0;
    const scale = Math.sqrt(size / (2 * sum - middle));
    for (let x = 0; x < half; x++) values[x] *= scale;
    return values;
  }
};

// Minimiser of bias^2 + gamma variance (eq. 25) from that of gamma = 1: each of its components
// divided by (1 - gamma) s^2 + gamma.
SM.biasVariance = (mean, n, gamma) => {
  const m = mean.length - 1, squares = SM.squaredSingularValues(n, m);
  const polynomials = new SM.Polynomials(m), { half } = polynomials;
  const halves = [0, 1].map((odd) => Float64Array.from({ length: half }, (_, x) => {
    const mirrored = odd ? -mean[m - x] : mean[m - x];
    return m === 2 * x ? mean[x] / 2 + mirrored / 2 : mean[x] + mirrored;
  }));
  const sums = [new Float64Array(half), new Float64Array(half)];
  for (let l = 0; l <= m && squares[l] ** 1.5 > 1e-10 * gamma ** 2; l++) {
    const values = polynomials.of(l), own = halves[l % 2], sum = sums[l % 2];
    let share = 0;
    for (let x = 0; x < half; x++) share += own[x] * values[x];
    share *= (1 / ((1 - gamma) * squares[l] + gamma) - 1 / gamma) / (m + 1);
    for (let x = 0; x < half; x++) sum[x] += share * values[x];
  }
  return Float64Array.from(mean, (value, i) => {
    const left = i < half, x = left ? i : m - i;
    return value / gamma + sums[0][x] + (left ? sums[1][x] : -sums[1][x]);
  });
};

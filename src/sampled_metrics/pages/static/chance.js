// Probabilities of ranks among random items.

let logs = [0];

// Logarithms of the factorials of 0 ... n.
function logFactorials(n) {
  if (logs.length <= n) {
    logs = new Float64Array(n + 1);
    for (let i = 2; i <= n; i++) logs[i] = logs[i - 1] + Math.log(i);
  }
  return logs;
}

// Probability that i of m random items, drawn without replacement, are above true rank r of n.
function chance(i, r, n, m) {
  const f = logFactorials(n);
  if (i > r - 1 || m - i > n - r) return 0;
  const ways = f[r - 1] - f[i] - f[r - 1 - i] + f[n - r] - f[m - i] - f[n - r - m + i];
  return Math.exp(ways - f[n - 1] + f[m] + f[n - 1 - m]);
}

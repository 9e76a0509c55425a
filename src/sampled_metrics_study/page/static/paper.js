// Range of an exact metric that printed sampled metrics allow, as `sampled_metrics.reported`.

// Normal quantiles of intervals that hold together at 95 %, for one and two numbers.
const QUANTILES = [1.959964, 2.241403];
const TINY = 1e-11;
const MOST_ITEMS = 1e6;
const MOST_LAST = 0.95; // share of held-out items that come last, whatever the shape
const CREDITS = {
  hr: (rank) => (rank <= 10 ? 1 : 0),
  ndcg: (rank) => (rank <= 10 ? 1 / Math.log2(rank + 1) : 0),
};
const METRICS = { hr: "HR@10", ndcg: "NDCG@10" };

// Means of a function of the rank over the ranks 1 ... k, for each k.
function meansUpTo(n, value) {
  const means = new Float64Array(n);
  for (let k = 1, sum = 0; k <= n; k++) {
    sum += value(k);
    means[k - 1] = sum / k;
  }
  return means;
}

const sampledMeans = (credit, n, m) => meansUpTo(n, (r) => {
  let mean = 0;
  for (let i = 0; i < Math.min(10, m + 1); i++) mean += credit(i + 1) * chance(i, r, n, m);
  return mean;
});

// With one more column: held-out items that come last of all, whatever the shape.
function withLast(means, last) {
  const all = new Float64Array(means.length + 1);
  all.set(means);
  all[means.length] = last;
  return all;
}

// Mixtures of columns whose means `given` are from `low` to `high`, by the revised simplex method.
// Returns a function that minimises a cost over them, or null if there are none.
function programme(given, low, high) {
  const n = given[0].length;
  const rows = 2 * given.length + 1;
  const unit = (i, size) => Array.from({ length: rows }, (_, j) => (i === j ? size : 0));
  const column = (j) => { // mixed, then slack (below high, above low), then artificial
    if (j < n) return [...given.flatMap((g) => [g[j], g[j]]), 1];
    return j < n + rows - 1 ? unit(j - n, (j - n) % 2 ? -1 : 1) : unit(j - n - rows + 1, 1);
  };
  const basis = Array.from({ length: rows }, (_, i) => n + rows - 1 + i);
  const inverse = basis.map((_, i) => unit(i, 1));
  const x = [...given.flatMap((_, q) => [high[q], low[q]]), 1];
  const minimise = (cost) => {
    for (let turn = 0; turn < 2000; turn++) {
      const dual = inverse[0].map((_, i) =>
        basis.reduce((sum, j, row) => sum + cost(j) * inverse[row][i], 0));
      const weights = given.map((_, q) => dual[2 * q] + dual[2 * q + 1]);
      let least = -TINY;
      let enters = -1;
      for (let j = 0; j < n + rows - 1; j++) {
        let price = cost(j);
        if (j >= n) price -= dual[j - n] * ((j - n) % 2 ? -1 : 1);
        else {
          price -= dual[rows - 1];
          for (let q = 0; q < given.length; q++) price -= weights[q] * given[q][j];
        }
        if (price < least) [least, enters] = [price, j];
      }
      if (enters < 0) break;
      const entering = column(enters);
      const step = inverse.map((row) => row.reduce((sum, v, i) => sum + v * entering[i], 0));
      const ratio = (i) => (step[i] > 1e-10 ? x[i] / step[i] : Infinity);
      const leaves = basis.reduce((best, _, i) => (ratio(i) < ratio(best) ? i : best), 0);
      if (ratio(leaves) === Infinity) break;
      const size = step[leaves];
      inverse[leaves] = inverse[leaves].map((v) => v / size);
      x[leaves] /= size;
      for (let i = 0; i < rows; i++) {
        if (i === leaves) continue;
        inverse[i] = inverse[i].map((v, j) => v - step[i] * inverse[leaves][j]);
        x[i] = Math.max(x[i] - step[i] * x[leaves], 0);
      }
      basis[leaves] = enters;
    }
    return basis.reduce((sum, j, i) => sum + cost(j) * x[i], 0);
  };
  if (minimise((j) => (j < n + rows - 1 ? 0 : 1)) > 1e-9) return null;
  return (costs) => minimise((j) => (j < n ? costs[j] : 0));
}

// One end of Wilson's interval; `share` is the squared quantile by users.
const wilson = (v, sign, share) =>
  (v + share / 2 + sign * Math.sqrt(share * v * (1 - v) + share ** 2 / 4)) / (1 + share);

// Lowest and highest exact metrics by name, or null if the printed texts contradict each other.
function reported(printed, n, m, users) {
  const known = Object.keys(printed);
  const share = users ? QUANTILES[known.length - 1] ** 2 / users : 0;
  const halves = known.map((name) => 0.5 / 10 ** (printed[name].split(".")[1] ?? "").length);
  const end = (sign) => known.map((name, q) =>
    wilson(Math.min(Math.max(Number(printed[name]) + sign * halves[q], 0), 1), sign, share));
  const given = known.map((name) =>
    withLast(sampledMeans(CREDITS[name], n, m), CREDITS[name](m + 1)));
  given.push(withLast(new Float64Array(n), 1));
  const least = programme(given, [...end(-1), 0], [...end(1), MOST_LAST]);
  return least && Object.fromEntries(known.map((name) => {
    const exact = withLast(meansUpTo(n, CREDITS[name]), CREDITS[name](n));
    return [name, [least(exact), -least(exact.map((v) => -v))]];
  }));
}

const FIELDS = ["hr", "ndcg", "of", "n", "users"];

const typed = () => Object.fromEntries(FIELDS.map((id) => [id, element(id).value.trim()]));

// What was measured later, by the same authors, for the numbers of an example; else nothing.
function measuredOf(texts) {
  const same = ({ dataset }) => FIELDS.every((id) => (dataset[id] ?? "") === texts[id]);
  return [...document.querySelectorAll(".examples button")].find(same)?.dataset.measured;
}

// A number as the text of a fraction; 82.45 and 82.45 % are percent, but 1.2 is a mistake.
function fraction(text) {
  const bare = text.replace("%", "").trim();
  if (bare === text && !(Number(text) >= 10)) return text;
  const decimals = (bare.split(".")[1] ?? "").length + 2;
  return Number(bare) <= 100 ? (Number(bare) / 100).toFixed(decimals) : text;
}

// What is wrong with the fields, or an empty text.
function wrong(printed, n, m, users) {
  const bad = Object.keys(printed).find((name) => !(printed[name] > 0 && printed[name] < 1));
  if (bad) return `${METRICS[bad]} must be a fraction such as 0.8245, or 82.45 %.`;
  if (!Object.keys(printed).length) return "Type HR@10, NDCG@10 or both.";
  if (!Number.isInteger(m) || m < 1) return "m must be a whole number, such as 100.";
  if (!Number.isInteger(n) || n <= m || n > MOST_ITEMS) return "n must be from m + 1 to 1,000,000.";
  return users >= 0 ? "" : "users must be a whole number.";
}

function rangeRow(name, [low, high], value, measured) {
  const bar = make("i", {});
  const mark = make("u", { className: "printed" });
  Object.assign(bar.style, { left: `${100 * low}%`, width: `${100 * (high - low)}%` });
  mark.style.left = `${100 * value}%`;
  const track = make("span", { className: "track" }, bar, mark);
  if (name === "hr" && measured) {
    const line = make("u", {});
    line.style.left = `${100 * measured}%`;
    track.append(line);
  }
  const words = make("span", {}, `${percent(low)} to ${percent(high)}`);
  return make("div", { className: "range" }, make("b", {}, METRICS[name]), track, words);
}

// Where the command allows less, because it knows that both numbers are of the same users.
function showCommand(printed, n, m, users) {
  const isNarrower = Object.keys(printed).length > 1 && users > 0;
  element("paper-command").hidden = !isNarrower;
  const numbers = Object.entries(printed).map(([name, value]) => `${METRICS[name]}=${value}`);
  const about = `--n-items ${n} --n-negatives ${m} --n-users ${users}`;
  element("paper-command").lastElementChild.textContent =
    `sampled-metrics reported ${numbers.join(" ")} ${about}`;
}

function answer() {
  const texts = typed();
  const measured = measuredOf(texts);
  const [m, n, users] = ["of", "n", "users"].map((id) => Number(texts[id].replaceAll(",", "")));
  const printed = Object.fromEntries(
    Object.keys(METRICS).filter((id) => texts[id]).map((id) => [id, fraction(texts[id])]));
  const problem = wrong(printed, n, m, users);
  const ranges = problem ? null : reported(printed, n, m, users);
  const detail = { printed, ranges, n, m, users };
  element("paper").dispatchEvent(new CustomEvent("answered", { detail }));
  const rows = Object.entries(ranges ?? {});
  showCommand(ranges ? printed : {}, n, m, users);
  element("paper-bars").replaceChildren(
    ...rows.map(([name, ends]) => rangeRow(name, ends, Number(printed[name]), measured)));
  if (!rows.length) {
    element("paper-words").textContent = problem
      || "No distribution of true ranks gives these numbers: check them, m and n.";
    return;
  }
  const [[name, [low, high]]] = rows;
  element("paper-words").textContent = `${METRICS[name]} of ${percent(Number(printed[name]))} `
    + `(dotted) against ${m} random items means between ${percent(low)} and ${percent(high)} `
    + `over all ${n.toLocaleString("en")} items.${name === "hr" && measured
      ? ` Measured over all items: ${percent(Number(measured))} (line).` : ""}`;
}

function fill(values) {
  for (const id of FIELDS) element(id).value = values[id] ?? "";
  answer();
}

// Keep all fields in the address, so that a link has the same answer; an empty field is empty there.
const keep = () => remember(typed(), {});

if (element("paper")) {
  const examples = [...document.querySelectorAll(".examples button")];
  for (const button of examples) {
    button.addEventListener("click", () => {
      fill(button.dataset);
      keep();
    });
  }
  for (const id of FIELDS) {
    element(id).addEventListener("input", () => {
      answer();
      keep();
    });
  }
  const asked = Object.fromEntries(FIELDS.map((id) => [id, address.get(id)]));
  fill(Object.values(asked).some(Boolean) ? asked : examples[0].dataset);
}

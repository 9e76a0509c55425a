// One held-out item among random ones: its sampled rank in one draw, and in many.

const STRIP = { left: 14, right: 14, height: 74 };
const MOST_BALLS = 400;

let draws = { key: "", last: [], counts: new Map(), total: 0 };

// Ranks of m random negatives among n candidates, without replacement and without rank r.
function negatives(n, m, r) {
  const chosen = new Set();
  for (let j = n - 1 - m; j < n - 1; j++) { // Floyd's algorithm
    const t = Math.floor(Math.random() * (j + 1));
    chosen.add(chosen.has(t) ? j : t);
  }
  return [...chosen].map((place) => (place + 1 < r ? place + 1 : place + 2));
}

function drawItems(times, { n, m, r }) {
  if (draws.total + times > MOST_BALLS) draws = { ...draws, counts: new Map(), total: 0 };
  for (let i = 0; i < times; i++) {
    draws.last = negatives(n, m, r);
    draws.sampled = 1 + draws.last.filter((rank) => rank < r).length;
    draws.counts.set(draws.sampled, (draws.counts.get(draws.sampled) ?? 0) + 1);
    draws.total++;
  }
}

function strip({ n, r, measure }, width) {
  const x = (rank) => STRIP.left + ((width - STRIP.left - STRIP.right) * (rank - 1)) / (n - 1), nodes = [];
  const end = Math.min(measure.cutoff, n), name = `held-out item, rank ${SM.count(r)}`, half = SM.widthOf(name, `600 ${FONT}`) / 2;
  nodes.push(SM.svg("rect", { x: x(1), y: 30, width: x(n) - x(1), height: 24, fill: "var(--raised)", stroke: "var(--soft)" }));
  if (end < n) nodes.push(SM.svg("rect", { x: x(1), y: 30, width: Math.max(2, x(end) - x(1)), height: 24, fill: "var(--c2)" }));
  nodes.push(SM.svg("path", { d: draws.last.map((rank) => `M${x(rank).toFixed(1)} 32v20`).join("") || "M0 0", stroke: "var(--ink)", opacity: 0.65 }),
    SM.svg("path", { d: `M${x(r)} 29l-7 -12h14zM${x(r)} 29v27`, fill: "var(--c4)", stroke: "var(--c4)", "stroke-width": 2 }),
    SM.text(Math.min(Math.max(x(r), half), width - half), 12, name, { "text-anchor": "middle", "font-weight": 600 }),
    SM.text(x(1), 69, end < n ? `best; green: top ${end}` : "best", { fill: "var(--soft)" }), SM.text(x(n), 69, `worst of ${SM.count(n)}`, { fill: "var(--soft)", "text-anchor": "end" }));
  const place = (event, svg) => {
    const box = svg.getBoundingClientRect(), at = ((event.clientX - box.left) / box.width) * width;
    return Math.round(Math.min(Math.max(1 + ((n - 1) * (at - STRIP.left)) / (width - STRIP.left - STRIP.right), 1), n));
  };
  return { nodes, height: STRIP.height, place };
}

function histogram({ n, m, r, measure }, vector, width) {
  const { lo, hi, values } = new SM.Rows(n, m).at(r), height = 150, bottom = height - 36;
  let low = lo, high = hi;
  while (values[low] < 1e-3 && low < high) low++;
  while (values[high] < 1e-3 && high > low) high--;
  low = Math.max(0, low - 1);
  high = Math.min(m, high + 1);
  const step = (width - 2 * STRIP.left) / (high - low + 1), x = (i) => STRIP.left + step * (i - low), peak = Math.max(...values.subarray(low, high + 1)), nodes = [];
  const most = Math.max(peak * draws.total, ...draws.counts.values(), 1), size = Math.min(step * 0.45, 6, (bottom - 8) / (2 * most));
  for (let i = low; i <= high; i++) {
    const expected = draws.total ? Math.min(1, (peak * draws.total) / most) : 1, tall = ((bottom - 8) * expected * values[i]) / peak;
    nodes.push(SM.svg("rect", { x: x(i) + step * 0.08, y: bottom - tall, width: step * 0.84, height: tall, fill: i + 1 <= measure.cutoff ? "var(--credit)" : "var(--raised)", stroke: "var(--soft)" }));
    const count = draws.counts.get(i + 1) ?? 0;
    for (let ball = 0; ball < count; ball++) nodes.push(SM.svg("circle", { cx: x(i) + step / 2, cy: bottom - size - ((bottom - 8) / most) * ball, r: Math.max(size, 1), fill: draws.sampled === i + 1 && ball === count - 1 ? "var(--c4)" : "var(--ink)" }));
  }
  nodes.push(SM.svg("line", { x1: STRIP.left, x2: width - STRIP.left, y1: bottom, y2: bottom, stroke: "var(--soft)" }));
  const every = Math.ceil(((high - low + 1) * 30) / width);
  for (let i = low; i <= high; i += every) nodes.push(SM.text(x(i) + step / 2, bottom + 14, SM.count(i + 1), { "text-anchor": "middle", fill: "var(--soft)" }));
  nodes.push(SM.text(width / 2, height - 4, `rank in the sample${measure.cutoff < m ? `; green: top ${measure.cutoff}` : ""}`, { "text-anchor": "middle", fill: "var(--soft)" }));
  return { nodes, height };
}

// Draw the item; the draws start anew when the setting is another one.
SM.item = (state, vector) => {
  const { n, m, r, measure, estimator } = state, key = [n, m, r].join();
  if (draws.key !== key) draws = { key, last: [], counts: new Map(), total: 0 };
  const expected = SM.expectedAt([r], n, vector)[0], exact = measure.at(r, n), row = new SM.Rows(n, m).at(r);
  const mean = row.values.subarray(row.lo, row.hi + 1).reduce((sum, p, i) => sum + p * (row.lo + i + 1), 0);
  element("item-words").textContent = `At true rank ${SM.count(r)} of ${SM.count(n)}, ${measure.label} counts ${SM.percent(exact)}. Among ${SM.count(m)} random items the rank is ${mean.toFixed(1)} on average, and ${estimator.label.toLowerCase() === "sampled" ? "the sampled metric" : `the estimate (${estimator.label})`} counts ${SM.percent(expected)} on average: a bias of ${SM.points(expected - exact)}.`;
  element("item-drawn").textContent = draws.total ? `Rank ${draws.sampled} of ${m + 1} in this draw counts ${SM.percent(vector[draws.sampled - 1])}. ${SM.count(draws.total)} ${draws.total === 1 ? "draw" : "draws"} so far.` : "";
  element("draw-one").textContent = `Draw ${SM.count(m)} random ${m === 1 ? "item" : "items"}`;
  SM.show("item-strip", (width) => strip(state, width), () => `The held-out item at rank ${r} of ${n}.`, () => [["rank of a random item"], ...draws.last.map((rank) => [rank])]);
  SM.show("item-histogram", (width) => histogram(state, vector, width), () => element("item-words").textContent, () => [["sampled rank", "probability", "draws"],
    ...Array.from({ length: row.hi - row.lo + 1 }, (_, i) => [row.lo + i + 1, row.values[row.lo + i], draws.counts.get(row.lo + i + 1) ?? 0])]);
};

SM.startItem = (current, changed) => {
  for (const [id, times] of [["draw-one", 1], ["draw-many", 50]]) {
    element(id).addEventListener("click", () => { drawItems(times, current()); changed(); });
  }
  SM.onDrag(element("item-strip"), (event) => {
    const svg = element("item-strip").firstElementChild;
    SM.set({ r: strip(current(), svg.viewBox.baseVal.width).place(event, svg) });
  });
};

// The controls of the explorer and what follows from them.
"use strict";

const MOST_CLS = 200;
const N_RANKS = 110;
const SLICE_MS = 12; // of work between two looks at the controls

const element = (id) => document.getElementById(id);
const numbers = JSON.parse(element("numbers").textContent);
const groups = numbers.groups.map((group) => ({
  ...group,
  recommenders: group.recommenders.map((each) => ({ ...each, records: SM.decodeRecords(each.kinds), distributions: new Map() })),
}));

// Numbers with a slider on a logarithmic scale beside them.
const SCALES = { k: [1, 1000], n: [10, 1e6], m: [1, 1000], gamma: [1e-4, 1] };

const toSlider = (name, value) => {
  const [low, high] = SCALES[name], slider = element(`${name}-range`);
  return Math.round((slider.max * Math.log(value / low)) / Math.log(high / low));
};
const fromSlider = (name, place) => {
  const [low, high] = SCALES[name], slider = element(`${name}-range`);
  const value = low * (high / low) ** (place / slider.max);
  return name === "gamma" ? Number(value.toPrecision(2)) : Math.round(value);
};

function options(id, entries) {
  element(id).replaceChildren(...entries.map(([value, text]) => new Option(text, value)));
}

function pairsOf(group) {
  const names = group.recommenders.map((each) => each.name);
  return names.flatMap((a, i) => names.slice(i + 1).map((b, j) => [`${i},${i + 1 + j}`, `${a} and ${b}`]));
}

// Positions of the controls; a number out of its range counts as the last one in it.
const positions = { ...numbers.start };
function read() {
  for (const name of Object.keys(SCALES)) {
    const input = element(name), value = Number(input.value);
    const whole = name === "gamma" || Number.isInteger(value);
    const valid = input.value !== "" && whole && value >= SCALES[name][0] && value <= SCALES[name][1];
    if (valid) positions[name] = value;
    input.setAttribute("aria-invalid", String(!valid));
  }
  const group = groups[Number(element("group").value)];
  const pair = element("pair").value;
  return {
    measure: SM.measure(element("metric").value, positions.k),
    estimator: { name: element("estimator").value, gamma: positions.gamma },
    n: positions.n, m: positions.m, gamma: positions.gamma, k: positions.k, group,
    pair: pair ? pair.split(",").map((i) => group.recommenders[Number(i)]) : null,
  };
}

// Why the estimator has no answer there, or an empty string.
function refusal(estimator, n, m) {
  if (m > n - 1) return `m = ${m} needs more than ${m} candidates, and n is ${n}.`;
  if (estimator.name === "cls" && m > MOST_CLS) {
    return `CLS is solved here for m up to ${MOST_CLS}; the command line solves it for any.`;
  }
  return "";
}

const spread = (low, high, count) => {
  const places = new Set();
  for (let i = 0; i < count; i++) places.add(Math.round(low * (high / low) ** (i / (count - 1))));
  return [...places];
};
const shown = (value) => (Math.abs(value) < 1e-3 && value !== 0 ? value.toExponential(2) : value.toFixed(4));
const percent = (value) => `${(100 * value).toFixed(1)} %`;

function vectorPanel(state, vector) {
  const { measure, m, n, estimator } = state, { series, soft } = SM.theme();
  const places = m <= 200 ? Array.from({ length: m + 1 }, (_, i) => i + 1) : spread(1, m + 1, 160);
  const at = (values) => places.map((i) => values[i - 1]);
  const traces = [];
  if (estimator.name !== "sampled") {
    const sampled = SM.vector({ name: "sampled" }, measure, n, m);
    traces.push(SM.line("sampled", places, at(sampled), { line: { color: soft, width: 1.5, dash: "dot" } }));
  }
  traces.push(SM.line("estimate", places, at(vector), { line: { color: series[0] } }));
  if (m < 60) traces.at(-1).mode = "lines+markers";
  element("reading-a").textContent = `Sampled rank 1 counts ${shown(vector[0])}, rank ${m + 1} ${shown(vector[m])}.`;
  return SM.draw("panel-a", traces, SM.logAxis("sampled rank", 1, m + 1), SM.linearAxis(measure.label, { rangemode: "normal" }));
}

function expectationPanel(state, vector) {
  const { measure, n, m } = state, { series, soft, ink } = SM.theme();
  const edges = [measure.cutoff, measure.cutoff + 1].filter((r) => r <= n);
  const ranks = [...new Set([...spread(1, n, N_RANKS), ...edges])].sort((a, b) => a - b);
  const expected = SM.expectedAt(ranks, n, vector), exact = ranks.map((r) => measure.at(r, n));
  const uncorrected = SM.expectedAt(ranks, n, SM.vector({ name: "sampled" }, measure, n, m));
  const traces = [SM.line("exact", ranks, exact, { line: { color: ink, width: 3 } })];
  if (state.estimator.name !== "sampled") {
    traces.push(SM.line("sampled", ranks, uncorrected, { line: { color: soft, width: 1.5, dash: "dot" } }));
  }
  traces.push(SM.line("expected estimate", ranks, expected, { line: { color: series[0] } }));
  let place = 0;
  expected.forEach((value, i) => {
    if (Math.abs(value - exact[i]) > Math.abs(expected[place] - exact[place])) place = i;
  });
  element("reading-b").textContent = `Largest bias: ${shown(expected[place] - exact[place])}, at rank ${ranks[place].toLocaleString("en")} of ${n.toLocaleString("en")}.`;
  SM.state = { ranks, expected, exact };
  return SM.draw("panel-b", traces, SM.logAxis("true rank", 1, n), SM.linearAxis(measure.label, { rangemode: "normal" }));
}

function distribution(recommender, m) {
  const { distributions, records } = recommender;
  if (!distributions.has(m)) distributions.set(m, SM.meanDistribution(records, m));
  return distributions.get(m);
}

const expectation = (distribution, vector) => {
  let sum = 0;
  for (let i = 0; i < vector.length; i++) sum += distribution[i] * vector[i];
  return sum;
};

// Expected estimates of every recommender at every size; a generator, so that work can be cut up.
function* curves(state, sizes) {
  const values = state.group.recommenders.map(() => []);
  for (const m of sizes) {
    const vector = SM.vector(state.estimator, state.measure, state.group.n, m);
    state.group.recommenders.forEach((each, i) => values[i].push(expectation(distribution(each, m), vector)));
    yield;
  }
  return values;
}

function changesOf(state, sizes, values) {
  const found = [];
  state.group.recommenders.forEach((a, i) => state.group.recommenders.slice(i + 1).forEach((b, j) => {
    for (const each of SM.changes(sizes, values[i], values[i + 1 + j])) found.push({ a: a.name, b: b.name, ...each });
  }));
  return found.sort((a, b) => a.size - b.size);
}

function curvesPanel(state, sizes, values) {
  const { series, ink } = SM.theme(), { measure, group } = state;
  const exact = group.recommenders.map((each) => SM.exactMean(measure, each.records));
  const changes = changesOf(state, sizes, values);
  const traces = group.recommenders.map((each, i) => SM.line(plain(each.name), sizes, values[i], { line: { color: series[i % 6] } }));
  const last = group.sizes.at(-1);
  group.recommenders.forEach((each, i) => traces.push({
    type: "scatter", mode: "markers", x: [last], y: [exact[i]], showlegend: false, cliponaxis: false,
    marker: { color: series[i % 6], size: 9 }, hovertemplate: `${plain(each.name)}, exact: %{y:.4f}<extra></extra>`,
  }));
  traces.push({
    type: "scatter", mode: "markers", name: "change of order", x: changes.map((c) => c.size), y: changes.map((c) => c.value),
    marker: { symbol: "x-thin", size: 11, line: { width: 2, color: ink } },
    text: changes.map((c) => plain(`${c.a} and ${c.b}`)), hovertemplate: "%{text} at m ≈ %{x:.0f}<extra></extra>",
    showlegend: changes.length > 0,
  });
  element("reading-c").textContent = changes.length
    ? `Order changes: ${changes.map((c) => `${c.a} and ${c.b} at m ≈ ${Math.round(c.size)}`).join("; ")}.`
    : "No change of order in this range.";
  Object.assign(SM.state, { sizes, curves: values, exactMeans: exact, changes });
  return SM.draw("panel-c", traces, SM.logAxis("m, sampled negatives", 1, last), SM.linearAxis(measure.label), { shapes: [SM.vertical(state.m)] });
}

// Plotly takes some tags in text for its own.
const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function ordering(state, m) {
  const [a, b] = state.pair;
  const vector = SM.vector(state.estimator, state.measure, state.group.n, m);
  const exact = [a, b].map((each) => SM.exactMean(state.measure, each.records));
  return SM.ordering({ ...a.records, users: a.users }, { ...b.records, users: b.users }, vector, ...exact);
}

function orderingReading(state) {
  const { group, m, estimator, pair } = state;
  if (!pair) return ["One recommender makes no pair.", null];
  const most = Math.min(...pair.map((each) => Math.min(...[each.records.n.reduce((x, y) => Math.min(x, y))]))) - 1;
  const reason = m > most ? `A user has only ${most} candidates beside the held-out item.` : refusal(estimator, group.n, m);
  if (reason) return [reason, null];
  const found = ordering(state, m);
  return [`With m = ${m}: ${percent(found.probability)}.`, found];
}

function orderingPanel(state, sizes, values, found) {
  const { series, ink } = SM.theme();
  const traces = [
    SM.line("probability", sizes, values, { line: { color: series[0] }, showlegend: false, hovertemplate: "m = %{x:,.0f}: %{y:.3f}<extra></extra>" }),
    { type: "scatter", mode: "markers", x: found ? [state.m] : [], y: found ? [found.probability] : [], showlegend: false, marker: { color: ink, size: 9 }, cliponaxis: false, hovertemplate: "m = %{x}: %{y:.3f}<extra></extra>" },
  ];
  const last = Math.max(state.group.sizes.at(-1), 2);
  return SM.draw("panel-d", traces, SM.logAxis("m, sampled negatives", 1, last), SM.linearAxis("P(right order)", { range: [-0.03, 1.03], tickvals: [0, 0.25, 0.5, 0.75, 1], rangemode: "normal" }), { shapes: [SM.vertical(state.m), SM.horizontal(0.5)] });
}

let turn = 0; // of the controls; work for an older one stops

// Run a generator in slices; resolves to its value, or to null once the controls have moved on.
async function sliced(work, mine) {
  for (;;) {
    for (const began = performance.now(); performance.now() - began < SLICE_MS; ) {
      const { done, value } = work.next();
      if (done) return value;
    }
    await new Promise((resolve) => setTimeout(resolve, 0));
    if (mine !== turn) return null;
  }
}

function* probabilities(state, sizes) {
  const values = [];
  for (const m of sizes) {
    values.push(ordering(state, m).probability);
    yield;
  }
  return values;
}

let orderingKept = { key: "", sizes: [], values: [] };

const sizesOf = (state) => state.group.sizes.filter((m) => !refusal(state.estimator, state.group.n, m));
const keyOf = ({ measure, estimator, group, pair }) =>
  [measure.key, estimator.name, estimator.name === "bv" ? estimator.gamma : "", group.label, pair?.map((each) => each.name)].join("|");

// Everything that a movement of a control changes at once; the curve of (d) and, where CLS is yet
// to be solved at many sizes, that of (c) follow in slices.
async function answer(began) {
  const mine = ++turn, state = read();
  showControls(state);
  const reason = refusal(state.estimator, state.n, state.m);
  element("reason").textContent = reason;
  const vector = reason ? null : SM.vector(state.estimator, state.measure, state.n, state.m);
  SM.state = {};
  if (vector) {
    expectationPanel(state, vector);
    vectorPanel(state, vector);
    SM.state.vector = Array.from(vector);
  } else empty(state);
  const [words, found] = orderingReading(state);
  element("reading-d").textContent = words;
  SM.state.ordering = found;
  const key = keyOf(state), sizes = sizesOf(state);
  if (orderingKept.key !== key) orderingKept = { key: "", sizes: [], values: [] };
  orderingPanel(state, orderingKept.sizes, orderingKept.values, found);
  const values = await sliced(curves(state, sizes), mine);
  if (!values) return;
  curvesPanel(state, sizes, values);
  element("explorer").dataset.responseMs = (performance.now() - began).toFixed(1);
  await later(state, key, mine, found);
}

async function later(state, key, mine, found) {
  if (state.pair && orderingKept.key !== key) {
    await new Promise((resolve) => setTimeout(resolve, 30));
    if (mine !== turn) return;
    const sizes = sizesOf(state).filter((m, i) => i % 2 === 1);
    const values = await sliced(probabilities(state, sizes), mine);
    if (!values) return;
    orderingKept = { key, sizes, values };
    orderingPanel(state, sizes, values, found);
  }
  SM.state.probabilities = orderingKept;
  element("explorer").dataset.settled = String(mine);
}

function empty(state) {
  for (const [id, title] of [["a", "sampled rank"], ["b", "true rank"]]) {
    element(`reading-${id}`).textContent = "";
    SM.draw(`panel-${id}`, [], SM.logAxis(title, 1, state.n), SM.linearAxis(state.measure.label, { range: [0, 1] }));
  }
}

function showControls({ measure, estimator }) {
  const off = { k: measure.cutoff === Infinity, gamma: estimator.name !== "bv" };
  for (const [name, unused] of Object.entries(off)) {
    document.querySelector(`[data-for="${name}"]`).classList.toggle("off", unused);
    for (const id of [name, `${name}-range`]) element(id).disabled = unused;
  }
}

function choosePairs() {
  const group = groups[Number(element("group").value)], pairs = pairsOf(group);
  options("pair", pairs);
  element("pair").disabled = !pairs.length;
}

let asked = null;
function changed() {
  const began = performance.now();
  if (asked !== null) return; // one answer a frame is enough
  asked = requestAnimationFrame(() => {
    asked = null;
    element("explorer").dataset.settled = "";
    answer(began);
    SM.onPositions?.();
  });
}

SM.positions = positions;
SM.refusal = refusal;

function begin() {
  options("metric", Object.entries(SM.METRICS).map(([kind, { label }]) => [kind, label]));
  options("estimator", Object.entries(SM.ESTIMATORS).map(([name, label]) => [name, name === "cls" ? `${label}, m ≤ ${MOST_CLS}` : label]));
  options("group", groups.map((group, i) => [i, `${group.label}: ${group.recommenders.map((each) => each.name).join(", ")}; n = ${group.n.toLocaleString("en")}`]));
  choosePairs();
  element("metric").value = numbers.start.metric;
  element("estimator").value = numbers.start.estimator;
  for (const name of Object.keys(SCALES)) {
    const input = element(name), slider = element(`${name}-range`);
    input.value = numbers.start[name];
    slider.value = toSlider(name, numbers.start[name]);
    input.addEventListener("input", () => { slider.value = toSlider(name, Number(input.value) || 1); });
    slider.addEventListener("input", () => { input.value = fromSlider(name, Number(slider.value)); });
  }
  element("group").addEventListener("input", choosePairs);
  element("controls").addEventListener("input", changed);
  element("controls").addEventListener("submit", (event) => event.preventDefault());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { SM.forgetTheme(); changed(); });
  changed();
}
begin();

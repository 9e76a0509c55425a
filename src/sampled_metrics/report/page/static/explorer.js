// The controls of the explorer and what follows from them.
"use strict";

const MOST_CLS = 200;
const N_RANKS = 110;
const SLICE_MS = 40; // of work between two looks at the controls
const FEW_USERS = 700; // that the curve of (d) takes its variances from

const element = (id) => document.getElementById(id);
const numbers = JSON.parse(element("numbers").textContent);
const groups = numbers.groups.map((group) => ({
  ...group,
  recommenders: group.recommenders.map((each) => {
    const records = SM.decodeRecords(each.kinds);
    const most = records.n.reduce((x, y) => Math.min(x, y)) - 1;
    return { ...each, records, few: SM.thinned(records, FEW_USERS), most, distributions: new Map(), exact: new Map() };
  }),
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
    pair: pair ? pair.split(",").map(Number) : null,
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
const shown = (value) => {
  const size = Math.abs(value), sign = value < 0 && size > 1e-9 ? "\u2212" : "";
  return sign + (size > 1e-9 && size < 1e-3 ? size.toExponential(1) : size.toFixed(4));
};
const rangeOf = (...lists) => {
  let low = 0, high = 0;
  for (const list of lists) for (const value of list) [low, high] = [Math.min(low, value), Math.max(high, value)];
  const pad = 0.04 * (high - low) || 0.5;
  return [low - pad, high + pad];
};
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
  return SM.draw("panel-a", traces, SM.logAxis("sampled rank", 1, m + 1), SM.linearAxis(measure.label, { range: rangeOf(at(vector), traces[0].y) }));
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
  SM.draw("panel-b", traces, SM.logAxis("true rank", 1, n), SM.linearAxis(measure.label, { range: rangeOf(expected, exact, uncorrected) }));
  return { ranks, expected, exact };
}

function distribution(recommender, m) {
  const { distributions, records } = recommender;
  if (!distributions.has(m)) distributions.set(m, SM.meanDistribution(records, m));
  return distributions.get(m);
}

function exactOf({ records, exact }, measure) {
  if (!exact.has(measure.key)) exact.set(measure.key, SM.exactMean(measure, records));
  return exact.get(measure.key);
}

const expectation = (distribution, vector) => {
  let sum = 0;
  for (let i = 0; i < vector.length; i++) sum += distribution[i] * vector[i];
  return sum;
};

// Expected estimates of every recommender at every size, and for a pair the probability of its
// right order; a generator, so that work can be cut up.
function* curves(state, sizes, exact) {
  const { group, pair } = state, values = group.recommenders.map(() => []), probabilities = [];
  for (const m of sizes) {
    const vector = SM.vector(state.estimator, state.measure, group.n, m);
    group.recommenders.forEach((each, i) => values[i].push(expectation(distribution(each, m), vector)));
    if (pair) {
      const both = pair.map((i) => {
        const { few, users } = group.recommenders[i];
        return { mean: values[i].at(-1), within: SM.outlook(few, vector).within, users, exact: exact[i] };
      });
      probabilities.push(SM.ordering(...both).probability);
    }
    yield;
  }
  return { sizes, values, probabilities };
}

function changesOf(state, sizes, values) {
  const found = [];
  state.group.recommenders.forEach((a, i) => state.group.recommenders.slice(i + 1).forEach((b, j) => {
    for (const each of SM.changes(sizes, values[i], values[i + 1 + j])) found.push({ a: a.name, b: b.name, ...each });
  }));
  return found.sort((a, b) => a.size - b.size);
}

const MOST_TOLD = 6; // changes of order in words; the crosses show all
const DASHES = ["solid", "dash", "dot"]; // by turns, where the colours come again

function curvesPanel(state, { sizes, values }, exact) {
  const { series, ink } = SM.theme(), { measure, group } = state;
  const changes = changesOf(state, sizes, values);
  const traces = group.recommenders.map((each, i) => SM.line(each.name, sizes, values[i], { line: { color: series[i % 6], dash: DASHES[Math.floor(i / 6) % 3] } }));
  const last = group.sizes.at(-1);
  traces.push({
    type: "scatter", mode: "markers", name: "exact", x: exact.map(() => last), y: exact, cliponaxis: false,
    marker: { color: exact.map((_, i) => series[i % 6]), size: 9 },
    text: group.recommenders.map((each) => plain(each.name)), hovertemplate: "%{text}, exact: %{y:.4f}<extra></extra>",
  });
  traces.push({
    type: "scatter", mode: "markers", name: "change of order", x: changes.map((c) => c.size), y: changes.map((c) => c.value),
    marker: { symbol: "x-thin", size: 11, line: { width: 2, color: ink } },
    text: changes.map((c) => plain(`${c.a} and ${c.b}`)), hovertemplate: "%{text} at m ≈ %{x:.0f}<extra></extra>",
  });
  const told = changes.slice(0, MOST_TOLD).map((c) => `${c.a} and ${c.b} at m ≈ ${Math.round(c.size)}`);
  if (changes.length > MOST_TOLD) told.push(`${changes.length - MOST_TOLD} more`);
  element("reading-c").textContent = changes.length
    ? `Order changes: ${told.join("; ")}.`
    : "No change of order in this range.";
  Object.assign(SM.state, { sizes, curves: values, exactMeans: exact, changes });
  return SM.draw("panel-c", traces, SM.logAxis("m, sampled negatives", 1, last), SM.linearAxis(measure.label, { range: rangeOf(exact, ...values) }), { shapes: [SM.vertical(state.m)] });
}

// Plotly takes some tags in text for its own.
const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

// The probability at the chosen m from all users; words, and what they rest on or null.
function ordering(state, exact) {
  const { group, m, estimator, measure, pair } = state;
  if (!pair) return ["One recommender makes no pair.", null];
  const most = Math.min(...pair.map((i) => group.recommenders[i].most));
  const reason = m > most ? `A user has only ${most} candidates beside the held-out item.` : refusal(estimator, group.n, m);
  if (reason) return [reason, null];
  const vector = SM.vector(estimator, measure, group.n, m);
  const found = SM.ordering(...pair.map((i) => {
    const { records, users } = group.recommenders[i];
    return { ...SM.outlook(records, vector), users, exact: exact[i] };
  }));
  return [`With m = ${m}: ${percent(found.probability)}.`, found];
}

function orderingPanel(state, { sizes, probabilities }, [words, found]) {
  const { series, ink } = SM.theme();
  element("reading-d").textContent = words;
  const traces = [
    SM.line("probability", sizes.slice(0, probabilities.length), probabilities, { line: { color: series[0] }, hovertemplate: "m = %{x:,.0f}: %{y:.3f}<extra></extra>" }),
    { type: "scatter", mode: "markers", name: "at the chosen m", x: found ? [state.m] : [], y: found ? [found.probability] : [], marker: { color: ink, size: 9 }, cliponaxis: false, hovertemplate: "m = %{x}: %{y:.3f}<extra></extra>" },
  ];
  const last = Math.max(state.group.sizes.at(-1), 2);
  Object.assign(SM.state, { ordering: found, probabilities });
  return SM.draw("panel-d", traces, SM.logAxis("m, sampled negatives", 1, last), SM.linearAxis("P(right order)", { range: [-0.03, 1.03], tickvals: [0, 0.25, 0.5, 0.75, 1], rangemode: "normal" }), { shapes: [SM.vertical(state.m), SM.horizontal(0.5)] });
}

let turn = 0; // of the controls; work for an older one stops

const pause = () => new Promise((resolve) => {
  const { port1, port2 } = new MessageChannel(); // setTimeout would wait for 4 ms
  port1.onmessage = resolve;
  port2.postMessage(null);
});

// Run a generator in slices; resolves to its value, or to null once the controls have moved on.
async function sliced(work, mine) {
  for (;;) {
    for (const began = performance.now(); performance.now() - began < SLICE_MS; ) {
      const { done, value } = work.next();
      if (done) return value;
    }
    await pause();
    if (mine !== turn) return null;
  }
}

const estimatorKey = ({ name, gamma }) => (name === "bv" ? `bv:${gamma}` : name);
const keyOf = ({ measure, estimator, group, pair }) =>
  [measure.key, estimatorKey(estimator), group.label, pair].join("|");
let kept = { key: null };

// What (c) and (d) show, anew only where it changed; null if the controls move meanwhile.
async function curvesOf(state, exact, mine) {
  const key = keyOf(state);
  if (kept.key === key) return kept;
  const sizes = state.group.sizes.filter((m) => !refusal(state.estimator, state.group.n, m));
  const found = await sliced(curves(state, sizes, exact), mine);
  if (!found) return null;
  kept = { key, ...found };
  return kept;
}

// Everything that follows from a movement of the controls.
async function answer(began) {
  const mine = ++turn, state = read();
  showControls(state);
  const reason = refusal(state.estimator, state.n, state.m);
  element("reason").textContent = reason;
  const here = [state.measure.key, estimatorKey(state.estimator), state.n, state.m].join("|");
  if (here !== drawn.here) {
    SM.state = { ...SM.state, ...onePopulation(state, reason) };
    drawn.here = here;
  }
  const there = [keyOf(state), state.m].join("|");
  if (there !== drawn.there) {
    const exact = state.group.recommenders.map((each) => exactOf(each, state.measure));
    const found = await curvesOf(state, exact, mine);
    if (!found) return;
    curvesPanel(state, found, exact);
    orderingPanel(state, found, ordering(state, exact));
    drawn.there = there;
  }
  element("explorer").dataset.responseMs = (performance.now() - began).toFixed(1);
  element("explorer").dataset.settled = String(mine);
}

const drawn = { here: null, there: null };

function onePopulation(state, reason) {
  if (reason) {
    empty(state);
    return { vector: null, expected: null };
  }
  const vector = SM.vector(state.estimator, state.measure, state.n, state.m);
  vectorPanel(state, vector);
  return { vector: Array.from(vector), ...expectationPanel(state, vector) };
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
  element("explorer").dataset.settled = "";
  if (asked !== null) return; // several events at once are one movement
  asked = pause().then(() => {
    asked = null;
    answer(began);
  });
}

SM.positions = positions;

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
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    SM.forgetTheme();
    drawn.here = drawn.there = null;
    changed();
  });
  changed();
}
begin();

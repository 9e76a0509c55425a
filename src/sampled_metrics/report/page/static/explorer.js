// Draws the panels anew when a control has moved.
"use strict";

const SLICE_MS = 40; // of work between two looks at the controls

const numbers = JSON.parse(element("numbers").textContent);
const groups = numbers.groups.map((group) => ({
  ...group,
  recommenders: group.recommenders.map((recommender) => {
    const records = SM.decodeRecords(recommender.kinds), few = SM.decodeRecords(recommender.few);
    const most = records.n.reduce((x, y) => Math.min(x, y)) - 1;
    return { ...recommender, records, few, most, means: new Map(), distributions: new Map(), exact: new Map() };
  }),
}));

function once(cache, key, make) {
  if (!cache.has(key)) cache.set(key, make());
  return cache.get(key);
}

function expectation({ records, means }, vector) {
  const m = vector.length - 1;
  return SM.dot(once(means, m, () => SM.meanDistribution(records, m)), vector);
}

function variance({ few, distributions }, vector) {
  const m = vector.length - 1;
  return SM.outlook(few, vector, once(distributions, m, () => SM.distributions(few, m))).within;
}

// Expected estimates of every recommender at every size, and for a pair the probability of its
// right order; a generator, so that the work can be done in slices.
function* curves({ group, pair, estimator, measure }, exact) {
  const sizes = group.sizes.filter((m) => !SM.refusal(estimator, group.n, m));
  const values = group.recommenders.map(() => []), probabilities = [];
  for (const m of sizes) {
    const vector = SM.vector(estimator, measure, group.n, m);
    group.recommenders.forEach((recommender, i) => values[i].push(expectation(recommender, vector)));
    if (pair) {
      probabilities.push(SM.ordering(...pair.map((i) => {
        const within = variance(group.recommenders[i], vector), { users } = group.recommenders[i];
        return { mean: values[i].at(-1), within, users, exact: exact[i] };
      })).probability);
    }
    yield;
  }
  const changes = group.recommenders.flatMap((a, i) => group.recommenders.slice(i + 1).flatMap((b, j) =>
    SM.changes(sizes, values[i], values[i + 1 + j]).map((change) => ({ a: a.name, b: b.name, ...change }))));
  return { sizes, values, probabilities, changes: changes.sort((a, b) => a.size - b.size) };
}

// The probability at the chosen m from all users: words, and what they rest on or null.
function ordering({ group, m, estimator, measure, pair }, exact) {
  if (!pair) return ["One recommender makes no pair.", null];
  const most = Math.min(...pair.map((i) => group.recommenders[i].most));
  const reason = m > most ? `A user has only ${most} candidates beside the held-out item.` : SM.refusal(estimator, group.n, m);
  if (reason) return [reason, null];
  const vector = SM.vector(estimator, measure, group.n, m);
  const found = SM.ordering(...pair.map((i) => {
    const { records, users } = group.recommenders[i];
    return { ...SM.outlook(records, vector), users, exact: exact[i] };
  }));
  return [`With m = ${m}: ${(100 * found.probability).toFixed(1)} %.`, found];
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

const last = {}; // settings that the panels show, and the curves of (c) and (d)

function drawEstimator(state) {
  const { measure, n, m, estimator } = state, reason = SM.refusal(estimator, n, m);
  const key = [measure.key, estimator.key, n, m].join("|");
  element("reason").textContent = reason;
  if (last.estimator === key) return;
  last.estimator = key;
  if (reason) {
    SM.emptyPanels(state);
    Object.assign(SM.state, { vector: null, expected: null });
    return;
  }
  const vector = SM.vector(estimator, measure, n, m), sampled = SM.vector({ name: "sampled" }, measure, n, m);
  SM.vectorPanel(state, vector, sampled);
  Object.assign(SM.state, { vector: [...vector], ...SM.expectationPanel(state, vector, sampled) });
}

async function drawRecommenders(state, mine) {
  const { measure, m, estimator, group, pair } = state;
  const key = [measure.key, estimator.key, group.label, pair].join("|");
  if (last.recommenders === `${key}|${m}`) return true;
  const exact = group.recommenders.map(({ records, exact: known }) => once(known, measure.key, () => SM.exactMean(measure, records)));
  if (last.key !== key) {
    const found = await sliced(curves(state, exact), mine);
    if (!found) return false;
    Object.assign(last, { key, curves: found });
  }
  const [words, found] = ordering(state, exact);
  SM.curvesPanel(state, last.curves, exact);
  SM.orderingPanel(state, last.curves, words, found);
  last.recommenders = `${key}|${m}`;
  Object.assign(SM.state, last.curves, { exactMeans: exact, ordering: found });
  return true;
}

let asked = false;
async function changed() {
  const began = performance.now();
  element("explorer").dataset.settled = "";
  if (asked) return; // several events at once are one movement
  asked = true;
  await pause();
  asked = false;
  const mine = ++turn, state = SM.read(groups);
  drawEstimator(state);
  if (!(await drawRecommenders(state, mine))) return;
  element("explorer").dataset.responseMs = (performance.now() - began).toFixed(1);
  element("explorer").dataset.settled = String(mine);
}

SM.state = {};
SM.begin(groups, numbers.start, changed);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  SM.forgetTheme();
  last.estimator = last.recommenders = null;
  changed();
});
changed();

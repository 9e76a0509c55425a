// Draws the page anew when a control has moved.

const SLICE_MS = 40; // of work between two looks at the controls

const numbers = JSON.parse(element("numbers").textContent);
const groups = numbers.groups.map((group) => ({
  ...group,
  most: group.sizes.at(-1),
  recommenders: group.recommenders.map((recommender) => {
    const records = SM.decodeRecords(recommender.kinds), few = SM.decodeRecords(recommender.few);
    return { ...recommender, records, few, means: new Map(), exact: new Map() };
  }),
}));

function once(cache, key, make) {
  if (!cache.has(key)) cache.set(key, make());
  return cache.get(key);
}

const exactMeans = ({ group, measure }) => group.recommenders.map(({ records, exact }) => once(exact, measure.key, () => SM.exactMean(measure, records)));

function expectation({ records, means }, vector) {
  const m = vector.length - 1;
  return SM.dot(once(means, m, () => SM.meanDistribution(records, m)), vector);
}

// Expected estimates of every recommender at every size, and for a pair the probability of its
// right order; a generator, so that the work can be done in slices.
function* curves({ group, pair, estimator, measure, m: chosen }, exact, order) {
  const sizes = [...new Set([...group.sizes, chosen])].sort((a, b) => a - b).filter((m) => !SM.refusal(estimator, group.n, m));
  const values = group.recommenders.map(() => []), probabilities = [];
  for (const m of sizes) {
    const vector = SM.vector(estimator, measure, group.n, m);
    group.recommenders.forEach((recommender, i) => values[i].push(expectation(recommender, vector)));
    if (pair) {
      probabilities.push(m === chosen && order ? order.probability : SM.ordering(...pair.map((i) => {
        const { few, users } = group.recommenders[i], { within } = SM.outlook(few, vector);
        return { mean: values[i].at(-1), within, users, exact: exact[i] };
      })).probability);
    }
    yield;
  }
  const changes = group.recommenders.flatMap((a, i) => group.recommenders.slice(i + 1).flatMap((b, j) =>
    SM.changes(sizes, values[i], values[i + 1 + j]).map((change) => ({ a: a.name, b: b.name, ...change }))));
  return { sizes, values, probabilities, changes: changes.sort((a, b) => a.size - b.size) };
}

// The probability at the chosen m from all users, or null.
function ordering({ group, m, estimator, measure, pair }, exact) {
  if (!pair || SM.refusal(estimator, group.n, m)) return null;
  const vector = SM.vector(estimator, measure, group.n, m);
  return SM.ordering(...pair.map((i) => {
    const { records, users } = group.recommenders[i];
    return { ...SM.outlook(records, vector), users, exact: exact[i] };
  }));
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
  const { measure, n, m, r, estimator } = state, reason = SM.refusal(estimator, n, m);
  if (reason) element("reason").textContent = reason;
  const key = [measure.key, estimator.key, n, m, r].join("|");
  if (last.estimator === key) return;
  last.estimator = key;
  if (reason) {
    SM.emptyPanels(state);
    Object.assign(SM.state, { vector: null, expected: null });
    return;
  }
  const vector = SM.vector(estimator, measure, n, m), sampled = SM.vector({ name: "sampled" }, measure, n, m);
  SM.item(state, vector);
  SM.vectorPanel(state, vector, sampled);
  Object.assign(SM.state, { vector, ...SM.expectationPanel(state, vector, sampled) });
}

// The first screen, and all else that needs only the chosen m.
function drawNow(state, exact) {
  const { group, m, estimator, measure, pair } = state;
  if (SM.refusal(estimator, group.n, m)) return null;
  const vector = SM.vector(estimator, measure, group.n, m), got = group.recommenders.map((recommender) => expectation(recommender, vector));
  const order = ordering(state, exact);
  SM.hero(state, exact, got, order && order.probability);
  SM.showTour(state, SM.fates(exact, got), order);
  SM.showRuns(state, order, exact);
  const ours = group === groups[0];
  if (numbers.ranges) SM.showRanges(ours ? numbers.ranges : { metrics: {} }, state, exact, got);
  if (numbers.budget) SM.showBudget(ours ? numbers.budget : { methods: [] }, state);
  Object.assign(SM.state, { exactMeans: exact, got, ordering: order });
  return { got, order };
}

// Estimates from the reader's own sampled ranks, which have one m, beside their ranges.
function drawOwn(state) {
  const { own, ranges } = numbers, { estimator, measure } = state, reason = SM.refusal(estimator, own.n, own.m);
  const vector = reason ? null : SM.vector(estimator, measure, own.n, own.m), got = own.recommenders.map(({ shares }) => (vector ? SM.dot(shares, vector) : -1));
  SM.showRanges(ranges, { ...state, m: own.m, group: own }, null, got);
  Object.assign(SM.state, { got });
}

async function drawCurves(state, exact, now, mine) {
  const { measure, m, estimator, group, pair } = state, key = [measure.key, estimator.key, group.label, pair, m].join("|");
  if (last.curves === key) return true;
  const drawn = await sliced(curves(state, exact, now?.order), mine);
  if (!drawn) return false;
  SM.curvesPanel(state, drawn, exact);
  SM.orderingPanel(state, drawn, SM.orderWords(state, exact, now));
  last.curves = key;
  Object.assign(SM.state, drawn);
  return true;
}

// The sentence of (d).
SM.orderWords = (state, exact, now) => {
  const { pair, m, estimator, group } = state;
  if (!pair) return "One recommender makes no pair.";
  if (!now) return SM.refusal(estimator, group.n, m);
  return `With m = ${SM.count(m)}: ${SM.pairWords(state, exact, now.got, now.order.probability)}`;
};

let asked = false;
async function changed() {
  const began = performance.now();
  element("explorer").dataset.settled = "";
  if (asked) return; // several events at once are one movement
  asked = true;
  await pause();
  asked = false;
  const mine = ++turn, state = SM.settings(groups), exact = groups.length ? exactMeans(state) : null, now = groups.length ? drawNow(state, exact) : drawOwn(state);
  element("explorer").dataset.first ??= performance.now().toFixed(0);
  await pause();
  if (mine !== turn) return;
  drawEstimator(state);
  if (groups.length && !(await drawCurves(state, exact, now, mine))) return;
  SM.remember();
  element("explorer").dataset.responseMs = (performance.now() - began).toFixed(1);
  element("explorer").dataset.settled = String(mine);
}

const current = () => SM.settings(groups);
const again = () => { last.estimator = null; changed(); };
SM.state = {};
SM.startTour(groups);
SM.startItem(current, again);
if (groups.length) SM.startRuns(current, changed);
SM.begin(groups, numbers.start, changed);
addEventListener("input", () => { SM.chosen = true; }, { capture: true });
addEventListener("click", ({ target }) => { if (target.closest("#tour")) SM.chosen = true; }, { capture: true });

// The panels of the corrections: their lines, and the sentence above each.

const N_RANKS = 110;
const MOST_TOLD = 3; // changes of order in words; the crosses show all
const MOST_LABELLED = 4; // recommenders whose exact values have labels of their own

// About `count` whole numbers from low to high, evenly spaced on a logarithmic scale.
function spread(low, high, count) {
  return [...new Set(Array.from({ length: count }, (_, i) => Math.round(low * (high / low) ** (i / (count - 1)))))];
}

function say(panel, words, state, also = "") {
  element(`reading-${panel}`).textContent = words;
  element(`setting-${panel}`).textContent = `${state.measure.label}, ${state.estimator.label}, m = ${SM.count(state.m)}${also}`;
}

const withN = ({ n }) => `, n = ${SM.count(n)}`;
const withGroup = ({ group }) => `, n = ${SM.count(group.n)} on average`;
const dragged = (m) => SM.set({ m: Math.max(1, Math.round(m)) });

// The chosen estimator, after the uncorrected one where that is another.
function estimates({ estimator }, xs, ys, uncorrected, more) {
  const chosen = { name: estimator.label, xs, ys, colour: "var(--c0)", ...more };
  return estimator.name === "sampled" ? [chosen] : [{ ...chosen, name: "Sampled", ys: uncorrected, colour: "var(--soft)", dash: "3 3" }, chosen];
}

// (a) The estimate at each sampled rank.
SM.vectorPanel = (state, vector, uncorrected) => {
  const { measure, m } = state, places = m <= 200 ? Array.from({ length: m + 1 }, (_, i) => i + 1) : spread(1, m + 1, 160);
  const at = (values) => places.map((i) => values[i - 1]), lines = estimates(state, places, at(vector), at(uncorrected), { dots: true });
  say("a", `An item ranked first in the sample scores ${SM.percent(vector[0])}, one ranked last (${SM.count(m + 1)}) ${SM.percent(vector[m])}.`, state, withN(state));
  SM.chart("panel-a", { x: { title: "sampled rank", log: true, low: 1, high: m + 1 }, y: { title: measure.label, ...SM.rangeOf(...lines.map(({ ys }) => ys)) }, lines }, element("reading-a").textContent);
};

// (b) Its expectation at each true rank.
SM.expectationPanel = (state, vector, uncorrected) => {
  const { measure, n, r } = state, edges = [measure.cutoff, measure.cutoff + 1].filter((rank) => rank <= n);
  const ranks = [...new Set([...spread(1, n, N_RANKS), ...edges])].sort((a, b) => a - b), exact = ranks.map((rank) => measure.at(rank, n));
  const [expected, sampled] = [vector, uncorrected].map((values) => SM.expectedAt(ranks, n, values));
  const lines = [{ name: "Exact", xs: ranks, ys: exact, colour: "var(--ink)", thick: 3, steps: measure.kind === "recall" || measure.kind === "precision" }, ...estimates(state, ranks, expected, sampled)];
  const bias = expected.map((value, i) => value - exact[i]), sizes = bias.map(Math.abs), worst = sizes.indexOf(Math.max(...sizes));
  say("b", `Largest bias: ${SM.points(bias[worst])}, at rank ${SM.count(ranks[worst])} of ${SM.count(n)}.`, state, withN(state));
  SM.chart("panel-b", { x: { title: "true rank", log: true, low: 1, high: n }, y: { title: measure.label, ...SM.rangeOf(expected, exact, sampled) }, lines, cursor: r, drag: (rank) => SM.set({ r: Math.max(1, Math.round(rank)) }) }, element("reading-b").textContent);
  return { ranks, expected, exact };
};

// Empty (a) and (b), where the estimator cannot be computed.
SM.emptyPanels = (state) => {
  for (const [panel, title] of [["a", "sampled rank"], ["b", "true rank"]]) {
    say(panel, "Not computed.", state, withN(state));
    SM.chart(`panel-${panel}`, { x: { title, log: true, low: 1, high: state.n }, y: { title: state.measure.label, low: 0, high: 1 }, lines: [] }, "Empty.");
  }
};

// (c) Expected estimates of the recommenders against m, with the changes of their order.
SM.curvesPanel = (state, { sizes, values, changes }, exact) => {
  const { group, measure, m } = state, few = group.recommenders.length <= MOST_LABELLED;
  const lines = group.recommenders.map(({ name }, i) => ({ name, xs: sizes, ys: values[i], colour: SM.colour(i), dash: SM.dash(i) }));
  const levels = group.recommenders.map(({ name }, i) => ({ name: few ? `${name} exact, ${SM.percent(exact[i])}` : "", at: exact[i], colour: SM.colour(i) }));
  const listed = changes.slice(0, MOST_TOLD).map((c) => `${c.a} and ${c.b} at m ≈ ${SM.count(Math.round(c.size))}`);
  if (changes.length > MOST_TOLD) listed.push(`${changes.length - MOST_TOLD} more`);
  say("c", changes.length ? `Order changes (crosses): ${listed.join("; ")}.` : "No change of order in this range.", state, withGroup(state));
  SM.chart("panel-c", {
    x: { title: "m, random items", log: true, low: 1, high: group.sizes.at(-1) }, y: { title: measure.label, ...SM.rangeOf(exact, ...values) },
    lines, levels, crosses: changes.map((c) => ({ x: c.size, y: c.value })), cursor: m, drag: dragged,
  }, element("reading-c").textContent);
};

// (d) Probability that one experiment puts a pair in the right order.
SM.orderingPanel = (state, { sizes, probabilities }, words) => {
  say("d", words, state, withGroup(state));
  SM.chart("panel-d", {
    x: { title: "m, random items", log: true, low: 1, high: Math.max(state.group.sizes.at(-1), 2) }, y: { title: "probability of the right order", low: 0, high: 1 },
    lines: [{ name: "Right order", label: false, xs: sizes.slice(0, probabilities.length), ys: probabilities, colour: "var(--c0)" }, ...SM.dotAt(state, sizes, probabilities)],
    levels: [{ name: "coin", at: 0.5, colour: "var(--soft)" }, { name: "95 %", at: 0.95, colour: "var(--soft)" }], cursor: state.m, drag: dragged,
  }, words);
};

SM.dotAt = ({ m }, sizes, probabilities) => {
  const place = sizes.indexOf(m);
  return place < 0 || probabilities[place] === undefined ? [] : [{ name: "at the chosen m", label: false, dots: true, thick: 5, xs: [m], ys: [probabilities[place]], colour: "var(--ink)" }];
};

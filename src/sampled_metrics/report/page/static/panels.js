// The four panels: their traces, and the sentence above each.
"use strict";

const N_RANKS = 110;
const MOST_TOLD = 6; // changes of order in words; the crosses show all
const DASHES = ["solid", "dash", "dot"]; // by turns, where the colours come again

// About `count` whole numbers from low to high, evenly spaced on a logarithmic scale.
function spread(low, high, count) {
  return [...new Set(Array.from({ length: count }, (_, i) => Math.round(low * (high / low) ** (i / (count - 1)))))];
}

function shown(value) {
  const size = Math.abs(value), sign = value < 0 && size > 1e-9 ? "\u2212" : "";
  return sign + (size > 1e-9 && size < 1e-3 ? size.toExponential(1) : size.toFixed(4));
}

// Range of an axis that holds 0 and all values of some lists.
function rangeOf(...lists) {
  const values = [0, ...lists.flatMap((list) => [...list])];
  const low = Math.min(...values), high = Math.max(...values), pad = 0.04 * (high - low) || 0.5;
  return [low - pad, high + pad];
}

// Plotly takes some tags in text for its own.
const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

// The curve of the chosen estimator, after the uncorrected one where that is another.
function estimateLines(name, { estimator }, x, y, uncorrected) {
  const { series, soft } = SM.theme(), lines = [SM.line(name, x, y, { line: { color: series[0] } })];
  if (estimator.name === "sampled") return lines;
  return [SM.line("sampled", x, uncorrected, { line: { color: soft, width: 1.5, dash: "dot" } }), ...lines];
}

// (a) The estimate at each sampled rank.
SM.vectorPanel = (state, vector, uncorrected) => {
  const { measure, m } = state;
  const places = m <= 200 ? Array.from({ length: m + 1 }, (_, i) => i + 1) : spread(1, m + 1, 160);
  const at = (values) => places.map((i) => values[i - 1]);
  const traces = estimateLines("estimate", state, places, at(vector), at(uncorrected));
  if (m < 60) traces.at(-1).mode = "lines+markers";
  element("reading-a").textContent = `An item ranked first in the sample scores ${shown(vector[0])}, one ranked last (${m + 1}) ${shown(vector[m])}.`;
  SM.draw("panel-a", traces, SM.logAxis("sampled rank", 1, m + 1), SM.linearAxis(measure.label, { range: rangeOf(at(vector), traces[0].y) }));
};

// (b) Its expectation at each true rank.
SM.expectationPanel = (state, vector, uncorrected) => {
  const { measure, n } = state;
  const edges = [measure.cutoff, measure.cutoff + 1].filter((r) => r <= n);
  const ranks = [...new Set([...spread(1, n, N_RANKS), ...edges])].sort((a, b) => a - b);
  const exact = ranks.map((r) => measure.at(r, n));
  const [expected, sampled] = [vector, uncorrected].map((values) => SM.expectedAt(ranks, n, values));
  const traces = [SM.line("exact", ranks, exact, { line: { color: SM.theme().ink, width: 3 } }), ...estimateLines("expected estimate", state, ranks, expected, sampled)];
  const bias = expected.map((value, i) => value - exact[i]), sizes = bias.map(Math.abs);
  const worst = sizes.indexOf(Math.max(...sizes));
  element("reading-b").textContent = `Largest bias: ${shown(bias[worst])}, at rank ${ranks[worst].toLocaleString("en")} of ${n.toLocaleString("en")}.`;
  SM.draw("panel-b", traces, SM.logAxis("true rank", 1, n), SM.linearAxis(measure.label, { range: rangeOf(expected, exact, sampled) }));
  return { ranks, expected, exact };
};

// Empty (a) and (b), where the estimator cannot be computed.
SM.emptyPanels = ({ measure, n }) => {
  for (const [id, title] of [["a", "sampled rank"], ["b", "true rank"]]) {
    element(`reading-${id}`).textContent = "";
    SM.draw(`panel-${id}`, [], SM.logAxis(title, 1, n), SM.linearAxis(measure.label, { range: [0, 1] }));
  }
};

// (c) Expected estimates of the recommenders against m, with the changes of their order.
SM.curvesPanel = ({ group, measure, m }, { sizes, values, changes }, exact) => {
  const { series, ink } = SM.theme(), last = group.sizes.at(-1);
  const traces = group.recommenders.map(({ name }, i) => SM.line(name, sizes, values[i], { line: { color: series[i % 6], dash: DASHES[Math.floor(i / 6) % 3] } }));
  traces.push(SM.points("exact", exact.map(() => last), exact, {
    cliponaxis: false, marker: { color: exact.map((_, i) => series[i % 6]), size: 9 },
    text: group.recommenders.map(({ name }) => plain(name)), hovertemplate: "%{text}, exact: %{y:.4f}<extra></extra>",
  }), SM.points("change of order", changes.map((c) => c.size), changes.map((c) => c.value), {
    marker: { symbol: "x-thin", size: 11, line: { width: 2, color: ink } },
    text: changes.map((c) => plain(`${c.a} and ${c.b}`)), hovertemplate: "%{text} at m ≈ %{x:.0f}<extra></extra>",
  }));
  const told = changes.slice(0, MOST_TOLD).map((c) => `${c.a} and ${c.b} at m ≈ ${Math.round(c.size)}`);
  if (changes.length > MOST_TOLD) told.push(`${changes.length - MOST_TOLD} more`);
  element("reading-c").textContent = changes.length ? `Order changes: ${told.join("; ")}.` : "No change of order in this range.";
  SM.draw("panel-c", traces, SM.logAxis("m, sampled negatives", 1, last), SM.linearAxis(measure.label, { range: rangeOf(exact, ...values) }), { shapes: [SM.vertical(m)] });
};

// (d) Probability that a pair's estimates are in the right order.
SM.orderingPanel = ({ group, m }, { sizes, probabilities }, words, found) => {
  const { series, ink } = SM.theme(), hover = { hovertemplate: "m = %{x:,.0f}: %{y:.3f}<extra></extra>" };
  element("reading-d").textContent = words;
  const traces = [
    SM.line("probability", sizes.slice(0, probabilities.length), probabilities, { line: { color: series[0] }, ...hover }),
    SM.points("at the chosen m", found ? [m] : [], found ? [found.probability] : [], { marker: { color: ink, size: 9 }, cliponaxis: false, ...hover }),
  ];
  SM.draw("panel-d", traces, SM.logAxis("m, sampled negatives", 1, Math.max(group.sizes.at(-1), 2)), SM.linearAxis("P(right order)", { range: [-0.03, 1.03], tickvals: [0, 0.25, 0.5, 0.75, 1], rangemode: "normal" }), { shapes: [SM.vertical(m), SM.horizontal(0.5)] });
};

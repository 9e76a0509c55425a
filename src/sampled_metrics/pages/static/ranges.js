// What the sample allows: for each recommender the range of its exact metric.

const SCALE_AT = 20; // the axis ends where the ranges of this many negatives do; wider ones are cut

function bars({ group, estimator }, { low, high }, exact, got, most, width) {
  const names = group.recommenders.map(({ name }) => name), size = width < 420 ? 11 : 14, font = `bold ${size}px system-ui, sans-serif`;
  const left = Math.min(Math.max(...names.map((name) => SM.widthOf(name, font))) + 10, width * 0.4), right = width - 62, row = 40, height = 26 + row * names.length + 18;
  const x = (value) => left + ((right - left) * Math.min(Math.max(value, 0), most)) / most, nodes = [];
  const step = [0.01, 0.02, 0.05, 0.1, 0.2].find((each) => ((right - left) * each) / most > 44) ?? 0.5;
  for (let tick = 0; tick <= most * 1.0001; tick += step) nodes.push(SM.svg("path", { d: `M${x(tick)} 6V${height - 22}`, stroke: "var(--line)" }), SM.text(x(tick), height - 6, SM.percent(tick, 0), { "text-anchor": "middle", fill: "var(--soft)" }));
  names.forEach((name, i) => {
    const y = 24 + row * i, cut = high[i] > most * 1.0001;
    nodes.push(SM.text(left - 8, y + 5, SM.fit(name, left - 8, font), { "text-anchor": "end", "font-size": size, "font-weight": 700, fill: SM.colour(i) }),
      SM.svg("rect", { class: "range", x: x(low[i]), y: y - 9, width: Math.max(2, x(high[i]) - x(low[i])), height: 18, rx: 3, fill: SM.colour(i), opacity: 0.35 }),
      SM.svg("path", { d: `M${x(low[i])} ${y - 9}v18${cut ? "" : `M${x(high[i])} ${y - 9}v18`}`, stroke: SM.colour(i), "stroke-width": 2 }));
    if (cut) nodes.push(SM.text(right + 4, y - 2, `to ${SM.percent(high[i], 0)} ▸`));
    if (exact) nodes.push(SM.svg("path", { d: `M${x(exact[i])} ${y - 15}v30`, stroke: "var(--ink)", "stroke-width": 2, "stroke-dasharray": DOTTED }));
    if (got[i] > most) nodes.push(SM.text(right + 4, y + 12, `◆ ${SM.percent(got[i], 0)}`, { fill: "var(--ink)" }));
    else if (got[i] >= 0) nodes.push(SM.svg("path", { d: `M${x(got[i])} ${y - 6}l6 6l-6 6l-6 -6z`, fill: "var(--ground)", stroke: "var(--ink)", "stroke-width": 1.5 }));
  });
  return { nodes, height };
}

const between = (name, low, high) => `${name} between ${SM.percent(low, 2)} and ${SM.percent(high, 2)}`;

// Which pairs the ranges of their differences decide.
function decided(names, differences) {
  const decisions = [];
  names.forEach((a, i) => names.slice(i + 1).forEach((b) => {
    const [low, high] = differences[decisions.length];
    decisions.push(low > 0 ? `${b} above ${a}` : high < 0 ? `${a} above ${b}` : "");
  }));
  return decisions;
}

// Draw the ranges of the nearest number of negatives that has some, if they were computed for the metric.
SM.showRanges = ({ sizes, metrics }, state, exact, got) => {
  const { measure, group, m, estimator } = state, ofMetric = metrics[measure.key];
  element("ranges-none").hidden = Boolean(ofMetric);
  element("ranges-some").hidden = !ofMetric;
  if (!ofMetric) return;
  const place = SM.nearest(sizes, m), size = sizes[place], names = group.recommenders.map(({ name }) => name);
  const [low, high] = [0, 1].map((end) => ofMetric.ranges[place].map((range) => range[end]));
  const least = SM.nearest(sizes, SCALE_AT), most = Math.min(1, 1.03 * Math.max(...ofMetric.ranges[least].map((range) => range[1]), ...(exact ?? [])));
  const orders = decided(names, ofMetric.differences[place]), settled = orders.filter(Boolean);
  element("reading-f").textContent = `${size === 1 ? "One random item leaves" : `${SM.count(size)} random items leave`} ${measure.label} of ${names.slice(0, MOST_TOLD).map((name, i) => between(name, low[i], high[i])).join(", of ")}. `
    + (orders.length ? (settled.length ? `Order decided: ${settled.slice(0, MOST_TOLD).join("; ")}${settled.length > MOST_TOLD ? `; ${settled.length - MOST_TOLD} more` : ""}${settled.length < orders.length ? `; ${orders.length - settled.length} of ${orders.length} pairs stay open` : ""}.` : `No order is decided: ${orders.length === 1 ? "the pair stays" : `all ${orders.length} pairs stay`} open.`) : "");
  element("setting-f").textContent = `${measure.label}, m = ${SM.count(size)}${size === m ? "" : ` (nearest to ${SM.count(m)})`}, estimate: ${estimator.label}, m = ${SM.count(m)}`;
  SM.show("panel-f", (width) => bars(state, { low, high }, exact, got, most, width), () => element("reading-f").textContent, () => [["recommender", "low", "high", "exact", `estimate ${estimator.label}`], ...names.map((name, i) => [name, low[i], high[i], exact?.[i] ?? "", got[i]])]);
};

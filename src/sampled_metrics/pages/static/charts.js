// Charts of lines and dots over two axes, labelled where the lines end.

const EDGE = { left: 52, right: 18, top: 10, bottom: 40 };
const LABEL = 14; // height of a label
const DOTTED = "2 4";

function scale({ log, low, high }, from, to) {
  const at = log ? Math.log : Number, first = at(low), span = at(high) - first || 1;
  return {
    at: (value) => from + ((to - from) * (at(value) - first)) / span,
    value: (place) => { const v = first + (span * (place - from)) / (to - from); return log ? Math.exp(v) : v; },
  };
}

function ticks({ log, low, high }, room) {
  if (!log) {
    const rough = (high - low) / Math.max(2, room / 45), power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((lead) => lead * power >= rough * 0.999) * power;
    return Array.from({ length: Math.floor(high / step) - Math.ceil(low / step) + 1 }, (_, i) => (Math.ceil(low / step) + i) * step);
  }
  const span = Math.log10(high / low), leads = span < 1.7 ? [1, 2, 5] : span < 3.2 && room > 260 ? [1, 3] : [1], places = [];
  for (let power = 1; power <= high; power *= 10) for (const lead of leads) if (lead * power >= low && lead * power <= high) places.push(lead * power);
  return places;
}

function axes(chart, width, height, right) {
  const x = scale(chart.x, EDGE.left, width - right), y = scale(chart.y, height - EDGE.bottom, EDGE.top), nodes = [];
  const bottom = height - EDGE.bottom, soft = "var(--soft)", thin = { stroke: "var(--line)", "shape-rendering": "crispEdges" };
  const digits = (chart.y.high - chart.y.low) < 0.04 ? 1 : 0;
  for (const tick of ticks(chart.y, bottom - EDGE.top)) {
    const at = y.at(tick);
    nodes.push(SM.svg("line", { x1: EDGE.left, x2: width - right, y1: at, y2: at, ...thin }),
      SM.text(EDGE.left - 6, at + 4, SM.percent(tick, digits), { fill: soft, "text-anchor": "end" }));
  }
  for (const tick of ticks(chart.x, width - right - EDGE.left)) {
    nodes.push(SM.svg("line", { x1: x.at(tick), x2: x.at(tick), y1: bottom, y2: bottom + 4, stroke: soft }),
      SM.text(x.at(tick), bottom + 17, SM.count(tick), { fill: soft, "text-anchor": "middle" }));
  }
  nodes.push(SM.svg("line", { x1: EDGE.left, x2: width - right, y1: bottom, y2: bottom, stroke: soft }),
    SM.text((EDGE.left + width - right) / 2, height - 5, chart.x.title, { fill: soft, "text-anchor": "middle" }));
  return { x, y, nodes };
}

function curve({ xs, ys, colour, dash, thick, steps, dots, marks }, x, y) {
  const circles = (r) => xs.map((value, i) => SM.svg("circle", { cx: x.at(value), cy: y.at(ys[i]), r, fill: colour }));
  if (dots) return circles(thick ?? 2.2);
  const points = xs.map((value, i) => `${x.at(value).toFixed(1)} ${y.at(ys[i]).toFixed(1)}`);
  const path = steps ? points.map((point, i) => (i ? `H${x.at(xs[i]).toFixed(1)}L${point}` : `M${point}`)).join("") : `M${points.join("L")}`;
  return points.length ? [...(marks ? circles(3.5) : []), SM.svg("path", { d: path, fill: "none", stroke: colour, "stroke-width": thick ?? 2, "stroke-dasharray": dash || undefined, "stroke-linejoin": "round" })] : [];
}

const cross = ({ x, y, colour }) => SM.svg("path", { d: `M${x - 5} ${y - 5}l10 10m0 -10l-10 10`, stroke: colour, "stroke-width": 2 });

// The name of a line or level with a piece of it.
function key({ name, colour, dash, level, dots, marks }, x, y) {
  const dot = SM.svg("circle", { cx: x + 8, cy: y, r: 3.5, fill: colour });
  const line = SM.svg("path", { d: `M${x} ${y}h16`, stroke: colour, "stroke-width": 2.5, "stroke-dasharray": (level ? DOTTED : dash) || undefined });
  return [...(dots ? [] : [line]), ...(dots || marks ? [dot] : []), SM.text(x + 20, y + 4, name)];
}

const shown = new Map(); // by id of their place: charts as drawn, with their scales

// What is near a place of the pointer, in the tooltip.
function tell({ chart, scales }, value, event) {
  const near = ({ xs }) => xs.reduce((best, x, i) => (Math.abs(scales.x.at(x) - scales.x.at(value)) < Math.abs(scales.x.at(xs[best]) - scales.x.at(value)) ? i : best), 0);
  const lines = chart.lines.filter(({ xs, name }) => xs.length && name);
  if (!lines.length) return;
  const first = lines[0].xs[near(lines[0])];
  SM.detail([[chart.x.title, SM.count(first)], ...lines.map((line) => [line.name, SM.percent(line.ys[near(line)])])], event.clientX, event.clientY);
}

function listen(id) {
  const place = element(id);
  const at = (event) => {
    const { scales, chart } = shown.get(id), svg = place.firstElementChild, box = svg.getBoundingClientRect();
    const value = scales.x.value(((event.clientX - box.left) * svg.viewBox.baseVal.width) / box.width);
    return Math.min(Math.max(value, chart.x.low), chart.x.high);
  };
  SM.onDrag(place, (event) => shown.get(id).chart.drag?.(at(event)), () => shown.get(id).chart.drag);
  place.addEventListener("pointermove", (event) => tell(shown.get(id), at(event), event));
  place.addEventListener("pointerleave", SM.hideDetail);
}

// Draw a chart: axes `x` and `y` (title, low, high, log), `lines` (name, xs, ys, colour, dash, thick,
// steps, dots, label), `levels` (name, at, colour), `crosses` (x, y), `cursor` (a place on x) and
// `drag` (what a chosen place sets). `label` says what it shows.
SM.chart = (id, chart, label) => {
  const entries = [
    ...chart.lines.filter((line) => line.label !== false && line.xs.length).map(({ ys, ...line }) => ({ ...line, at: ys.at(-1) })),
    ...(chart.levels ?? []).map(({ name, at, colour }) => ({ name, at, colour, level: true })),
  ].filter(({ name }) => name);
  const draw = (width) => {
    const widest = Math.max(0, ...entries.map(({ name }) => SM.widthOf(name))) + 30, beside = widest < width * 0.34;
    const plot = width < 420 ? 230 : 270, height = plot + (beside ? 0 : entries.length * LABEL), right = beside && entries.length ? widest : EDGE.right;
    const scales = axes(chart, width, plot, right), { x, y, nodes } = scales, bottom = plot - EDGE.bottom;
    if (chart.cursor !== undefined) nodes.push(SM.svg("path", { class: "cursor", d: `M${x.at(chart.cursor)} ${EDGE.top}V${bottom}`, stroke: "var(--soft)", "stroke-width": 6, opacity: 0.3 }));
    for (const { at, colour } of chart.levels ?? []) nodes.push(SM.svg("path", { d: `M${EDGE.left} ${y.at(at)}H${width - right}`, stroke: colour, "stroke-width": 1.5, "stroke-dasharray": DOTTED }));
    for (const line of chart.lines) nodes.push(...curve(line, x, y));
    for (const each of chart.crosses ?? []) nodes.push(cross({ x: x.at(each.x), y: y.at(each.y), colour: "var(--ink)" }));
    const places = SM.apart(entries.map(({ at }) => y.at(at)), LABEL, EDGE.top, bottom);
    entries.forEach((entry, i) => nodes.push(...(beside ? key(entry, width - right + 4, places[i]) : key({ ...entry, name: SM.fit(entry.name, width - EDGE.left - 20) }, EDGE.left, plot + LABEL * i + 6))));
    shown.set(id, { chart, scales });
    return { nodes, height };
  };
  const rows = () => [["series", chart.x.title, chart.y.title],
    ...chart.lines.flatMap(({ name, xs, ys }) => Array.from(xs, (x, i) => [name, x, ys[i]])),
    ...(chart.levels ?? []).map(({ name, at }) => [name, "", at])];
  if (!shown.has(id)) listen(id);
  SM.show(id, draw, () => label, rows);
  element(id).classList.toggle("drag", Boolean(chart.drag));
};

// The range of an axis that holds 0 and all values of some lists.
SM.rangeOf = (...lists) => {
  let low = 0, high = 0;
  for (const list of lists) for (const value of list) { low = Math.min(low, value); high = Math.max(high, value); }
  const pad = 0.05 * (high - low) || 0.5;
  return { low: low < 0 ? low - pad : 0, high: high + pad };
};

// The atlas: chart, search, and texts of published results; paper.js computes one's own number.

const SVG = "http://www.w3.org/2000/svg";
const NARROW = innerWidth <= 640; // where texts of the chart are larger
const SIZE = { width: 700, height: NARROW ? 560 : 430 };
const EDGE = { left: NARROW ? 100 : 58, right: NARROW ? 44 : 26, top: 14, bottom: NARROW ? 74 : 44 };
const LOWEST = 0.001; // of the vertical axis, which is logarithmic
const REACH = 400; // squared distance at which a bar is pointed at
const READ = 0.3; // where the rings have their label
const HIDDEN = "hidden";
const USUAL_METRIC = "HR@10";
// What the headline adds to a measured value beside its range; nothing if it lies inside.
const OUTSIDE = {
  outside: ", outside of the range",
  "inside within its error": ", outside of the range by less than its sampling error",
};

const entries = numbers.rows.map((cells) => {
  const entry = Object.fromEntries(numbers.columns.map((name, i) => [name, cells[i]]));
  for (const name of Object.keys(numbers.texts)) entry[name] = numbers.texts[name][entry[name]];
  const [source, paper, year, place] = entry.paper.split("\n");
  Object.assign(entry, { source, title: [paper, year].filter(Boolean).join(", "), place });
  entry.words = [source, paper, year, entry.model, entry.data].join(" ").toLowerCase();
  return entry;
});
const first = entries[numbers.start];
for (const [place, ...cells] of numbers.further) {
  const of = Object.fromEntries(numbers.of_metric.map((name, i) => [name, cells[i]]));
  entries.push({ ...entries[place], ...of });
}
const PAPER = "paper";
const hasKinds = entries.some(({ kind }) => kind === PAPER);
let chosen = first; // what was clicked
let seen = first; // what is shown: chosen, or what is pointed at
let found = entries;
let tab = "review";

const across = (value) => EDGE.left + (SIZE.width - EDGE.left - EDGE.right) * value;
const up = (value) => {
  const share = Math.log10(Math.min(Math.max(value, LOWEST), 1)) / Math.log10(LOWEST);
  return EDGE.top + (SIZE.height - EDGE.top - EDGE.bottom) * share;
};
const count = (value) => value.toLocaleString("en");
const span = ({ low, high, likely }) => (low === null ? "no range"
  : `${percent(low)} to ${percent(high)}${likely === null ? "" : `, likely ${percent(likely)}`}`);

function draw(name, attributes, text = "") {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.textContent = text;
  element("map").append(node);
  return node;
}

function drawAxes() {
  element("map").classList.toggle("narrow", NARROW);
  element("map").setAttribute("viewBox", `0 0 ${SIZE.width} ${SIZE.height}`);
  for (const value of [0.001, 0.01, 0.1, 1]) {
    const y = up(value);
    draw("line", { class: "grid", x1: EDGE.left, x2: SIZE.width - EDGE.right, y1: y, y2: y });
    const label = value === LOWEST ? "≤ 0.1 %" : `${100 * value} %`;
    draw("text", { x: EDGE.left - 6, y: y + 4, "text-anchor": "end" }, label);
  }
  const base = SIZE.height - EDGE.bottom + (NARROW ? 26 : 18);
  for (const value of [0, 0.2, 0.4, 0.6, 0.8, 1]) {
    draw("text", { x: across(value), y: base, "text-anchor": "middle" }, `${100 * value} %`);
  }
  const middle = (EDGE.left + SIZE.width - EDGE.right) / 2;
  draw("text", { x: middle, y: SIZE.height - 6, "text-anchor": "middle" },
    "printed, against random items");
  draw("text", { x: EDGE.left + 6, y: EDGE.top + 24 }, "↑ over all items");
  if (NARROW) return;
  const ring = { x: across(READ) - 12, y: up(READ) - 12, "text-anchor": "end" };
  draw("text", { ...ring, class: "read" }, "where readers put it ○");
}

const crossAt = (x, y) => `M${x - 4} ${y - 4}l8 8m-8 0l8 -8`;

function drawEntry(entry) {
  const x = across(Number(entry.value));
  entry.marks = [draw("circle", { class: "ring", cx: x, cy: up(Number(entry.value)), r: 3 })];
  const pale = hasKinds && entry.kind !== PAPER ? " pale" : "";
  if (entry.low === null) {
    const y = up(entry.measured ?? Number(entry.value));
    entry.marks.push(draw("path", { class: `cross${pale}`, d: crossAt(x, y) }));
    return;
  }
  const line = { class: `range${pale}`, x1: x, x2: x, y1: up(entry.low), y2: up(entry.high) };
  entry.marks.push(draw("line", line));
  if (entry.measured !== null) {
    const dot = { class: `dot ${entry.standing ?? ""}${pale}`, cx: x, cy: up(entry.measured), r: 3.4 };
    entry.marks.push(draw("circle", dot));
  }
}

function showEntry(entry) {
  seen = entry;
  const { metric, value, m, n, measured: after, model, printed } = seen;
  const numbersOfRow = printed.split(" ").length;
  const who = numbersOfRow > 1 ? `the ${numbersOfRow} numbers of this row allow` : "it allows";
  element("headline").replaceChildren(
    `${model}: “${metric} = ${value}” was against ${count(m)} random items. `
    + `Over all ${count(n)} items ${who} `, make("b", {}, span(seen)),
    after === null ? "." : `; measured: ${percent(after)}${OUTSIDE[seen.standing] ?? ""}.`);
  element("name").textContent = [seen.model, seen.data].filter(Boolean).join(" on ");
  element("about").textContent = `${seen.title}. `
    + `${seen.users ? `${count(seen.users)} users; ` : ""}`
    + `negatives drawn ${seen.way.replace("-", " ")}.`;
  element("remark").textContent = seen.remark;
  element("remark").hidden = !seen.remark;
  element("text").textContent = textOf(seen);
  element("text").classList.toggle("words", tab === "review" || tab === "source");
  element("text").setAttribute("aria-labelledby", `tab-${tab}`);
  for (const button of document.querySelectorAll("[role=tab]")) {
    button.setAttribute("aria-selected", button.dataset.tab === tab);
  }
  element("card").classList.toggle("preview", seen !== chosen);
  for (const other of entries) {
    for (const mark of other.marks) {
      mark.classList.toggle("chosen", other === seen);
      mark.classList.toggle("same", other.data === seen.data);
    }
    other.row?.classList.toggle("chosen", other === chosen);
  }
  element("map").append(...seen.marks);
}

function hideOthers() {
  const shown = new Set(found);
  const kind = element("kind")?.value;
  for (const entry of entries) {
    const isOther = entry.metric !== element("metric").value || (kind && entry.kind !== kind);
    for (const mark of entry.marks) {
      mark.classList.toggle("gone", isOther);
      mark.classList.toggle(HIDDEN, !shown.has(entry));
    }
  }
}

// One stop of Tab for the whole table.
function moveStop(entry) {
  for (const button of element("rows").querySelectorAll("button")) button.tabIndex = -1;
  const row = entry?.row?.isConnected ? entry.row : element("rows").rows[0];
  if (row) row.querySelector("button").tabIndex = 0;
}

function choose(entry) {
  chosen = entry;
  remember({ row: entry.id, metric: entry.metric }, { metric: USUAL_METRIC });
  showEntry(entry);
  moveStop(entry);
}

function track(entry) {
  const place = (name, className, left) => {
    const node = make(name, { className });
    node.style.left = `${100 * left}%`;
    return node;
  };
  const marks = [place("u", "printed", Number(entry.value))];
  if (entry.low !== null) {
    const bar = place("i", "", entry.low);
    bar.style.width = `${100 * (entry.high - entry.low)}%`;
    marks.unshift(bar);
  }
  if (entry.measured !== null) marks.push(place("u", "", entry.measured));
  return make("span", { className: "track" }, ...marks);
}

function rowOf(entry) {
  const name = make("button", { type: "button", tabIndex: -1 }, entry.model);
  const after = entry.measured === null ? "" : percent(entry.measured);
  const printed = `${entry.metric} ${entry.value}`;
  entry.row = make("tr", {},
    make("td", {}, name), make("td", { className: "far" }, entry.data), make("td", {}, printed),
    make("td", {}, track(entry)), make("td", {}, span(entry)),
    make("td", { className: "far" }, after));
  entry.row.addEventListener("click", () => choose(entry));
  return entry.row;
}

function find() {
  const words = element("query").value.toLowerCase().split(/\s+/).filter(Boolean);
  const data = element("data").value;
  const kind = element("kind")?.value;
  const of = entries.filter(({ metric }) => metric === element("metric").value);
  const matching = of.filter((entry) => words.every((word) => entry.words.includes(word))
    && (!data || entry.data === data) && (!element("known").checked || entry.measured !== null));
  found = matching.filter((entry) => !kind || entry.kind === kind);
  found.sort((a, b) => Number(b.value) - Number(a.value));
  element("count").textContent = `${found.length} of ${of.length} values`;
  element("rows").replaceChildren(...found.map(rowOf));
  hideOthers();
  const same = found.find(({ id }) => id === chosen.id);
  element("card").hidden = !found.length;
  if (found.length) choose(same ?? found[0]);
  else showNothing(matching.length);
}

// No result of another paper stands in for the one that is not here.
function showNothing(otherSources) {
  let next = make("a", { href: "#paper" }, "Type its number below");
  let words = "Not in the atlas. ";
  if (otherSources) {
    words = `Not from a ${element("kind").value}. `;
    next = make("button", { type: "button" }, `Show ${otherSources} of other sources`);
    next.addEventListener("click", () => {
      element("kind").value = "";
      find();
    });
  }
  element("headline").replaceChildren(words, next, otherSources ? "" : ".");
  for (const { marks } of entries) {
    for (const mark of marks) mark.classList.remove("chosen", "same");
  }
}

// The result near the pointer, or null.
function nearTo(event) {
  const box = element("map").getBoundingClientRect();
  const x = (event.clientX - box.left) * SIZE.width / box.width;
  const y = (event.clientY - box.top) * SIZE.height / box.height;
  const distance = (entry) => {
    const [top, bottom] = [up(entry.high ?? entry.value), up(entry.low ?? entry.value)];
    const beside = Math.max(top - y, y - bottom, 0);
    return (across(Number(entry.value)) - x) ** 2 + beside ** 2 / 6;
  };
  const [best] = [...found].sort((a, b) => distance(a) - distance(b));
  return best && distance(best) < REACH ? best : null;
}

function preview(event) {
  if (event.pointerType !== "mouse") return;
  const entry = nearTo(event) ?? chosen;
  if (found.length && entry !== seen) showEntry(entry);
}

function pin(event) {
  const entry = nearTo(event);
  if (entry) choose(entry);
}

function stepRow(event) {
  const rows = [...element("rows").rows];
  const at = rows.indexOf(event.target.closest("tr"));
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
  if (to === undefined || !rows[to]) return;
  event.preventDefault();
  choose(found[to]);
  found[to].row.querySelector("button").focus();
}

function step(event) {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by || !found.length) return;
  event.preventDefault();
  const ordered = [...found].reverse();
  choose(ordered[(ordered.indexOf(chosen) + by + ordered.length) % ordered.length]);
}

// One's own number, which paper.js has computed, as a bar among the others.
function showMine({ detail: { printed, ranges } }) {
  const [name, ends] = Object.entries(ranges ?? {})[0] ?? [];
  const mine = element("mine") ?? draw("line", { id: "mine" });
  mine.setAttribute("visibility", name ? "visible" : HIDDEN);
  if (!name) return;
  const x = across(Number(printed[name]));
  const places = { x1: x, x2: x, y1: up(ends[0]), y2: up(ends[1]) };
  for (const [key, value] of Object.entries(places)) mine.setAttribute(key, value);
}

drawAxes();
for (const entry of entries) drawEntry(entry);
const named = entries.filter(({ id }) => id === address.get("row"));
chosen = named.find(({ metric }) => metric === address.get("metric")) ?? named[0] ?? first;
// Results from papers at first, unless the address names another.
if (hasKinds) element("kind").value = chosen.kind === PAPER ? PAPER : "";
element("metric").value = named.length ? chosen.metric : address.get("metric") ?? chosen.metric;
find();
for (const id of ["query", "metric", "kind", "data", "known"]) {
  element(id)?.addEventListener("input", find);
}
for (const button of document.querySelectorAll("[role=tab]")) {
  button.addEventListener("click", () => {
    tab = button.dataset.tab;
    showEntry(seen);
  });
}
element("map").addEventListener("pointermove", preview);
element("map").addEventListener("pointerleave", () => found.length && showEntry(chosen));
element("map").addEventListener("click", pin);
element("rows").addEventListener("keydown", stepRow);
element("map").addEventListener("keydown", step);
element("copy").addEventListener("click", () => copy(textOf(chosen), element("copy")));
element("link").addEventListener("click", () => copy(location.href, element("link")));
element("copy-bibtex").addEventListener("click",
  () => copy(element("bibtex").textContent, element("copy-bibtex")));
element("save-svg").addEventListener("click",
  () => save(new Blob([picture()], { type: "image/svg+xml" }), "atlas.svg"));
element("save-png").addEventListener("click", () => savePng(picture(), 2 * SIZE.width,
  2 * SIZE.height, getComputedStyle(document.body).backgroundColor, "atlas.png"));
element("save-csv").addEventListener("click", saveCsv);
element("paper").addEventListener("answered", showMine);

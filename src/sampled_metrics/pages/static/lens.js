// The lens: shows the view of the chosen metric, estimator and number of random items.

const { views, asked, truth, sizes, start, names, slots, estimators } = numbers.lens;
const state = { ...start };
const NEAR = 14; // percent of the chart; labels that are closer would overlap
let shownM = start.m; // the number nearest to state.m that has a view

const nearest = (values, wanted) => values.reduce((best, value) =>
  (Math.abs(Math.log(value / wanted)) < Math.abs(Math.log(best / wanted)) ? value : best));
const key = ({ metric, estimator, m }) => `${metric} ${estimator} ${m}`;

function listStandings(list, standings) {
  list.replaceChildren(...standings.map(([i, value]) => {
    const who = make("span", { className: "who" }, `${names[i]} `, make("b", {}, value));
    who.style.setProperty("--c", `var(--c${slots[i]})`);
    return make("li", {}, who);
  }));
}

function showView() {
  const available = sizes.filter((m) => key({ ...state, m }) in views);
  shownM = nearest(available, state.m);
  const view = views[key({ ...state, m: shownM })];
  const exact = asked[state.metric];
  ["asked", "against", "measured"].forEach((id, i) => { element(id).textContent = view.head[i]; });
  element("up").setAttribute("d", view.up);
  element("down").setAttribute("d", view.down);
  element("asked-window").setAttribute("d", exact.up);
  element("asked-line").setAttribute("d", exact.up ? "" : `M${10 * exact.at} 24V350`);
  element("asked-at").style.setProperty("--x", `${exact.at}%`);
  element("asked-at").classList.toggle("line-top", !exact.up);
  element("asked-at").classList.toggle("raised", Math.abs(exact.at - view.at) < NEAR);
  element("measured-at").style.setProperty("--x", `${view.at}%`);
  if (names.length) {
    listStandings(element("read"), view.read);
    listStandings(element("truth"), truth[state.metric]);
    element("verdict").textContent = view.verdict;
    element("more").textContent = view.more ?? "";
    [element("noisy").textContent, element("noise").textContent] = view.noise;
    element("pairs").replaceChildren(...view.pairs.map(([sign, words, right]) => {
      const marks = right === null ? "" : "●".repeat(right) + "×".repeat(20 - right);
      const line = make("li", {}, `${words} `, make("span", { ariaHidden: "true" }, marks));
      line.dataset.sign = sign;
      return line;
    }));
  }
  for (const name of ["metric", "estimator"]) element(name).value = state[name];
  if (element("m")) {
    element("m").value = sizes.indexOf(nearest(sizes, state.m));
    element("m").setAttribute("aria-valuetext", `${shownM} random items`);
    element("m-value").textContent = shownM.toLocaleString("en");
    element("m-note").textContent = shownM < nearest(sizes, state.m)
      ? `${estimators[state.estimator]}: up to ${shownM.toLocaleString("en")}` : "";
  }
  dispatchEvent(new CustomEvent("view"));
}

function choose(values) {
  Object.assign(state, values);
  showView();
  dispatchEvent(new CustomEvent("lens", { detail: state }));
}

for (const name of ["metric", "estimator"]) {
  element(name).addEventListener("input", ({ target }) => choose({ [name]: target.value }));
}
element("m")?.addEventListener("input", ({ target }) => {
  choose({ m: sizes[target.value] });
});
// Follow the leaderboard of the same page.
addEventListener("board", ({ detail: { metric, m } }) => {
  choose({ ...(metric in asked && { metric }), ...(m && { m }) });
});

// Values of the lines at a position of the chart; its paths are 1,000 units wide.
const CHART = { width: 1000, middle: 160, reach: 140 };
const lines = (numbers.lens.lines.lines ?? []).map(({ d }) =>
  d.slice(1).split("L").map((point) => point.split(" ").map(Number)));

function readLines({ clientX }) {
  const box = document.querySelector(".chart").getBoundingClientRect();
  const x = (CHART.width * (clientX - box.left)) / box.width;
  const k = Math.max(1, Math.round(numbers.lens.last ** (x / CHART.width)));
  const values = lines.map((points, i) => {
    const [, y] = points.reduce((best, point) =>
      (Math.abs(point[0] - x) < Math.abs(best[0] - x) ? point : best));
    const value = (numbers.lens.lines.most * (CHART.middle - y)) / CHART.reach;
    return `${names[i]} ${lines.length > 1 && value > 0 ? "+" : ""}${value.toFixed(1)} %`;
  });
  element("cursor").setAttribute("d", `M${x.toFixed(1)} 0V350`);
  element("at-k").textContent = `k = ${k.toLocaleString("en")}: ${values.join(", ")}`;
}

if (lines.length) document.querySelector(".chart").addEventListener("pointermove", readLines);
element("lens").addEventListener("change", () => remember(state, start));

for (const name of Object.keys(state)) {
  const value = address.get(name);
  if (name === "m" ? Number(value) > 0 : value in { metric: asked, estimator: estimators }[name]) {
    state[name] = name === "m" ? Number(value) : value;
  }
}
showView();

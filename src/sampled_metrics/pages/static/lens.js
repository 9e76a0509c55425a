// The lens: shows the view of the chosen metric, estimator and number of random items.

const { views, asked, truth, sizes, start, names, estimators } = numbers.lens;
const state = { ...start };

const nearest = (values, wanted) => values.reduce((best, value) =>
  (Math.abs(Math.log(value / wanted)) < Math.abs(Math.log(best / wanted)) ? value : best));
const key = ({ metric, estimator, m }) => `${metric} ${estimator} ${m}`;

function listStandings(list, standings) {
  list.replaceChildren(...standings.map(([i, value]) => {
    const who = make("span", { className: "who" }, `${names[i]} `, make("b", {}, value));
    who.style.setProperty("--c", `var(--c${i % 8})`);
    return make("li", {}, who);
  }));
}

function showView() {
  const there = sizes.filter((m) => key({ ...state, m }) in views);
  state.m = nearest(there, state.m);
  const view = views[key(state)];
  const exact = asked[state.metric];
  ["asked", "against", "measured"].forEach((id, i) => { element(id).textContent = view.head[i]; });
  for (const id of ["up", "wash"]) element(id).setAttribute("d", view.up);
  element("down").setAttribute("d", view.down);
  element("asked-window").setAttribute("d", exact.up);
  element("asked-line").setAttribute("d", exact.up ? "" : `M${10 * exact.at} 24V350`);
  element("asked-at").style.left = `${exact.up ? 3 : exact.at}%`;
  element("measured-at").style.setProperty("--x", `${view.at}%`);
  if (names.length) {
    listStandings(element("read"), view.read);
    listStandings(element("truth"), truth[state.metric]);
    element("verdict").textContent = view.verdict;
    [element("noisy").textContent, element("noise").textContent] = view.noise;
    element("pairs").replaceChildren(...view.pairs.map(([sign, words, right]) => {
      const marks = right === null ? "" : "●".repeat(right) + "×".repeat(20 - right);
      const line = make("li", {}, `${words} `, make("span", { ariaHidden: "true" }, marks));
      line.dataset.sign = sign;
      return line;
    }));
  }
  for (const name of ["metric", "estimator"]) element(name).value = state[name];
  if (element("correct")) element("correct").checked = state.estimator !== "sampled";
  if (element("m")) {
    element("m").max = there.length - 1;
    element("m").value = there.indexOf(state.m);
    element("m").setAttribute("aria-valuetext", `${state.m} random items`);
    element("m-value").textContent = state.m.toLocaleString("en");
  }
  dispatchEvent(new CustomEvent("view"));
}

function choose(values) {
  Object.assign(state, values);
  showView();
}

for (const name of ["metric", "estimator"]) {
  element(name).addEventListener("input", ({ target }) => choose({ [name]: target.value }));
}
element("correct")?.addEventListener("input", ({ target }) => {
  choose({ estimator: target.checked ? Object.keys(estimators).at(-1) : "sampled" });
});
element("m")?.addEventListener("input", ({ target }) => {
  choose({ m: sizes.filter((m) => key({ ...state, m }) in views)[target.value] });
});
element("lens").addEventListener("change", () => remember(state, start));

for (const name of Object.keys(state)) {
  const value = address.get(name);
  if (name === "m" ? Number(value) > 0 : value in { metric: asked, estimator: estimators }[name]) {
    state[name] = name === "m" ? Number(value) : value;
  }
}
showView();

// The controls of the explorer: their options and their positions.
"use strict";

const MOST_CLS = 200;
const element = (id) => document.getElementById(id);

// Numbers with a slider on a logarithmic scale beside them.
const SCALES = { k: [1, 1000], n: [10, 1e6], m: [1, 1000], gamma: [1e-4, 1] };

function toSlider(name, value) {
  const [low, high] = SCALES[name];
  return Math.round((element(`${name}-range`).max * Math.log(value / low)) / Math.log(high / low));
}

function fromSlider(name, place) {
  const [low, high] = SCALES[name];
  const value = low * (high / low) ** (place / element(`${name}-range`).max);
  return name === "gamma" ? Number(value.toPrecision(2)) : Math.round(value);
}

function offer(id, entries) {
  element(id).replaceChildren(...entries.map(([value, text]) => new Option(text, value)));
}

function offerPairs(group) {
  const names = group.recommenders.map(({ name }) => name);
  const pairs = names.flatMap((a, i) => names.slice(i + 1).map((b, j) => [`${i},${i + 1 + j}`, `${a} and ${b}`]));
  offer("pair", pairs);
  element("pair").disabled = !pairs.length;
}

// Fill the controls; call `changed` when one has moved, several events at once being one movement.
SM.begin = (groups, start, changed) => {
  offer("metric", Object.entries(SM.METRICS).map(([kind, { label }]) => [kind, label]));
  offer("estimator", Object.entries(SM.ESTIMATORS).map(([name, label]) => [name, name === "cls" ? `${label}, m ≤ ${MOST_CLS}` : label]));
  offer("group", groups.map(({ label, recommenders, n }, i) => [i, `${label}: ${recommenders.map(({ name }) => name).join(", ")}; n = ${n.toLocaleString("en")}`]));
  offerPairs(groups[0]);
  SM.positions = { ...start };
  for (const name of ["metric", "estimator", ...Object.keys(SCALES)]) element(name).value = start[name];
  for (const name of Object.keys(SCALES)) {
    const input = element(name), slider = element(`${name}-range`);
    slider.value = toSlider(name, start[name]);
    input.addEventListener("input", () => { slider.value = toSlider(name, Number(input.value) || 1); });
    slider.addEventListener("input", () => { input.value = fromSlider(name, Number(slider.value)); });
  }
  element("group").addEventListener("input", () => offerPairs(groups[element("group").value]));
  element("controls").addEventListener("input", changed);
  element("controls").addEventListener("submit", (event) => event.preventDefault());
};

// The settings chosen by the controls. A number out of its range is marked, and the last valid one is used.
SM.read = (groups) => {
  for (const name of Object.keys(SCALES)) {
    const input = element(name), value = Number(input.value);
    const whole = name === "gamma" || Number.isInteger(value);
    const valid = input.value !== "" && whole && value >= SCALES[name][0] && value <= SCALES[name][1];
    if (valid) SM.positions[name] = value;
    input.setAttribute("aria-invalid", String(!valid));
  }
  const { k, n, m, gamma } = SM.positions, pair = element("pair").value;
  const measure = SM.measure(element("metric").value, k), name = element("estimator").value;
  for (const [id, unused] of [["k", measure.cutoff === Infinity], ["gamma", name !== "bv"]]) {
    document.querySelector(`[data-for="${id}"]`).classList.toggle("off", unused);
    element(id).disabled = element(`${id}-range`).disabled = unused;
  }
  return {
    measure, n, m, group: groups[element("group").value],
    estimator: { name, gamma, key: name === "bv" ? `bv:${gamma}` : name },
    pair: pair ? pair.split(",").map(Number) : null,
  };
};

// Why the estimator cannot be computed, or an empty string.
SM.refusal = (estimator, n, m) => {
  if (m > n - 1) return `m = ${m} needs more than ${m} candidates, and n is ${n}.`;
  if (estimator.name === "cls" && m > MOST_CLS) {
    return `CLS is solved here for m up to ${MOST_CLS}; the command line solves it for any.`;
  }
  return "";
};

// One state of all controls: read from them and from the address, written back to both.

// Whole numbers that a slider takes: each step changes the number, and the round ones are among them.
const SPACING = [[20, 1], [50, 2], [100, 5], [200, 10], [500, 20], [1000, 50]]; // up to, by

SM.steps = (most) => {
  const steps = [];
  for (let last = 0, size = 1; last < most; size *= 10) {
    for (const [end, by] of SPACING.slice(size > 1 ? 3 : 0)) {
      const scaled = size > 1 ? size / 10 : 1;
      while (last < Math.min(end * scaled, most)) steps.push(last = Math.min(last + by * scaled, most));
    }
  }
  return steps;
};

SM.nearest = (steps, value) => steps.reduce((best, step, i) => (Math.abs(Math.log(step / value)) < Math.abs(Math.log(steps[best] / value)) ? i : best), 0);

// A slider over the steps up to `most`, which tells its number rather than its place.
SM.Slider = class {
  constructor(input, words, moved) {
    Object.assign(this, { input, words, steps: [1] });
    input.addEventListener("input", () => { this.tell(); moved(this.value); });
  }

  get value() { return this.steps[Number(this.input.value)]; }

  tell(value = this.value) { this.input.setAttribute("aria-valuetext", this.words(value)); }

  set(value, most) {
    if (this.steps.at(-1) !== most) this.steps = SM.steps(most);
    Object.assign(this.input, { min: 0, max: this.steps.length - 1, step: 1 });
    this.input.value = SM.nearest(this.steps, value);
    this.tell(value);
  }
};

const MOST_CLS = 200;
const DEFAULT_GAMMA = 0.1;
const NAMES = { k: "k", gamma: "γ", n: "n", m: "m", r: "the true rank" };
const IN_ADDRESS = { metric: "metric", k: "k", m: "m", estimator: "est", gamma: "g", n: "n", group: "group", pair: "pair", r: "r" };

SM.begin = (groups, start, changed) => {
  const positions = { ...start }, problems = new Map();
  SM.positions = positions;
  const group = () => groups[positions.group];
  const limits = () => ({ k: [1, 1000], gamma: [1e-4, 1], n: [10, 1e6], m: [1, group()?.most ?? positions.n - 1], r: [1, positions.n] });
  const words = (m) => `${SM.count(m)} random ${m === 1 ? "item" : "items"}`;
  const sliders = ["m-range", "hero-m"].filter(element).map((id) => new SM.Slider(element(id), words, (m) => set({ m })));
  const rank = element("r-range") && new SM.Slider(element("r-range"), (r) => `true rank ${SM.count(r)} of ${SM.count(positions.n)}`, (r) => set({ r }));

  const offer = (id, entries) => element(id)?.replaceChildren(...entries.map(([value, text]) => new Option(text, value)));
  const offerPairs = () => {
    const names = group()?.recommenders.map(({ name }) => name) ?? [];
    offer("pair", names.flatMap((a, i) => names.slice(i + 1).map((b, j) => [`${i},${i + 1 + j}`, `${a} and ${b}`])));
    if (element("pair")) element("pair").disabled = names.length < 2;
  };

  // Write the state to the controls; a field that was just filled in keeps its text.
  function show(except) {
    for (const name of Object.keys(IN_ADDRESS)) {
      const control = element(name);
      if (control && name !== except) control.value = positions[name];
      control?.setAttribute("aria-invalid", String(problems.has(name)));
    }
    for (const slider of sliders) slider.set(positions.m, limits().m[1]);
    rank?.set(positions.r, positions.n);
    const correct = element("hero-correct");
    if (correct) correct.checked = positions.estimator !== "sampled";
    const { cutoff } = SM.METRICS[positions.metric];
    for (const [id, unused] of [["k", !cutoff], ["gamma", positions.estimator !== "bv"]]) {
      element(id).disabled = unused;
      element(id).closest(".control").classList.toggle("off", unused);
    }
    element("reason").textContent = [...problems.values()].join(" ");
  }

  function set(values, except) {
    if ("group" in values && groups.length) {
      positions.group = Number(values.group);
      offerPairs();
      Object.assign(positions, { n: group().n, pair: group().recommenders.length > 1 ? "0,1" : "", m: Math.min(positions.m, group().most) }, values, { group: positions.group });
    } else Object.assign(positions, values);
    positions.r = Math.min(positions.r, positions.n);
    for (const name of Object.keys(values)) problems.delete(name);
    show(except);
    changed();
  }

  function fill(name, text) {
    const value = Number(text), [low, high] = limits()[name], whole = name === "gamma" || Number.isInteger(value);
    if (text !== "" && whole && value >= low && value <= high) return set({ [name]: value }, name);
    problems.set(name, `${NAMES[name]} must be ${name === "gamma" ? "a number" : "a whole number"} from ${low.toLocaleString("en", { maximumFractionDigits: 4 })} to ${SM.count(high)}; the charts show ${SM.count(positions[name])}.`);
    show(name);
    return changed();
  }

  function fromAddress() {
    const address = new URLSearchParams(location.hash.slice(1)), values = {};
    for (const [name, key] of Object.entries(IN_ADDRESS)) {
      const text = address.get(key), value = Number(text);
      if (text === null) continue;
      if (name in NAMES) { if (Number.isFinite(value) && value > 0) values[name] = value; }
      else if (name === "group" ? groups[value] : name === "pair" || text in SM[name === "metric" ? "METRICS" : "ESTIMATORS"]) values[name] = text;
    }
    if ("pair" in values && !groups[values.group ?? positions.group]?.recommenders[Number(values.pair.split(",")[1])]) delete values.pair;
    if (!Object.keys(values).length) return false;
    if ("n" in values) positions.n = values.n;
    set(values);
    for (const name of Object.keys(NAMES)) {
      const [low, high] = limits()[name];
      positions[name] = Math.min(Math.max(name === "gamma" ? positions[name] : Math.round(positions[name]), low), high);
    }
    show();
    return true;
  }

  SM.set = set;
  SM.address = () => "#" + new URLSearchParams(Object.entries(IN_ADDRESS).filter(([name]) =>
    positions[name] !== "" && (["metric", "k", "m", "estimator", "gamma"].includes(name) || String(positions[name]) !== String(start[name]))).map(([name, key]) => [key, positions[name]]));

  offer("metric", Object.entries(SM.METRICS).map(([kind, { label }]) => [kind, label]));
  offer("estimator", Object.entries(SM.ESTIMATORS).map(([name, label]) => [name, label]));
  offer("group", groups.map(({ label, recommenders, n }, i) => [i, `${label}: ${recommenders.map(({ name }) => name).join(", ")}; n = ${SM.count(n)}`]));
  offerPairs();
  for (const name of Object.keys(IN_ADDRESS)) {
    element(name)?.addEventListener("input", ({ target }) => (name in NAMES ? fill(name, target.value) : set({ [name]: target.value })));
  }
  element("hero-correct")?.addEventListener("input", ({ target }) => set({ estimator: target.checked ? "bv" : "sampled", gamma: DEFAULT_GAMMA }));
  addEventListener("hashchange", fromAddress);
  if (!fromAddress()) { show(); changed(); }
};

// The settings that the positions stand for.
SM.settings = (groups) => {
  const { metric, k, n, m, r, gamma, estimator: name, group, pair } = SM.positions;
  return {
    measure: SM.measure(metric, k), n, m, r, group: groups[group],
    estimator: { name, gamma, key: name === "bv" ? `bv:${gamma}` : name, label: name === "bv" ? `BV ${gamma}` : SM.ESTIMATORS[name].split(",")[0] },
    pair: pair ? pair.split(",").map(Number) : null,
  };
};

// Why the estimator cannot be computed, or an empty string.
SM.refusal = (estimator, n, m) => {
  if (m > n - 1) return `m = ${SM.count(m)} needs more than ${SM.count(m)} candidates, and n is ${SM.count(n)}.`;
  if (estimator.name === "cls" && m > MOST_CLS) {
    return `CLS is solved here for m up to ${MOST_CLS}; the command line solves it for any.`;
  }
  return "";
};

// A hundred experiments with one pair of recommenders: bias and variance told apart.

const EXPERIMENTS = 100;

// Uniform numbers in [0, 1) from a seed (mulberry32).
SM.random = (seed) => () => {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
};

// Estimates of a recommender in so many experiments, drawing a sampled rank for each user.
SM.experiments = (records, vector, times, random) => {
  const sums = new Float64Array(times);
  SM.eachUser(records, vector.length - 1, (values, low, high, u) => {
    for (let left = records.count[u]; left > 0; left--) {
      for (let run = 0; run < times; run++) {
        let i = low;
        for (let share = random(); i < high && share > values[i]; i++) share -= values[i];
        sums[run] += vector[i];
      }
    }
  });
  return sums.map((sum) => sum / records.users);
};

function dots(differences, sign, names, width) {
  const room = width - 32 - SM.widthOf("←  looks better"), [a, b] = names.map((name) => SM.fit(name, room));
  const sides = [`← ${a} looks better`, `${b} looks better →`];
  const fits = SM.widthOf(sides.join("")) + 50 <= width, secondLine = fits ? 0 : 16; // both sides on one line, or below each other
  const height = 190 + secondLine, bottom = 146;
  const low = Math.min(0, ...differences), high = Math.max(0, ...differences), pad = 0.08 * (high - low) || 1;
  const x = (value) => 16 + ((width - 32) * (value - low + pad)) / (high - low + 2 * pad), step = Math.max(7, (width - 32) / 70), stacks = new Map(), nodes = [];
  const bins = differences.map((value) => Math.round(x(value) / step)), tallest = Math.max(1, ...bins.map((bin) => bins.filter((each) => each === bin).length));
  const up = Math.min(step, (bottom - 12) / tallest), size = Math.min(step * 0.42, 5);
  nodes.push(SM.svg("path", { d: `M${x(0)} 4V${bottom + 4}`, stroke: "var(--ink)", "stroke-width": 1.5 }), SM.svg("path", { d: `M16 ${bottom}H${width - 16}`, stroke: "var(--soft)" }));
  differences.forEach((value, i) => {
    const count = stacks.get(bins[i]) ?? 0, cx = bins[i] * step, cy = bottom - size - 1 - up * count, right = value * sign > 0;
    stacks.set(bins[i], count + 1);
    nodes.push(right ? SM.svg("circle", { class: "right", cx, cy, r: size, fill: "var(--c0)" })
      : SM.svg("path", { class: "wrong", d: `M${cx - size} ${cy - size}l${2 * size} ${2 * size}m0 ${-2 * size}l${-2 * size} ${2 * size}`, stroke: "var(--c4)", "stroke-width": 2 }));
  });
  const soft = { fill: "var(--soft)" }, zero = Math.min(Math.max(x(0), 60), width - 60);
  nodes.push(SM.text(zero, bottom + 18, "no difference", { "text-anchor": "middle", ...soft }),
    SM.text(16, height - 6 - secondLine, sides[0], soft));
  nodes.push(SM.text(width - 16, height - 6, sides[1], { "text-anchor": "end", ...soft }));
  return { nodes, height };
}

let lot = { key: "", differences: [] }, seed = 0;

// Draw the experiments made so far, or none where the setting is another one.
SM.showRuns = (state, order, exact) => {
  const { group, pair, measure, estimator, m } = state, key = [group.label, pair, measure.key, estimator.key, m].join("|");
  if (lot.key !== key) lot = { key, differences: [] };
  const possible = order && pair && !SM.equal(exact[pair[0]], exact[pair[1]]), { differences } = lot;
  element("run").disabled = !possible;
  const sign = possible ? Math.sign(exact[pair[1]] - exact[pair[0]]) : 1, right = differences.filter((value) => value * sign > 0).length;
  const words = !possible ? (pair ? "There is no order to find." : "One recommender makes no pair.") : !differences.length ? "Each dot will be the difference of the estimates in one experiment."
    : `${right} of ${differences.length} experiments have the right order (dots), ${differences.length - right} the wrong one (crosses); expected: ${SM.percent(order.probability, 1)} right.`;
  element("setting-e").textContent = element("setting-d").textContent;
  element("reading-e").textContent = words;
  SM.show("panel-e", (width) => dots(differences, sign, pair ? pair.map((i) => group.recommenders[i].name) : ["", ""], width), () => words, () => [["difference"], ...differences.map((value) => [value])]);
};

SM.startRuns = (current, changed) => element("run").addEventListener("click", () => {
  const { group, pair, measure, estimator, m } = current(), random = SM.random(++seed), vector = SM.vector(estimator, measure, group.n, m);
  const [a, b] = pair.map((i) => SM.experiments(group.recommenders[i].records, vector, EXPERIMENTS, random));
  const all = Array.from(b, (value, i) => value - a[i]), still = matchMedia("(prefers-reduced-motion: reduce)").matches, { key } = lot;
  const reveal = (count) => {
    if (lot.key !== key) return;
    lot.differences = all.slice(0, count);
    changed();
    if (count < EXPERIMENTS) setTimeout(reveal, 60, count + 5);
  };
  reveal(still ? EXPERIMENTS : 5);
});

// The same number of scores, asked cleverly: right orders against the price of each method.

const PRICE = 100; // scores per user to compare methods at

// Draw the right orders of the pair by each method; with the first metric where the chosen one has none.
SM.showBudget = ({ methods, labels }, { measure, pair, group }) => {
  const has = (key) => methods.some(({ points }) => points[key]?.[pair]);
  const key = has(measure.key) ? measure.key : Object.keys(methods[0]?.points ?? {})[0], shown = pair && has(key);
  element("budget-some").hidden = !shown;
  element("budget-none").hidden = shown;
  if (!shown) return;
  const label = key === measure.key ? measure.label : labels[0], [a, b] = pair.map((i) => group.recommenders[i].name);
  const lines = methods.filter(({ points }) => points[key]?.[pair]).map(({ name, points }, i) => {
    const xs = points[key][pair].map(([price]) => price), ys = points[key][pair].map(([, right, runs]) => right / runs);
    return { name, xs, ys, counts: points[key][pair].map(([, ...counts]) => counts), colour: SM.colour(i), dash: SM.dash(i), marks: true };
  });
  const near = ({ xs, counts }) => { const i = SM.nearest(xs, PRICE); return Math.abs(Math.log(xs[i] / PRICE)) < 0.3 ? counts[i] : null; };
  const atPrice = lines.map((line) => [line.name, near(line)]).filter(([, count]) => count);
  element("reading-g").textContent = `Share of runs that put ${a} and ${b} in the right order by ${label}. For about ${PRICE} scores per user: ${atPrice.map(([name, [right, runs]]) => `${name} ${right} of ${runs}`).join("; ")}.`;
  const repeated = lines.flatMap(({ counts }) => counts.map(([, runs]) => runs)), least = Math.min(...repeated), most = Math.max(...repeated);
  element("setting-g").textContent = `${label}, ${a} and ${b}, ${least === most ? most : `${least} to ${most}`} runs for each point`;
  const prices = lines.flatMap(({ xs }) => xs);
  SM.chart("panel-g", {
    x: { title: "scores asked per user", log: true, low: Math.min(...prices), high: Math.max(...prices) }, y: { title: "right order", low: 0, high: 1.02 },
    lines,
  }, element("reading-g").textContent);
};

// The first screen: the order among all items, the order among random ones, and what became of it.

const TIED = 1e-9; // relative difference of values that are equal up to rounding

SM.equal = (a, b) => Math.abs(a - b) <= TIED * Math.max(Math.abs(a), Math.abs(b), 1e-12);

// Each pair's fate: right, wrong or tied; pairs that are equal among all items have no order.
SM.fates = (exact, got) => exact.flatMap((a, i) => exact.slice(i + 1).map((b, j) => {
  const other = i + 1 + j;
  if (SM.equal(a, b)) return { pair: [i, other], fate: "none" };
  if (SM.equal(got[i], got[other])) return { pair: [i, other], fate: "tied" };
  return { pair: [i, other], fate: (a - b) * (got[i] - got[other]) > 0 ? "right" : "wrong" };
}));

// What becomes of the order, to end a sentence with.
SM.verdict = (fates) => {
  const count = (fate) => fates.filter((each) => each.fate === fate).length;
  const all = fates.length - count("none"), wrong = count("wrong"), tied = count("tied");
  if (!all) return "there is no order to get wrong";
  if (tied === all) return "nobody can be told apart";
  if (wrong === all) return all > 1 ? "the order turns upside down" : "the order is reversed";
  if (wrong) return `${wrong} of ${all} pairs come out in the wrong order`;
  return tied ? `${tied} of ${all} pairs tie` : "the order is right on average";
};

// Places from the top by decreasing value; equal values share the mean of theirs.
function places(values) {
  const above = (v) => values.filter((w) => w > v && !SM.equal(v, w)).length;
  return values.map((v) => above(v) + (values.filter((w) => SM.equal(v, w)).length - 1) / 2);
}

// The largest font at which both columns of labels leave room for the lines between them.
function fitting(left, brief, width, most) {
  const widest = (texts, size) => Math.max(...texts.map((text) => SM.widthOf(text, `bold ${size}px system-ui, sans-serif`)));
  return [17, 14, 12, 10].filter((size) => size <= most).find((size) => widest(left, size) + widest(brief, size) + 70 <= width) ?? 10;
}

function slopes({ group, m, estimator, measure }, exact, got, width) {
  const many = group.recommenders.length, row = many > 4 ? 30 : 46, top = 44, height = top + row * (many - 1) + 24;
  const from = places(exact), to = places(got), y = (place) => top + 6 + row * place;
  const names = group.recommenders.map(({ name }) => name);
  const all = exact.map((value) => `  ${SM.percent(value)}`), brief = got.map((value) => SM.percent(value));
  const size = fitting(names.map((name, i) => name + all[i]), brief, width, many > 4 ? 14 : 17), font = `bold ${size}px system-ui, sans-serif`;
  const widest = (texts) => Math.max(...texts.map((text) => SM.widthOf(text, font))), room = width - widest(brief) - 70;
  const left = names.map((name, i) => SM.fit(name, room - SM.widthOf(all[i], font), font) + all[i]);
  const full = names.map((name, i) => `${brief[i]}  ${name}`);
  const right = widest(left) + widest(full) > 0.68 * width ? brief : full;
  const x1 = widest(left) + 8, x2 = Math.max(width - widest(right) - 8, x1 + 40);
  const truth = `${measure.label}, all items`, sample = width < 460 ? `${SM.count(m)} random` : `${SM.count(m)} random ${m === 1 ? "item" : "items"}${estimator.name === "sampled" ? "" : ", corrected"}`;
  const head = { "font-weight": 600, fill: "var(--soft)", "font-size": width < 460 ? 12 : 14 }, bold = `600 ${head["font-size"]}px system-ui, sans-serif`;
  const start = Math.min(x2, width - SM.widthOf(sample, bold));
  const nodes = [
    SM.text(Math.max(Math.min(x1, start - 12), SM.widthOf(truth, bold)), 16, truth, { ...head, "text-anchor": "end" }),
    SM.text(start, 16, sample, head),
  ];
  names.forEach((_, i) => {
    const style = { fill: SM.colour(i), "font-size": size, "font-weight": 700 };
    nodes.push(SM.svg("line", { x1: x1 + 8, x2: x2 - 8, y1: y(from[i]), y2: y(to[i]), stroke: SM.colour(i), "stroke-width": 4, "stroke-linecap": "round", "stroke-dasharray": i < COLOURS ? undefined : "9 7" }),
      SM.text(x1, y(from[i]) + 5, left[i], { ...style, "text-anchor": "end" }));
    const among = names.map((__, j) => j).filter((j) => to[j] === to[i]);
    if (among.length === 1) nodes.push(SM.text(x2, y(to[i]) + 5, right[i], style));
    else if (among[0] === i) nodes.push(SM.text(x2, y(to[i]) + 5, `${brief[i]}, tie`, { ...style, fill: "var(--ink)" }));
  });
  return { nodes, height };
}

// Draw the first screen; `chance` is the probability that one experiment orders the pair rightly.
SM.hero = (state, exact, got, chance) => {
  const { group, m, estimator, measure, pair } = state, fates = SM.fates(exact, got), verdict = SM.verdict(fates);
  const corrected = estimator.name === "sampled" ? "" : ` correct ${measure.label} by ${estimator.label},`;
  element("hero-m-words").textContent = `${SM.count(m)} random ${m === 1 ? "item" : "items"}`;
  element("hero-n").textContent = SM.count(group.n - 1);
  element("hero-corrected").textContent = corrected;
  element("hero-verdict").textContent = verdict;
  element("hero-pair").textContent = pair ? SM.pairWords(state, exact, got, chance) : "";
  const label = () => `${measure.label} among all items: ${group.recommenders.map(({ name }, i) => `${name} ${SM.percent(exact[i])}`).join(", ")}. Among ${m} random items: ${group.recommenders.map(({ name }, i) => `${name} ${SM.percent(got[i])}`).join(", ")}.`;
  SM.show("hero-chart", (width) => slopes(state, exact, got, width), label, () => [
    ["recommender", `exact ${measure.label}`, `${measure.label} by ${estimator.label}, m = ${m}`],
    ...group.recommenders.map(({ name }, i) => [name, exact[i], got[i]])]);
};

// Who looks better, who is, and how likely one experiment is to say so.
SM.pairWords = ({ group, pair }, exact, got, chance) => {
  const [a, b] = pair, name = (i) => group.recommenders[i].name;
  if (SM.equal(exact[a], exact[b])) return `${name(a)} and ${name(b)} tie: no order.`;
  const is = exact[a] > exact[b] ? a : b, looks = got[a] > got[b] ? a : b;
  const words = SM.equal(got[a], got[b]) ? `${name(a)} and ${name(b)} look the same, a tie: no order. ${name(is)} is better.`
    : looks === is ? `${name(is)} looks better than ${name(a + b - is)}, and is.` : `${name(looks)} looks better than ${name(is)}; ${name(is)} is.`;
  if (chance === null || SM.equal(got[a], got[b])) return words;
  return `${words} Chance that one experiment gets this right: ${SM.percent(chance, chance > 0.0005 && chance < 0.9995 ? 1 : 0)}.`;
};

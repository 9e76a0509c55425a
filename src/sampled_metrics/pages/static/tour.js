// The guided minute: five positions of the controls with a sentence each.

const inAll = (fates) => {
  const ordered = fates.filter(({ fate }) => fate !== "none");
  return `${ordered.filter(({ fate }) => fate === "right").length} of ${ordered.length} ${ordered.length === 1 ? "pair" : "pairs"}`;
};

SM.TOUR = [
  [{ metric: "recall", k: 10, m: 100, estimator: "sampled" }, ({ group, m }) =>
    `A place among the best 10 of ${SM.count(m + 1)} is about a place among the best ${SM.count(Math.round((10 * group.n) / (m + 1)))} of ${SM.count(group.n)}: sampled Recall@10 answers another question than Recall@10.`],
  [{ metric: "ap-all", k: 10, m: 1, estimator: "sampled" }, () =>
    "Against one random item, all that a metric can see is whether the held-out item beats it. That is AUC: every metric now orders recommenders as AUC does."],
  [{ metric: "recall", k: 10, m: 1000, estimator: "sampled" }, ({ m }, fates) =>
    `With ${SM.count(m)} random items, at ${m === 1000 ? "ten times" : `${(m / 100).toFixed(1)} times`} the cost of 100, ${inAll(fates)} come out in the right order on average.`],
  [{ metric: "recall", k: 10, m: 100, estimator: "bv", gamma: 0.1 }, (_, fates) =>
    `100 random items again, but the bias is traded against variance (BV): ${inAll(fates)} come out in the right order on average.`],
  [{ metric: "recall", k: 10, m: 100, estimator: "bv", gamma: 0.0001 }, (_, fates, order) =>
    `Less bias costs variance. At γ = 0.0001 ${inAll(fates)} are right on average, but the difference of this pair varies by ± ${SM.points(2 * (order?.sd ?? 0))} from one experiment to the next.`],
];

const buttons = [...document.querySelectorAll("#tour button")];

SM.startTour = (groups) => buttons.forEach((button, i) => button.addEventListener("click", () => {
  const [positions] = SM.TOUR[i];
  SM.set({ ...positions, m: Math.min(positions.m, groups[SM.positions.group].most) });
}));

// Mark the button whose positions the controls have, and say its sentence.
SM.showTour = (state, fates, order) => {
  const here = SM.TOUR.findIndex(([positions]) => Object.entries(positions).every(([name, value]) =>
    SM.positions[name] === (name === "m" ? Math.min(value, state.group.most) : value)));
  buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === here)));
  element("tour-words").textContent = here < 0 ? "" : SM.TOUR[here][1](state, fates, order);
};

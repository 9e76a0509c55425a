// One held-out item among random items: its rank in one draw and in many.

const MOST_BALLS = 200;
const total = Number(numbers.lens.n.replaceAll(",", ""));
const LEAST = 1e-3; // smaller probabilities have no bar

let draws = { ranks: [], last: [] };
const START = numbers.item.rank;
let rank = START;

// Draw m of n ranks without replacement, except rank r, by Floyd's algorithm.
function drawItems(n, m, r) {
  const chosen = new Set();
  for (let j = n - 1 - m; j < n - 1; j++) {
    const t = Math.floor(Math.random() * (j + 1));
    chosen.add(chosen.has(t) ? j : t);
  }
  return [...chosen].map((place) => (place + 1 < r ? place + 1 : place + 2));
}

function draw(times) {
  if (draws.ranks.length + times > MOST_BALLS) draws.ranks = [];
  for (let i = 0; i < times; i++) {
    draws.last = drawItems(total, shownM, rank);
    draws.ranks.push(1 + draws.last.filter((other) => other < rank).length);
  }
  showItem();
}

function showHistogram(chances) {
  const seen = chances.map((p, i) => (p > LEAST ? i : -1)).filter((i) => i >= 0);
  const [low, high] = [Math.max(seen[0] - 1, 0), Math.min(seen.at(-1) + 1, shownM)];
  const peak = Math.max(...chances);
  const counts = new Map();
  for (const place of draws.ranks) counts.set(place, (counts.get(place) ?? 0) + 1);
  const tallest = Math.max(8, ...counts.values(), draws.ranks.length * peak);
  const every = Math.ceil((high - low + 1) / (element("histogram").clientWidth / 34));
  const bars = chances.slice(low, high + 1).map((p, i) => {
    const place = low + i + 1;
    const bar = make("i", {});
    const share = draws.ranks.length ? (draws.ranks.length * p) / tallest : p / peak;
    bar.style.height = `${100 * share}%`;
    const balls = Array.from({ length: counts.get(place) ?? 0 }, (_, ball) => {
      const dot = make("em", {});
      dot.style.bottom = `${(94 * ball) / tallest}%`;
      return dot;
    });
    if (place === draws.ranks.at(-1)) balls.at(-1).className = "new";
    const label = make("small", {}, i % every ? "" : String(place));
    return make("div", { className: place <= 10 ? "top" : "" }, bar, ...balls, label);
  });
  element("histogram").replaceChildren(...bars);
}

function showItem() {
  const m = shownM;
  const chances = Array.from({ length: m + 1 }, (_, i) => chance(i, rank, total, m));
  const mean = chances.reduce((sum, p, i) => sum + p * (i + 1), 0);
  const top = chances.slice(0, 10).reduce((sum, p) => sum + p, 0);
  const place = (r) => (100 * (r - 1)) / (total - 1);
  element("held-out").style.left = `${place(rank)}%`;
  element("top").style.width = `${place(10)}%`;
  element("drawn").setAttribute("d",
    draws.last.map((r) => `M${(10 * place(r)).toFixed(1)} 0v24`).join("") || "M0 0");
  element("r").value = rank;
  element("r-range").value = (1000 * Math.log(rank)) / Math.log(total);
  element("r-range").setAttribute("aria-valuetext", `rank ${rank}`);
  const found = rank <= 10 ? "among the best 10" : "not among the best 10";
  element("item-words").textContent = `At true rank ${rank.toLocaleString("en")} the item is `
    + `${found}. Among ${m.toLocaleString("en")} random items its rank is ${mean.toFixed(1)} on `
    + `average, and it counts as a hit ${percent(top)} of the time.`;
  element("item-drawn").textContent = draws.ranks.length
    ? `Last draw: rank ${draws.ranks.at(-1)} of ${m + 1}.` : "";
  element("draw-one").textContent = `Draw ${m.toLocaleString("en")}`;
  showHistogram(chances);
}

function moveItem(wanted) {
  rank = Math.round(Math.min(Math.max(wanted || 1, 1), total));
  draws = { ranks: [], last: [] };
  showItem();
}

if (element("item")) {
  element("draw-one").addEventListener("click", () => draw(1));
  element("draw-many").addEventListener("click", () => draw(50));
  element("r").addEventListener("change", ({ target }) => moveItem(Number(target.value)));
  element("r-range").addEventListener("input", ({ target }) =>
    moveItem(total ** (target.value / 1000)));
  element("item").addEventListener("change", () => remember({ r: rank }, { r: START }));
  addEventListener("view", () => moveItem(rank));
  moveItem(Number(address.get("r")) || rank);
}

// The leaderboard: places of recommenders by the number of random items, and over all items.

if (numbers.board) {
  const { metrics, names: titles, slots: looks, sizes: counts } = numbers.board;
  const SVG = "http://www.w3.org/2000/svg";
  const svg = element("board");
  const all = counts.length; // index of all items among the sizes
  const usual = { by: Object.keys(metrics)[0], items: counts.includes(100) ? 100 : counts[0] };
  const TICKS = { wide: [20, 50, 100, 200, 500, 1000], narrow: [20, 100, 1000] };
  const STEP = matchMedia("(prefers-reduced-motion: reduce)").matches ? 1000 : 350; // milliseconds
  const GAP = 1.7; // position of all items, as a factor of the largest sample
  const NARROW = 600; // pixels
  const LANE = 7; // pixels from one bracket to the next
  let pinned = counts.indexOf(usual.items);
  let by = usual.by;
  let timer = null;
  let chart; // scales of the chart at its present width

  const words = (i) => (i === all ? "over all items"
    : `against ${counts[i].toLocaleString("en")} random item${counts[i] === 1 ? "" : "s"}`);

  function add(name, attributes, text) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text) node.textContent = text;
    svg.append(node);
    return node;
  }

  function measureChart() {
    const width = svg.parentElement.clientWidth;
    const narrow = width < NARROW;
    const row = narrow ? 38 : 34;
    const lanes = Math.max(0, ...metrics[by].together.map(([, , lane]) => lane + 1));
    const right = (narrow ? 146 : 330) + LANE * lanes;
    const left = 26;
    const [first, last] = [Math.log(counts[0]), Math.log(GAP * counts.at(-1))];
    const x = (i) => {
      const place = i === all ? last : Math.log(counts[i]);
      return left + ((width - right - left) * (place - first)) / (last - first);
    };
    const bottom = 30 + row * titles.length;
    const y = (place) => 30 + row * (place - 0.5);
    return { width, narrow, x, y, bottom, names: x(all) + 12 + LANE * lanes };
  }

  function drawAxis() {
    const { width, narrow, x, bottom } = chart;
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${bottom + 44}`);
    svg.setAttribute("height", bottom + 44);
    for (const size of TICKS[narrow ? "narrow" : "wide"].filter((m) => counts.includes(m))) {
      const at = x(counts.indexOf(size));
      add("line", { class: "grid", x1: at, x2: at, y1: 26, y2: bottom });
      add("text", { x: at, y: bottom + 18, "text-anchor": "middle" }, size.toLocaleString("en"));
    }
    add("line", { class: "grid", x1: x(all), x2: x(all), y1: 26, y2: bottom });
    add("text", { x: x(all), y: bottom + 18, "text-anchor": "middle" }, "all");
    add("text", { x: x(0), y: bottom + 38 }, "random items m");
    add("text", { x: 0, y: 14 }, `place by ${by}`);
    titles.forEach((_, i) => add("text", { x: 0, y: chart.y(i + 1) + 4 }, String(i + 1)));
  }

  function drawLines(i) {
    const { width, narrow, x, y, bottom } = chart;
    const { values, places, shown } = metrics[by];
    const [better, worse] = shown[i];
    const look = (k) => ({ [better]: "better", [worse]: "worse" })[k] ?? "";
    const order = titles.map((_, k) => k).sort((a, b) => look(a).length - look(b).length);
    for (const k of order) {
      const own = { class: look(k), style: `--c: var(--c${looks[k]})` };
      const points = [...counts, 0].map((_, j) => `${x(j).toFixed(1)} ${y(places[k][j])}`);
      add("path", { ...own, class: `line ${look(k)}`, d: `M${points.join("L")}` });
      const at = y(places[k][all]);
      const name = add("text", { ...own, class: `name ${look(k)}`, x: chart.names, y: narrow ? at - 2 : at + 4 });
      name.textContent = titles[k];
      const [here, exact] = [percent(values[k][i]), percent(values[k][all])];
      if (narrow) {
        add("text", { ...own, x: chart.names, y: at + 13 }, `${here} → ${exact}`);
      } else {
        add("text", { ...own, x: width - 84, y: at + 4, "text-anchor": "end" }, here);
        add("text", { ...own, x: width - 4, y: at + 4, "text-anchor": "end" }, exact);
      }
      add("circle", { ...own, class: `dot ${look(k)}`, cx: x(i), cy: y(places[k][i]), r: look(k) ? 5 : 3 });
    }
    for (const [first, last, lane] of metrics[by].together) {
      const [at, top, end] = [x(all) + 9 + LANE * lane, y(first) - 7, y(last) + 7];
      add("path", { class: "bracket", d: `M${at - 3} ${top}h3V${end}h-3` });
    }
    add("line", { class: "here", x1: x(i), x2: x(i), y1: 22, y2: bottom });
    const head = { y: 14, "text-anchor": "end" };
    if (narrow) add("text", { ...head, x: width }, "here → over all items");
    if (narrow) return;
    add("text", { ...head, x: width - 84 }, i === all ? "all" : `m = ${counts[i].toLocaleString("en")}`);
    add("text", { ...head, x: width - 4 }, "all items");
  }

  function show(i) {
    const board = metrics[by];
    element("board-head").textContent = board.headline[i];
    element("board-pair").textContent = board.pair[i] || "\u00a0";
    element("board-pairs").textContent = board.decided;
    element("board-apart").textContent = board.caption;
    element("board-m").value = i;
    element("board-m-value").textContent = i === all ? "all" : counts[i].toLocaleString("en");
    drawAxis();
    drawLines(i);
  }

  function showTable() {
    const { values, places } = metrics[by];
    element("board-column").textContent = words(pinned);
    const cell = (text) => make("td", { className: "number" }, String(text));
    const rows = titles.map((_, k) => k).sort((a, b) => places[a][all] - places[b][all]);
    element("board-rows").replaceChildren(...rows.map((k) => make("tr", {},
      make("th", { scope: "row" }, titles[k]),
      cell(places[k][pinned]), cell(percent(values[k][pinned])),
      cell(places[k][all]), cell(percent(values[k][all])))));
  }

  function pin(i) {
    pinned = i;
    element("board-m").value = i;
    element("board-m").setAttribute("aria-valuetext", words(i));
    element("board-metric").value = by;
    show(i);
    showTable();
    remember({ by, items: i === all ? "all" : counts[i] }, usual);
  }

  // Show what the lens of the same page shows, as near as there are numbers of random items.
  function follow({ detail: { metric, m } }) {
    const distance = (i) => Math.abs(Math.log(counts[i] / m));
    const name = Object.keys(metrics).find((label) => label.toLowerCase() === metric);
    const nearest = [...counts.keys()].reduce((a, b) => (distance(b) < distance(a) ? b : a));
    stop();
    by = name ?? by;
    chart = measureChart();
    pin(nearest);
  }

  // Have the lens show what was chosen here, without following it in turn.
  function tell() {
    removeEventListener("lens", follow);
    const detail = { metric: by.toLowerCase(), m: counts[pinned] };
    dispatchEvent(new CustomEvent("board", { detail }));
    addEventListener("lens", follow);
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    element("board-play").textContent = "▶ Play";
  }

  function play() {
    if (timer) {
      stop();
      return;
    }
    element("board-play").textContent = "❚❚ Stop";
    if (pinned === all) pin(0);
    timer = setInterval(() => {
      if (pinned === all) stop();
      else pin(pinned + 1);
    }, STEP);
  }

  function pointed({ clientX }) {
    const x = clientX - svg.getBoundingClientRect().left;
    return [...counts.keys(), all].reduce((best, i) =>
      (Math.abs(chart.x(i) - x) < Math.abs(chart.x(best) - x) ? i : best));
  }

  element("board-m").addEventListener("input", ({ target }) => {
    stop();
    pin(Number(target.value));
    tell();
  });
  element("board-metric").addEventListener("input", ({ target }) => {
    by = target.value;
    chart = measureChart();
    pin(pinned);
    tell();
  });
  element("board-play").addEventListener("click", play);
  addEventListener("lens", follow);
  svg.addEventListener("pointermove", (event) => {
    if (!timer && event.pointerType === "mouse") show(pointed(event));
  });
  svg.addEventListener("pointerleave", () => show(pinned));
  svg.addEventListener("click", (event) => {
    stop();
    pin(pointed(event));
  });
  new ResizeObserver(() => {
    chart = measureChart();
    show(pinned);
  }).observe(svg.parentElement);

  if (address.get("by") in metrics) by = address.get("by");
  const asked = address.get("items");
  const place = asked === "all" ? all : counts.indexOf(Number(asked));
  chart = measureChart();
  pin(place < 0 ? pinned : place);
}

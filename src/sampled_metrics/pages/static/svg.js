// Drawings: SVG elements, drawings that follow the width of their place, and copies as PNG and CSV.

const element = (id) => document.getElementById(id);
const FONT = "12px system-ui, sans-serif";
const COLOURS = 8, DASHES = ["", "7 3", "2 3"]; // dashes by turns, where the colours come again

SM.svg = (name, attributes = {}, ...content) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) node.setAttribute(key, value);
  node.append(...content);
  return node;
};

SM.html = (name, properties = {}, ...content) => {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...content);
  return node;
};

SM.text = (x, y, content, more = {}) => SM.svg("text", { x, y, fill: "var(--ink)", ...more }, content);
SM.colour = (i) => `var(--c${i % COLOURS})`;
SM.dash = (i) => DASHES[Math.floor(i / COLOURS) % DASHES.length];

const ruler = document.createElement("canvas").getContext("2d");
SM.widthOf = (text, font = FONT) => {
  ruler.font = font;
  return ruler.measureText(text).width;
};

// A text that is no wider than `most`: letters in its middle give way to an ellipsis.
SM.fit = (text, most, font) => {
  let cut = text;
  for (let kept = text.length - 1; kept > 2 && SM.widthOf(cut, font) > most; kept--) cut = `${text.slice(0, Math.ceil(kept / 2))}…${text.slice(-Math.floor(kept / 2))}`;
  return cut;
};

// Shares as percent, with two digits after the point below 10 %.
SM.percent = (value, digits) => {
  const size = Math.abs(100 * value), shown = size.toFixed(digits ?? (size < 9.995 ? 2 : 1));
  return `${value < 0 && Number(shown) ? "\u2212" : ""}${shown}\u00a0%`;
};
SM.points = (value) => `${SM.percent(value).replace("\u00a0%", "")} points`;
const COUNT = new Intl.NumberFormat("en");
SM.count = (number) => COUNT.format(number);

// Places of labels: as near to the wanted ones as they can be without overlap, within two limits.
SM.apart = (wanted, height, low, high) => {
  const order = wanted.map((_, i) => i).sort((i, j) => wanted[i] - wanted[j]), places = [...wanted];
  order.forEach((i, k) => { if (k) places[i] = Math.max(places[i], places[order[k - 1]] + height); });
  let limit = high;
  for (const i of order.toReversed()) {
    places[i] = Math.max(low, Math.min(places[i], limit));
    limit = places[i] - height;
  }
  return places;
};

const drawings = new Map(); // by id of their place: how to draw them at a width, and their numbers

function redraw(id) {
  const place = element(id), { draw, label } = drawings.get(id);
  const width = Math.max(place.clientWidth, 240), drawing = draw(width);
  const height = drawing.height ?? 260;
  const svg = SM.svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label(), style: `font:${FONT}` }, ...drawing.nodes);
  place.replaceChildren(svg);
}

// Show what `draw(width)` returns: nodes and a height. `label()` is its text for those who do not see it, `rows()` its numbers as lists of cells.
SM.show = (id, draw, label, rows) => {
  if (!drawings.has(id)) resized.observe(element(id));
  drawings.set(id, { draw, label, rows, width: element(id).clientWidth });
  redraw(id);
};

const resized = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const drawing = drawings.get(target.id);
    if (drawing.width === target.clientWidth) continue;
    drawing.width = target.clientWidth;
    redraw(target.id);
  }
});

// Call `choose` where a pointer presses on a place or moves over it while pressed. The place listens, not
// its drawing, which is replaced meanwhile.
SM.onDrag = (place, choose, drags = () => true) => {
  place.addEventListener("pointerdown", (event) => {
    if (drags()) place.setPointerCapture(event.pointerId);
    choose(event);
  });
  place.addEventListener("pointermove", (event) => { if (event.buttons) choose(event); });
};

SM.save = (name, content) => {
  const link = SM.html("a", { download: name, href: URL.createObjectURL(content) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

SM.csv = (id) => drawings.get(id).rows().map((row) => row.map((cell) =>
  (/[",\n]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : cell)).join(",")).join("\n") + "\n";

SM.saveCsv = (id, name) => SM.save(`${name}.csv`, new Blob([SM.csv(id)], { type: "text/csv" }));

// Colours are variables of the page, which a picture by itself does not have.
SM.savePng = async (id, name) => {
  const svg = element(id).querySelector("svg").cloneNode(true), style = getComputedStyle(document.documentElement);
  const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number), scale = 2;
  svg.prepend(SM.svg("rect", { width, height, fill: "var(--ground)" }));
  for (const [key, value] of Object.entries({ xmlns: "http://www.w3.org/2000/svg", width: width * scale, height: height * scale })) svg.setAttribute(key, value);
  const text = new XMLSerializer().serializeToString(svg).replace(/var\((--[\w-]+)\)/g, (_, variable) => style.getPropertyValue(variable).trim());
  const picture = SM.html("img", { src: `data:image/svg+xml,${encodeURIComponent(text)}` });
  await picture.decode();
  const canvas = SM.html("canvas", { width: width * scale, height: height * scale });
  canvas.getContext("2d").drawImage(picture, 0, 0);
  canvas.toBlob((content) => SM.save(`${name}.png`, content));
};

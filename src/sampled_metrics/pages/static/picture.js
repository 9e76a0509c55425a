// The lens and the leaderboard as files: with their sentences, and with the styles that they have now.

const LOOK = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family",
  "font-size", "font-weight", "vector-effect"];
const PAD = 16; // pixels around a picture
const PICTURES = {
  lens: { chart: ".chart", texts: ["headline"], name: "lens" },
  leaders: { chart: "#board", texts: ["board-head", "board-pair"], name: "leaderboard" },
};

function svgNode(name, attributes, ...content) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...content);
  return node;
}

function copyLook(from, to) {
  const style = getComputedStyle(from);
  for (const name of LOOK) to.style.setProperty(name, style.getPropertyValue(name));
}

// A text of the page, in lines of at most this width; returns the node and the y below it.
function textLines(from, x, y, width) {
  const style = getComputedStyle(from);
  const context = document.createElement("canvas").getContext("2d");
  context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const lines = [""];
  for (const word of from.textContent.trim().split(/[ \n]+/)) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (lines.at(-1) && context.measureText(longer).width > width) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  const height = 1.3 * parseFloat(style.fontSize);
  const node = svgNode("text", {}, ...lines.map((line, i) =>
    svgNode("tspan", { x, y: y + height * (i + 0.8) }, line)));
  copyLook(from, node);
  node.style.fill = style.color;
  return [node, y + height * lines.length];
}

// The lines of a chart, at a place in the picture, and the labels that lie over it.
function chartNodes(chart, x, y) {
  const box = chart.getBoundingClientRect();
  const svg = chart.matches("svg") ? chart : chart.querySelector("svg");
  const copied = svg.cloneNode(true);
  const originals = svg.querySelectorAll("*");
  copied.querySelectorAll("*").forEach((node, i) => copyLook(originals[i], node));
  for (const [key, value] of Object.entries({ x, y, width: box.width, height: box.height })) {
    copied.setAttribute(key, value);
  }
  const labels = [...chart.querySelectorAll("span")].filter((span) => span.textContent.trim());
  return [copied, ...labels.map((label) => {
    const place = label.getBoundingClientRect();
    const size = parseFloat(getComputedStyle(label).fontSize);
    const node = svgNode("text", {
      x: x + place.left - box.left,
      y: y + (place.top + place.bottom) / 2 - box.top + 0.35 * size,
    }, label.textContent.trim());
    copyLook(label, node);
    node.style.fill = getComputedStyle(label).color;
    return node;
  })];
}

function savePicture({ dataset }) {
  const { chart, texts, name } = PICTURES[dataset.of];
  const drawn = document.querySelector(chart);
  const { width, height } = drawn.getBoundingClientRect();
  const ground = getComputedStyle(document.body).backgroundColor;
  const nodes = [];
  let y = PAD;
  for (const id of texts) {
    const [node, below] = textLines(element(id), PAD, y, width);
    nodes.push(node);
    y = below + 6;
  }
  const size = { width: width + 2 * PAD, height: y + height + PAD };
  const svg = svgNode("svg", { ...size, viewBox: `0 0 ${size.width} ${size.height}` },
    svgNode("rect", { width: "100%", height: "100%", fill: ground }), ...nodes,
    ...chartNodes(drawn, PAD, y));
  const text = new XMLSerializer().serializeToString(svg);
  if (dataset.kind === "png") savePng(text, 2 * size.width, 2 * size.height, ground, `${name}.png`);
  else save(new Blob([text], { type: "image/svg+xml" }), `${name}.svg`);
}

for (const button of document.querySelectorAll(".picture")) {
  button.addEventListener("click", () => savePicture(button));
}

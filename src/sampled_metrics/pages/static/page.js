// Downloads of embedded files, and details of table cells.

const FINE = 3; // pixels of a PNG per point of a figure

async function unpack({ dataset }) {
  const bytes = Uint8Array.from(atob(dataset.packed), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const address = URL.createObjectURL(await new Response(stream).blob());
  make("a", { download: dataset.name, href: address }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// Show the details of a cell in a line at the foot of the window.
function showDetail({ target }) {
  const button = target.closest(".cells button");
  element("detail").hidden = !button;
  if (!button) return;
  const data = button.dataset;
  const spread = (value, std) => (std ? `${value} ± ${std}` : value);
  const cell = button.parentElement;
  const table = cell.closest("table");
  const head = table.tHead.rows[0].cells[cell.cellIndex].textContent;
  const group = cell.closest("tbody").querySelector("[scope=rowgroup]")?.textContent;
  const name = table.parentElement.getAttribute("aria-label");
  const row = cell.parentElement.cells[0].textContent;
  element("detail").textContent = [
    [name, group, row, head].filter(Boolean).join(", "),
    button.parentElement.className.replace("-", " "),
    data.ours && `ours (expected) ${spread(data.ours, data.oursStd)}`,
    data.published && `paper ${spread(data.published, data.publishedStd)}`,
    data.difference && `difference ${data.difference}, at most ${data.tolerance} allowed`,
    data.stdTolerance && `that of ± ${data.stdDifference}, at most ${data.stdTolerance} allowed`,
    data.z && `z ${data.z}`,
    data.note,
  ].filter(Boolean).join("; ");
}

// Tab stops once in each table; arrow keys move within it.
function moveWithin(event) {
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  if (event.key === "Escape") element("detail").hidden = true;
  if (!(event.key in step) || event.target.tagName !== "BUTTON") return;
  event.preventDefault();
  const rows = [...event.currentTarget.rows].map((row) => [...row.querySelectorAll("button")]);
  const filled = rows.filter(({ length }) => length);
  const y = filled.findIndex((row) => row.includes(event.target));
  const [down, right] = step[event.key];
  const next = filled[y + down]?.[filled[y].indexOf(event.target) + right];
  if (!next) return;
  event.target.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

// Save a figure as one file.
function saveFigure(button) {
  const figure = button.closest("figure");
  const svg = figure.querySelector(".drawing svg").cloneNode(true);
  const [, , width, height] = svg.getAttribute("viewBox").split(/\s+/).map(Number);
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  const text = new XMLSerializer().serializeToString(svg);
  if (button.dataset.kind === "png") {
    savePng(text, FINE * width, FINE * height, "#ffffff", `${figure.id}.png`);
  } else {
    save(new Blob([text], { type: "image/svg+xml" }), `${figure.id}.svg`);
  }
}

addEventListener("DOMContentLoaded", () => {
  element("link")?.addEventListener("click", () => copy(location.href, element("link")));
  element("copy-plan")?.addEventListener("click",
    ({ target }) => copy(target.previousElementSibling.textContent, target));
  element("copy-bibtex")?.addEventListener("click",
    () => copy(element("bibtex").textContent, element("copy-bibtex")));
  for (const button of document.querySelectorAll(".as")) {
    button.addEventListener("click", () => saveFigure(button));
  }
  for (const button of document.querySelectorAll("[data-packed]")) {
    button.addEventListener("click", () => unpack(button));
  }
  for (const table of document.querySelectorAll(".cells")) {
    table.querySelector("button").tabIndex = 0;
    table.addEventListener("keydown", moveWithin);
  }
  addEventListener("hashchange", () => {
    document.querySelector(".cells td:target button")?.focus({ preventScroll: true });
  });
  for (const event of ["pointerover", "focusin", "click"]) addEventListener(event, showDetail);
});

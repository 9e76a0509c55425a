// Details of a cell of Tables 1-4, shown on hover, tap or focus.
"use strict";

const detail = element("detail");
const ROWS = ["ours", "published", "difference", "tolerance", "verdict", "note"];

function showDetail(button) {
  const list = document.createElement("dl");
  for (const name of ROWS) {
    const text = button.dataset[name];
    if (!text) continue;
    list.append(
      Object.assign(document.createElement("dt"), { textContent: name }),
      Object.assign(document.createElement("dd"), { textContent: text }));
  }
  detail.replaceChildren(list);
  detail.hidden = false;
  const place = button.getBoundingClientRect(), own = detail.getBoundingClientRect();
  const left = Math.min(place.left, document.documentElement.clientWidth - own.width - 8);
  const below = place.bottom + own.height + 8 < innerHeight;
  detail.style.left = `${Math.max(4, left) + scrollX}px`;
  detail.style.top = `${(below ? place.bottom + 5 : place.top - own.height - 5) + scrollY}px`;
}

function move(table, button, key) {
  const rows = [...table.tBodies[0].rows].map((row) => [...row.querySelectorAll("button")]);
  const y = rows.findIndex((row) => row.includes(button)), x = rows[y].indexOf(button);
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[key];
  const row = rows[y + step[0]];
  const next = row?.[Math.min(x + step[1], step[0] ? row.length - 1 : Infinity)];
  if (!next) return;
  button.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

for (const table of document.querySelectorAll("table.cells")) {
  const first = table.querySelector("button");
  if (first) first.tabIndex = 0; // one stop of Tab a table; arrows move within
  for (const event of ["pointerover", "focusin", "click"]) {
    table.addEventListener(event, ({ target }) => {
      const button = target.closest("button");
      if (button) showDetail(button);
    });
  }
  for (const event of ["pointerleave", "focusout"]) table.addEventListener(event, () => { detail.hidden = true; });
  table.addEventListener("keydown", (event) => {
    if (event.key === "Escape") detail.hidden = true;
    if (!event.key.startsWith("Arrow") || event.target.tagName !== "BUTTON") return;
    event.preventDefault();
    move(table, event.target, event.key);
  });
}
addEventListener("scroll", () => { detail.hidden = true; }, { passive: true });

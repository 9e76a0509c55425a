// The tooltip of charts and cells; cells of the tables show theirs on hover, tap or focus.

SM.hideDetail = () => { element("detail").hidden = true; };

// Show names and values beside a place of the window.
SM.detail = (entries, x, y) => {
  const detail = element("detail");
  detail.replaceChildren(SM.html("dl", {}, ...entries.flatMap(([name, value]) => [SM.html("dt", { textContent: name }), SM.html("dd", { textContent: value })])));
  detail.hidden = false;
  const own = detail.getBoundingClientRect(), left = Math.min(x + 8, document.documentElement.clientWidth - own.width - 8);
  const top = y + own.height + 12 < innerHeight ? y + 8 : y - own.height - 24;
  detail.style.left = `${Math.max(4, left) + scrollX}px`;
  detail.style.top = `${top + scrollY}px`;
};

const ROWS = { ours: "ours", run: "this run", published: "published", difference: "difference", tolerance: "tolerance", z: "z", verdict: "verdict", note: "note" };

function showDetail(button) {
  const { left, bottom } = button.getBoundingClientRect();
  SM.detail(Object.entries(ROWS).filter(([key]) => button.dataset[key]).map(([key, name]) => [name, button.dataset[key]]), left, bottom);
}

function move(table, button, key) {
  const rows = [...table.rows].map((row) => [...row.querySelectorAll("button")]).filter(({ length }) => length);
  const y = rows.findIndex((row) => row.includes(button)), x = rows[y].indexOf(button);
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[key];
  const row = rows[y + step[0]];
  const next = row?.[Math.min(x + step[1], step[0] ? row.length - 1 : Infinity)];
  if (!next) return;
  button.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function enliven(table) {
  const first = table.querySelector("button");
  if (first) first.tabIndex = 0; // one stop of Tab a table; arrows move within
  for (const event of ["pointerover", "focusin", "click"]) {
    table.addEventListener(event, ({ target }) => {
      const button = target.closest("button");
      if (button) showDetail(button);
    });
  }
  for (const event of ["pointerleave", "focusout"]) table.addEventListener(event, SM.hideDetail);
  table.addEventListener("keydown", (event) => {
    if (event.key === "Escape") SM.hideDetail();
    if (!event.key.startsWith("Arrow") || event.target.tagName !== "BUTTON") return;
    event.preventDefault();
    move(table, event.target, event.key);
  });
}

addEventListener("DOMContentLoaded", () => document.querySelectorAll("table.cells").forEach(enliven));
addEventListener("scroll", SM.hideDetail, { passive: true });

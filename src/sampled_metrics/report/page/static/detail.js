// The tooltip of charts and cells.
"use strict";

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

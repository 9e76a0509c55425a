// Make scrolling regions reachable by keyboard, and name the buttons beside code.
const SCROLLING = ".md-typeset__scrollwrap, .highlight-ipynb, .tabbed-labels, .jp-RenderedHTMLCommon pre";
const name = () => {
  for (const region of document.querySelectorAll(SCROLLING)) {
    if (!region.hasAttribute("tabindex")) region.tabIndex = 0;
  }
  document.querySelectorAll(".md-code__nav:not([aria-label])").forEach((buttons) => {
    const place = buttons.closest("[id]")?.id ?? "";
    buttons.setAttribute("aria-label", `Code ${place.replace(/\D+/g, "")}`);
  });
};
new MutationObserver(name).observe(document.body, { childList: true, subtree: true });
name();

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
// Frames are as high as their content, which tells its height.
addEventListener("message", ({ source, data }) => {
  const height = Number(data?.height);
  if (!(height > 0)) return;
  for (const frame of document.querySelectorAll("iframe.study")) {
    if (frame.contentWindow === source) frame.style.height = `${height + 2}px`;
  }
});

// Copies of what is on the page: the setting as an address, panels as pictures and numbers, BibTeX.

// Keep the setting in the address, where it is one that the reader has chosen.
SM.remember = () => { if (SM.chosen) history.replaceState(null, "", SM.address()); };

async function copied(button, text) {
  try {
    await navigator.clipboard.writeText(text);
    element("copied").textContent = "Copied.";
  } catch {
    getSelection().selectAllChildren(element("bibtex"));
    element("copied").textContent = "Selected: press Ctrl+C to copy.";
  }
}

for (const figure of document.querySelectorAll("figure[data-panel]")) {
  const id = figure.dataset.panel, name = figure.dataset.name;
  const button = (text, act) => SM.html("button", { type: "button", textContent: text, ariaLabel: `${text} of ${name}`, onclick: act });
  figure.append(SM.html("p", { className: "saves" }, button("PNG", () => SM.savePng(id, name)), button("CSV", () => SM.saveCsv(id, name))));
}
// Files that the page carries are packed.
async function unpack({ dataset }) {
  const bytes = Uint8Array.from(atob(dataset.packed), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  SM.save(dataset.name, await new Response(stream).blob());
}

addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll(".download")) button.addEventListener("click", () => unpack(button));
  element("copy")?.addEventListener("click", ({ target }) => copied(target, element("bibtex").textContent));
});

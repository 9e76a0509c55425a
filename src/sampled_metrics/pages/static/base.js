// Shared by all scripts of a page: its elements, numbers and address.

const element = (id) => document.getElementById(id);
const numbers = JSON.parse(element("numbers").textContent);
const address = new URLSearchParams(location.hash.slice(1));

const percent = (value) => `${(100 * value).toFixed(Math.abs(value) < 0.09995 ? 2 : 1)}\u00a0%`;

const make = (name, properties, ...content) => {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...content);
  return node;
};

// Keep values in the address that differ from those at the start.
function remember(values, usual) {
  for (const [name, value] of Object.entries(values)) {
    if (String(value) === String(usual[name])) address.delete(name);
    else address.set(name, value);
  }
  const hash = address.toString();
  history.replaceState(null, "", hash ? `#${hash}` : location.pathname);
}

async function copy(text, button) {
  await navigator.clipboard.writeText(text);
  const before = button.textContent;
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = before; }, 1200);
}

function save(blob, download) {
  const href = URL.createObjectURL(blob);
  make("a", { href, download }).click();
  setTimeout(() => URL.revokeObjectURL(href), 1000);
}

// Save an SVG as a PNG of this size and background.
async function savePng(svg, width, height, ground, download) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = make("canvas", { width, height });
  const context = canvas.getContext("2d");
  context.fillStyle = ground;
  context.fillRect(0, 0, width, height);
  context.drawImage(image, 0, 0, width, height);
  canvas.toBlob((blob) => save(blob, download));
}

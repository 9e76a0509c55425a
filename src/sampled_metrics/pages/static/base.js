// What all scripts of a page use: its elements, its numbers and its address.

const element = (id) => document.getElementById(id);
const numbers = JSON.parse(element("numbers").textContent);
const address = new URLSearchParams(location.hash.slice(1));

const make = (name, properties, ...content) => {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...content);
  return node;
};

// Keep in the address what is not as at the start.
function remember(values, usual) {
  for (const [name, value] of Object.entries(values)) {
    if (String(value) === String(usual[name])) address.delete(name);
    else address.set(name, value);
  }
  const hash = address.toString();
  history.replaceState(null, "", hash ? `#${hash}` : location.pathname);
}

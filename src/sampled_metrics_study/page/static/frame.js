// Tell the page around this one how high its content is.

const tellHeight = () => {
  const { bottom } = document.querySelector("main").getBoundingClientRect();
  parent.postMessage({ height: Math.ceil(bottom + scrollY) }, "*");
};

new ResizeObserver(tellHeight).observe(document.querySelector("main"));

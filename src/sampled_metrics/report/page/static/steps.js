// Whole numbers that a slider takes: each step changes the number, and the round ones are among them.
"use strict";

const SPACING = [[20, 1], [50, 2], [100, 5], [200, 10], [500, 20], [1000, 50]]; // up to, by

SM.steps = (most) => {
  const found = [];
  for (let last = 0, size = 1; last < most; size *= 10) {
    for (const [end, by] of SPACING.slice(size > 1 ? 3 : 0)) {
      const scaled = size > 1 ? size / 10 : 1;
      while (last < Math.min(end * scaled, most)) found.push(last = Math.min(last + by * scaled, most));
    }
  }
  return found;
};

SM.nearest = (steps, value) => steps.reduce((best, step, i) => (Math.abs(Math.log(step / value)) < Math.abs(Math.log(steps[best] / value)) ? i : best), 0);

// A slider over the steps up to `most`, which tells its number rather than its place.
SM.Slider = class {
  constructor(input, words, moved) {
    Object.assign(this, { input, words, steps: [1] });
    input.addEventListener("input", () => { this.tell(); moved(this.value); });
  }

  get value() { return this.steps[Number(this.input.value)]; }

  tell(value = this.value) { this.input.setAttribute("aria-valuetext", this.words(value)); }

  set(value, most) {
    if (this.steps.at(-1) !== most) this.steps = SM.steps(most);
    Object.assign(this.input, { min: 0, max: this.steps.length - 1, step: 1 });
    this.input.value = SM.nearest(this.steps, value);
    this.tell(value);
  }
};

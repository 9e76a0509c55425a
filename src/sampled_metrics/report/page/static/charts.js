// The four panels of the explorer, drawn by Plotly.
"use strict";

const CONFIG = { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: false };
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
let theme = null;

SM.theme = () => {
  theme ??= {
    ink: colour("--ink"), soft: colour("--soft"), line: colour("--line"),
    series: [0, 1, 2, 3, 4, 5].map((i) => colour(`--c${i}`)),
  };
  return theme;
};
SM.forgetTheme = () => { theme = null; };

function axis(title, more) {
  const { soft, line } = SM.theme();
  return {
    title: { text: title, standoff: 6, font: { size: 12, color: soft } },
    gridcolor: line, linecolor: soft, zeroline: false, fixedrange: true, showline: true,
    tickfont: { color: soft, size: 11 }, ticks: "outside", ticklen: 3, tickcolor: soft, ...more,
  };
}

// 1, 10, 100 ... with the 3 in between where there are few decades.
SM.logAxis = (title, low, high) => {
  const decades = Math.log10(high / low), ticks = [];
  for (let e = 0; 10 ** e <= high * 1.001; e++) {
    for (const lead of decades < 3.2 ? [1, 3] : [1]) {
      if (lead * 10 ** e >= low && lead * 10 ** e <= high) ticks.push(lead * 10 ** e);
    }
  }
  const text = ticks.map((tick) => tick.toLocaleString("en"));
  const pad = 0.015 * decades + 0.01;
  const range = [Math.log10(low) - pad, Math.log10(high) + pad];
  return axis(title, { type: "log", range, tickvals: ticks, ticktext: text, tickangle: 0 });
};

SM.linearAxis = (title, more) => axis(title, { rangemode: "tozero", nticks: 6, ...more });

SM.line = (name, x, y, more = {}) => ({
  type: "scatter", mode: "lines", name, x, y, hovertemplate: "%{x:,.4~g}: %{y:.4f}",
  ...more, line: { width: 2, ...more.line },
});

SM.points = (name, x, y, more) => ({ type: "scatter", mode: "markers", name, x, y, ...more });

SM.vertical = (x) => ({
  type: "line", x0: x, x1: x, y0: 0, y1: 1, yref: "paper",
  line: { color: SM.theme().soft, width: 1, dash: "dot" },
});

SM.horizontal = (y) => ({ ...SM.vertical(0), x0: 0, x1: 1, xref: "paper", y0: y, y1: y, yref: "y" });

// A legend in the page's own text, cheaper to lay out than Plotly's.
function legend(id, traces) {
  const entries = traces.map(({ name, line, marker }) => {
    const swatch = document.createElement("i");
    if (line) swatch.style.borderTop = `${Math.max(line.width, 2)}px ${line.dash === "dot" ? "dotted" : "solid"} ${line.color}`;
    else swatch.textContent = marker.symbol === "x-thin" ? "✕" : "●";
    const entry = document.createElement("span");
    entry.append(swatch, name);
    return entry;
  });
  document.getElementById(`${id}-legend`).replaceChildren(...entries);
}

SM.draw = (id, traces, xaxis, yaxis, more = {}) => {
  legend(id, traces);
  return Plotly.react(id, traces.map((trace) => ({ ...trace, name: "" })), {
    margin: { l: 52, r: 12, t: 8, b: 42 },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 12, color: SM.theme().ink },
    hovermode: "closest", dragmode: false, showlegend: false, xaxis, yaxis, ...more,
  }, CONFIG);
};

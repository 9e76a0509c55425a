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

SM.vertical = (x) => ({
  type: "line", x0: x, x1: x, y0: 0, y1: 1, yref: "paper",
  line: { color: SM.theme().soft, width: 1, dash: "dot" },
});

SM.horizontal = (y, more = {}) => ({
  type: "line", x0: 0, x1: 1, xref: "paper", y0: y, y1: y, ...more,
  line: { color: SM.theme().soft, width: 1, dash: "dot", ...more.line },
});

SM.draw = (id, traces, xaxis, yaxis, more = {}) => {
  const { ink } = SM.theme();
  return Plotly.react(id, traces, {
    margin: { l: 52, r: 12, t: 30, b: 42 },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 12, color: ink },
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 11 }, itemclick: false, itemdoubleclick: false },
    hovermode: "closest", dragmode: false, showlegend: true, xaxis, yaxis, ...more,
  }, CONFIG);
};

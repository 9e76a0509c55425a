// Texts and files to take away from the atlas: of the result chosen, and of those found.

const CSV = ["source", "title", "data", "model", "n", "m", "users", "runs", "printed", "exact",
  "metric", "value", "low", "high", "measured", "standing", "remark"];
const STYLES = ["fill", "stroke", "stroke-width", "opacity", "font-family", "font-size"];

const USUAL = "without-replacement"; // way to draw negatives

function commandOf({ printed, n, m, users, runs, way }) {
  return `sampled-metrics reported ${printed} \\\n  --n-items ${n} --n-negatives ${m}`
    + `${users ? ` --n-users ${users}` : ""}${runs > 1 ? ` --runs ${runs}` : ""}`
    + `${way === USUAL ? "" : ` \\\n  --sampling ${way}`}`;
}

function pythonOf({ printed, n, m, users, runs, way }) {
  const pairs = printed.split(" ").map((pair) => `"${pair.replace("=", '": "')}"`);
  return `import sampled_metrics as sm\n\nsm.reported(\n    {${pairs.join(", ")}},\n`
    + `    n_items=${n}, n_negatives=${m}${users ? `, n_users=${users}` : ""},`
    + `${runs > 1 ? ` runs=${runs},` : ""}${way === USUAL ? "" : `\n    sampling="${way}",`}\n)`;
}

function bibtexOf({ source, title, place }) {
  const [, name, year] = title.match(/^(.*?)(?:, (\d{4}))?$/);
  const url = place.match(/https?:\/\/[^\s;,)]+/)?.[0];
  const fields = [`title = {${name}}`, year && `year  = {${year}}`, url && `url   = {${url}}`];
  return `@misc{${source},\n  ${fields.filter(Boolean).join(",\n  ")}\n}`;
}

function textOf(entry) {
  if (tab === "bibtex") return bibtexOf(entry);
  if (tab === "source") return [entry.title, entry.place, entry.note].filter(Boolean).join("\n\n");
  if (tab === "command") return commandOf(entry);
  if (tab === "python") return pythonOf(entry);
  const allowed = entry.low === null ? "allow no range"
    : `allow ${span(entry)} (at 95 %; Krichene and Rendle, KDD 2020; sampled-metrics)`;
  return `The ${entry.metric} of ${entry.value} ranks the held-out item against ${entry.m} random `
    + `items. Over all ${count(entry.n)} candidates, the printed numbers ${allowed}. Please report `
    + `${entry.metric} over all items, or at least HR@1, HR@5 and HR@10.`;
}

// The chart with the styles that it has now, so that it looks the same elsewhere.
function picture() {
  const copied = element("map").cloneNode(true);
  const originals = element("map").querySelectorAll("*");
  copied.querySelectorAll("*").forEach((node, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of STYLES) node.style.setProperty(name, style.getPropertyValue(name));
  });
  copied.setAttribute("xmlns", SVG);
  copied.setAttribute("width", 2 * SIZE.width);
  copied.setAttribute("height", 2 * SIZE.height);
  return new XMLSerializer().serializeToString(copied);
}

function saveCsv() {
  const quoted = (value) => `"${String(value ?? "").replaceAll('"', '""')}"`;
  const lines = found.map((entry) => CSV.map((name) => quoted(entry[name])).join(","));
  save(new Blob([[CSV.join(","), ...lines, ""].join("\n")], { type: "text/csv" }), "atlas.csv");
}

// One's own sampled ranks: read from a file, corrected here, sent nowhere.
"use strict";

const OWN_METRICS = ["recall", "ndcg", "ap-all", "auc"];
const CONFIDENCE = 0.95;

// Fields of a line of CSV, with quotes.
function fields(line) {
  const found = [];
  for (const [, quoted, bare] of line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)) {
    found.push((quoted === undefined ? bare : quoted.replaceAll('""', '"')).trim());
  }
  return found;
}

// Rows of { rank, user }; an Error names the line and what is allowed.
SM.parseRanks = (text, m) => {
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/).map((line, i) => ({ line, number: i + 1 })).filter(({ line }) => line.trim());
  if (!lines.length) throw new Error("The file is empty; expected a column sampled_rank.");
  const first = fields(lines[0].line), headed = first.some((field) => field && !Number.isFinite(Number(field)));
  const column = headed ? (first.length === 1 ? 0 : first.indexOf("sampled_rank")) : 0;
  if (column < 0) throw new Error(`No column sampled_rank; found ${first.join(", ")}.`);
  if (!headed && first.length > 1) throw new Error(`Line 1 has ${first.length} columns and no names; expected sampled_rank among the names, or one column.`);
  const users = headed ? first.indexOf("user_id") : -1;
  const rows = lines.slice(headed ? 1 : 0).map(({ line, number }) => {
    const all = fields(line), field = all[column] ?? "", rank = Number(field);
    if (!/^\d+(\.0*)?$/.test(field) || rank < 1 || rank > m + 1) {
      throw new Error(`Line ${number}: sampled rank ${JSON.stringify(field)}; allowed: whole numbers from 1 to ${m + 1}, the places beside m = ${m} negatives.`);
    }
    return { rank, user: users < 0 ? null : all[users] };
  });
  if (!rows.length) throw new Error("The file has names but no rows; expected one row a user.");
  return rows;
};

// Rows at every sampled rank and, where every row is a user's own, the smooth fit of them; kept for
// as long as only the estimator changes.
let fit = { rows: null };
function fitOf(rows, n, m) {
  if (fit.rows === rows && fit.n === n && fit.m === m) return fit;
  const counts = new Float64Array(m + 1);
  for (const { rank } of rows) counts[rank - 1]++;
  const own = rows[0].user === null || new Set(rows.map(({ user }) => user)).size === rows.length;
  fit = { rows, n, m, counts, smoothed: own ? SM.smoothed(counts, n) : null };
  return fit;
}

// Shape of the users' values, their number, and the shape under the smooth fit.
function usersOf(rows, vector, { counts, smoothed }) {
  if (smoothed) return [SM.shape(vector, counts), rows.length, SM.shape(vector, smoothed)];
  const sums = new Map();
  for (const { rank, user } of rows) {
    const [sum, count] = sums.get(user) ?? [0, 0];
    sums.set(user, [sum + vector[rank - 1], count + 1]);
  }
  const values = Float64Array.from(sums.values(), ([sum, count]) => sum / count);
  return [SM.shape(values, values.map(() => 1)), values.length, null];
}

SM.correct = (rows, { n, m, k, gamma }) => OWN_METRICS.flatMap((kind) => {
  const measure = SM.measure(kind, k);
  return [{ name: "sampled" }, { name: "cls" }, { name: "bv", gamma }].map((estimator) => {
    const label = estimator.name === "bv" ? `bv:${gamma}` : estimator.name;
    const reason = SM.refusal(estimator, n, m);
    if (reason) return { metric: measure.label, estimator: label, reason };
    const vector = SM.vector(estimator, measure, n, m);
    const [observed, users, likely] = usersOf(rows, vector, fitOf(rows, n, m));
    const prior = SM.shape(vector, vector.map(() => 1));
    return { metric: measure.label, estimator: label, ...SM.estimate(observed, users, prior, CONFIDENCE, likely) };
  });
});

function showOwn(results) {
  const fixed = (value) => (Number.isNaN(value) ? "–" : value.toFixed(5));
  const body = results.map((each) => {
    const row = document.createElement("tr");
    const texts = each.reason
      ? [each.metric, each.estimator, each.reason]
      : [each.metric, each.estimator, fixed(each.value), fixed(each.stdError), `${fixed(each.low)} to ${fixed(each.high)}`];
    row.replaceChildren(...texts.map((text) => Object.assign(document.createElement("td"), { textContent: text })));
    if (each.reason) row.lastChild.colSpan = 3;
    return row;
  });
  document.querySelector("#own-results tbody").replaceChildren(...body);
}

let ownText = null;
let parsed = { text: null };
function correctOwn() {
  if (ownText === null) return;
  const { n, m } = SM.positions, status = element("own-status"), box = element("own-results");
  try {
    if (m >= n) throw new Error(`m = ${m} needs more than ${m} candidates, and n is ${n}.`);
    if (parsed.text !== ownText || parsed.m !== m) parsed = { text: ownText, m, rows: SM.parseRanks(ownText, m) };
    const { rows } = parsed;
    SM.own = SM.correct(rows, SM.positions);
    showOwn(SM.own);
    box.hidden = false;
    const { users } = SM.own[0];
    status.textContent = `${users.toLocaleString("en")} users, m = ${m} negatives of n = ${n.toLocaleString("en")} candidates.`;
    status.classList.remove("bad");
  } catch (error) {
    box.hidden = true;
    SM.own = null;
    status.textContent = error.message;
    status.classList.add("bad");
  }
}

element("file").addEventListener("change", async (event) => {
  const [file] = event.target.files;
  ownText = file ? await file.text() : null;
  correctOwn();
});
SM.onPositions = correctOwn;

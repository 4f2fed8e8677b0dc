// The first page: live progress, the form with its estimate, and runs selected to be compared.
import { fill, money, clock, watch } from "./live.js";
import { request } from "./talk.js";
import "./selecting.js";

for (const element of document.querySelectorAll(".live[data-run]")) {
  watch(element.dataset.run, {
    progress: (news) => fill(element, news),
    ended: () => location.reload(),
  });
}

// The change against the baseline is filled in where it is known.
const cells = [...document.querySelectorAll("td[data-change]:not([data-change=''])")].filter((cell) => cell.firstElementChild);
const words = { better: "better", worse: "worse", no_difference: "no difference seen", inconclusive: "cannot tell yet" };
const kinds = { better: "better", worse: "worse", no_difference: "", inconclusive: "unsure" };

async function showChange(cell) {
  const runId = cell.closest("tr").dataset.run;
  const chosen = cell.closest("table").dataset.baseline;
  const against = chosen ? `?baseline=${encodeURIComponent(chosen)}` : "";
  const { baseline, metrics, reason } = await request("GET", `/api/v1/benchmarks/runs/${runId}/change${against}`);
  const link = cell.querySelector("a");
  if (!baseline) return;
  link.href = `/compare?a=${baseline}&b=${runId}`;
  const change = metrics[cell.dataset.change];
  if (!change) { link.title = reason ?? ""; return; }
  const badge = document.createElement("span");
  badge.className = `badge ${kinds[change.verdict]}`;
  badge.textContent = words[change.verdict];
  const amount = change.difference === null ? "" : ` ${change.difference < 0 ? "−" : "+"}${Math.abs(change.difference).toFixed(2)}`;
  link.replaceChildren(badge, amount);
}

(async () => {
  for (const cell of cells) {
    try {
      await showChange(cell);
    } catch {
      return; // the link to the comparison stays
    }
  }
})();

// The form.
const form = document.querySelector("#start");
const estimate = document.querySelector("#estimate");
const refused = document.querySelector("#start-refused");

function asked() {
  const value = (name) => form.elements[name].value.trim();
  const list = (name) => value(name).split(",").map((word) => word.trim()).filter(Boolean);
  const [kind, name] = [value("what").split(":", 1)[0], value("what").slice(value("what").indexOf(":") + 1)];
  const body = { [kind]: name };
  const models = list("models");
  if (models.length === 1 && kind === "dataset") body.model = models[0];
  else if (models.length) body.models = models;
  if (list("metrics").length) body.metrics = list("metrics");
  if (value("rubric")) body.rubric = value("rubric");
  if (value("judge")) body.judge = value("judge");
  if (value("samples")) body.samples = Number(value("samples"));
  if (value("max_cost")) body.max_cost = Number(value("max_cost"));
  return body;
}

function range([low, high], text) {
  return text(low) === text(high) ? text(low) : `${text(low)} to ${text(high)}`;
}

let pending;
let newest = 0;
function showEstimate() {
  clearTimeout(pending);
  pending = setTimeout(async () => {
    const own = ++newest;
    try {
      const found = await request("POST", "/api/v1/benchmarks/estimate", asked());
      if (own !== newest) return;
      const cost = found.cost ? range(found.cost, money) : "cost unknown";
      estimate.textContent = `≈ ${found.calls} calls · ${cost} · ≈ ${range(found.seconds, clock)} min`;
      refused.hidden = true;
    } catch (error) {
      if (own !== newest) return;
      estimate.textContent = "";
      refused.textContent = error.message;
      refused.hidden = false;
    }
  }, 300);
}

if (form) {
  form.addEventListener("input", showEstimate);
  document.querySelector("details.start").addEventListener("toggle", (event) => event.target.open && showEstimate());
  if (document.querySelector("details.start").open) showEstimate();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    try {
      const made = await request("POST", "/api/v1/benchmarks/runs", asked());
      location.assign(made.runs ? "/" : `/runs/${made.id}`);
    } catch (error) {
      refused.textContent = error.message;
      refused.hidden = false;
      button.disabled = false;
    }
  });
}

// Ctrl K: go to a page, a run or a dataset by a part of its name.
import { request } from "./talk.js";

const palette = document.querySelector("#palette");
const input = palette.querySelector("input");
const list = palette.querySelector("ul");
const opener = document.querySelector("#open-palette");
let places = null;
let chosen = 0;

async function load() {
  const found = [...document.querySelectorAll(".top nav a")].map((link) => ({ text: link.textContent, href: link.getAttribute("href") }));
  found.push({ text: "Errors of recent runs", href: "/errors" });
  const { runs } = await request("GET", "/api/v1/benchmarks/runs?limit=200");
  for (const run of runs) {
    found.push({ text: `${run.dataset ?? "cases"} × ${run.model} · ${run.id.slice(0, 8)}`, href: `/runs/${run.id}` });
  }
  for (const name of new Set(runs.map((run) => run.dataset).filter(Boolean))) {
    found.push({ text: `Runs of ${name}`, href: `/?q=${encodeURIComponent(`dataset:${name}`)}` });
  }
  return found;
}

function show() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const fitting = (places ?? []).filter(({ text }) => words.every((word) => text.toLowerCase().includes(word))).slice(0, 12);
  chosen = Math.max(0, Math.min(chosen, fitting.length - 1));
  list.replaceChildren(...fitting.map(({ text, href }, at) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = href;
    link.textContent = text;
    link.tabIndex = -1;
    link.setAttribute("role", "option");
    link.setAttribute("aria-selected", String(at === chosen));
    item.append(link);
    return item;
  }));
}

async function open() {
  palette.showModal();
  input.value = "";
  chosen = 0;
  show();
  input.focus();
  places ??= await load().catch(() => []);
  show();
}

opener.hidden = false;
opener.addEventListener("click", open);
input.addEventListener("input", () => { chosen = 0; show(); });
input.addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown") chosen += 1;
  else if (event.key === "ArrowUp") chosen = Math.max(0, chosen - 1);
  else if (event.key === "Enter") { list.querySelector("[aria-selected=true]")?.click(); return; }
  else return;
  event.preventDefault();
  show();
});
document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    if (!palette.open) open();
  }
});

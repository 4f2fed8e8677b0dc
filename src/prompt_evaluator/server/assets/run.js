// The page of a run: live progress, changes against the baseline, groups of cases, tags.
import { fill, watch } from "./live.js";
import { request, say } from "./talk.js";

const STATES = { p: "passing", k: "flaky", f: "failing", e: "errors", ".": "not done" };
const section = document.querySelector(".watch[data-run]");
if (section) watchRun(section);
const headline = document.querySelector("[data-change-of]");
if (headline) showChanges(headline);
const slices = document.querySelector("[data-load=slices]");
if (slices) showSlices(slices);
if (location.hash === "#describe") openDescription();
addEventListener("hashchange", () => location.hash === "#describe" && openDescription());

function openDescription() {
  const details = document.querySelector("#describe");
  if (details) details.open = true;
}

// While the run is in progress.
function watchRun(element) {
  const runId = element.dataset.run;
  const grid = stateGrid(element.querySelector("#grid"));
  const first = failureList(element.querySelector("#first-failures"));
  const part = (name) => element.querySelector(`[data-part="${name}"]`);
  const title = document.title.replace(/^\d+ % · /, "");
  const budget = element.querySelector("[data-budget]");
  let source;

  const progress = (news) => {
    fill(element, news);
    part("status").textContent = news.status;
    if (!news.progress) return;
    const { samples, samples_done: done, cases, cases_done: finished, cost } = news.progress;
    document.title = `${Math.floor((100 * done) / (samples || 1))} % · ${title}`;
    part("cases").textContent = `${finished.toLocaleString("en")} of ${cases.toLocaleString("en")} cases done`;
    if (budget && cost !== null) budget.value = cost;
  };

  const finished = (news) => {
    grid.mark(news);
    first.add(news);
  };

  // A page that is older than the connection may have missed cases: it looks at itself once more.
  async function catchUp() {
    try {
      const answer = await fetch(location.href);
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const states = page.querySelector("#grid [data-states]")?.dataset.states;
      if (states) grid.replace(states);
      for (const item of page.querySelectorAll("#first-failures li")) first.adopt(item);
    } catch { /* the next connection tries again */ }
  }

  function connect() {
    source = watch(runId, { progress, finished, ended });
    source.addEventListener("open", () => { part("connection").textContent = ""; catchUp(); });
    source.addEventListener("error", () => {
      part("connection").textContent = "The server does not answer; trying again.";
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
    });
  }

  function ended() {
    const field = document.activeElement;
    const writing = field?.matches("input:not([type=checkbox]), textarea") && field.value !== field.defaultValue;
    if (writing) element.querySelector("#has-ended").hidden = false;
    else location.reload();
  }

  connect();
}

// A square that leads to its case lies over the drawn one. Hundreds of them would be in the way of the Tab key: the
// table of cases has the same links.
function squareLink(svg, base, id, at, columns) {
  const make = (name) => document.createElementNS("http://www.w3.org/2000/svg", name);
  const [link, title, square] = [make("a"), make("title"), make("rect")];
  link.setAttribute("href", base + encodeURIComponent(id));
  link.setAttribute("tabindex", "-1");
  const place = { x: (at % columns) * 12, y: Math.floor(at / columns) * 12, width: 10, height: 10 };
  for (const [name, value] of Object.entries(place)) square.setAttribute(name, value);
  link.append(title, square);
  svg.append(link);
  return title;
}

// Squares, all of one state in one path.
function stateGrid(element) {
  const perSquare = Number(element.dataset.perSquare);
  const svg = element.querySelector("svg");
  const columns = Number(svg.dataset.columns);
  const worst = "fekp.";
  const ids = JSON.parse(element.dataset.caseIds);
  const titles = ids.map((id, at) => squareLink(svg, element.dataset.caseBase, id, at, columns));
  let states = [...svg.dataset.states];
  let drawing = false;
  draw();

  function draw() {
    drawing = false;
    titles.forEach((title, at) => {
      const text = `${ids[at]}: ${STATES[states[at]]}`;
      if (title.textContent !== text) title.textContent = text;
    });
    for (const path of svg.querySelectorAll("path[data-state]")) {
      let shape = "";
      states.forEach((state, at) => {
        if (state === path.dataset.state) shape += `M${(at % columns) * 12} ${Math.floor(at / columns) * 12}h10v10h-10z`;
      });
      path.setAttribute("d", shape);
    }
    svg.dataset.states = states.join("");
  }

  function drawSoon() {
    if (drawing) return;
    drawing = true;
    requestAnimationFrame(draw);
  }

  return {
    mark({ position, failing, flaky, error_kinds: errors }) {
      const at = Math.floor(position / perSquare);
      const state = failing ? "f" : errors.length ? "e" : flaky ? "k" : "p";
      if (at >= states.length || (perSquare > 1 && worst.indexOf(states[at]) <= worst.indexOf(state))) return;
      states[at] = state;
      drawSoon();
    },
    replace(found) {
      states = [...found];
      drawSoon();
    },
  };
}

function failureList(list) {
  const most = 8;
  const none = document.querySelector("#no-failures");
  const known = new Set([...list.querySelectorAll("a")].map((link) => link.getAttribute("href")));

  function append(item) {
    const address = item.querySelector("a").getAttribute("href");
    if (known.has(address) || list.children.length >= most) return;
    known.add(address);
    list.append(item);
    none.hidden = true;
  }

  return {
    adopt: (item) => append(document.importNode(item, true)),
    add({ case_id: id, failing, error_kinds: errors, scores }) {
      if (!failing && !errors.length) return;
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = list.dataset.caseBase + encodeURIComponent(id);
      link.textContent = id;
      const note = document.createElement("span");
      note.className = "soft";
      const means = Object.entries(scores).map(([name, mean]) => `${name} ${Number(mean.toPrecision(3))}`);
      note.textContent = [...means, ...errors].join(", ");
      item.append(link, " ", note);
      append(item);
    },
  };
}

// Of a large run, the comparison with the baseline takes a while: it is asked for once the page is shown.
async function showChanges(element) {
  const runId = element.dataset.changeOf;
  const words = { better: "better", worse: "worse", no_difference: "no difference seen", inconclusive: "cannot tell yet" };
  const kinds = { better: "better", worse: "worse", no_difference: "", inconclusive: "unsure" };
  try {
    const { baseline, metrics, headline: sentence } = await request("GET", `/api/v1/benchmarks/runs/${runId}/change`);
    await showChanged();
    if (!sentence) return;
    element.style.minHeight = `${element.offsetHeight}px`; // a shorter sentence moves nothing
    element.textContent = sentence;
    for (const place of document.querySelectorAll("[data-change]")) {
      const change = metrics[place.dataset.change];
      if (!change) continue;
      const link = document.createElement("a");
      link.href = `/compare?a=${baseline}&b=${runId}&metric=${encodeURIComponent(place.dataset.change)}`;
      const badge = document.createElement("span");
      badge.className = `badge ${kinds[change.verdict]}`;
      badge.textContent = words[change.verdict];
      link.append(badge);
      place.replaceWith(link);
    }
  } catch { /* what the run itself says stays */ }
}

// How many cases changed in each way, within the filter: this page says it now that the comparison is known.
async function showChanged() {
  const place = document.querySelector("[data-load=changed]");
  if (!place) return;
  const answer = await fetch(location.href);
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const found = page.querySelector("#changed");
  if (!found) {
    place.remove();
    return;
  }
  const focused = document.activeElement.closest?.("[data-change-chip]")?.dataset.changeChip;
  const shown = document.importNode(found, true);
  place.replaceWith(shown);
  if (focused) shown.querySelector(`[data-change-chip=${focused}]`)?.focus({ preventScroll: true });
}

async function showSlices(link) {
  try {
    const answer = await fetch(link.href);
    if (!answer.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const found = page.querySelector("#slices");
    if (!found) return;
    const hadFocus = document.activeElement === link;
    const place = document.querySelector("#slices");
    place.replaceChildren(...found.childNodes);
    if (hadFocus) place.querySelector("a, summary")?.focus({ preventScroll: true });
  } catch { /* the link stays */ }
}

document.querySelector("#add-tag")?.addEventListener("submit", async (event) => {
  event.preventDefault();
  const { key, value } = event.target.elements;
  try {
    await request("PATCH", event.target.dataset.tagUrl, { tags: { [key.value]: value.value } });
    location.reload();
  } catch (error) {
    say(error.message);
  }
});

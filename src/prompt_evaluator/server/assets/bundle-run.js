// The table of cases in a bundle: the filter, the order and the page that the address asks for.
import { asked, drawn, load, number, rowsAt, tell, written } from "./bundle-data.js";
import { PROBLEMS, matcher, ordered, readFilter, toggled, words } from "./bundle-filter.js";

const section = document.querySelector("#cases[data-bundle]");
const base = section?.dataset.bundle;
const PAGE = 50;
const { q = "", sort = "position", after = "0" } = asked();
const isOther = section && (q || sort !== "position" || Number(after));
Promise.resolve(isOther ? show() : null).catch((error) => tell(section, error.message)).finally(drawn);

async function show() {
  const data = await load(`${base}cases.js`);
  let [text, order] = [q, sort];
  let wanted;
  let places;
  try {
    wanted = readFilter(text, data);
    if (wanted.changed || wanted.metric) throw new Error("`changed:` and `metric:` belong to a comparison of two runs.");
    places = await ordered(base, data, order);
  } catch (error) {
    tell(section, error.message);
    [text, order] = ["", "position"];
    wanted = readFilter(text, data);
    places = await ordered(base, data, order);
  }
  const matches = await matcher(base, data, wanted);
  const found = places.filter(matches);
  const first = Math.min(Math.max(0, Math.floor(Number(after)) || 0), Math.max(0, found.length - 1));
  await drawRows(data, found.slice(first, first + PAGE));
  drawTools(data, text, order, found);
  drawPlace(found.length, first, Math.min(PAGE, found.length - first));
}

// This page with other parameters.
function address(changes) {
  const given = { q, sort, ...changes };
  return written({ ...given, sort: given.sort === "position" ? "" : given.sort });
}

// Cases open within this list, so that the next one is the next one here.
async function drawRows(data, places) {
  const rows = await rowsAt(base, places, data.rowsPerFile);
  const within = address({}).replace(/#.*/, "");
  for (const row of rows) {
    if (row.dataset.href) row.dataset.href += within;
    const link = row.querySelector("td:first-child a");
    if (link) link.href += within;
  }
  section.querySelector("table[data-rows] tbody").replaceChildren(...rows);
}

function drawTools(data, text, order, found) {
  section.querySelector(".filter").value = q;
  for (const field of section.querySelectorAll(".options input[name=q]")) field.value = text;
  const chosen = section.querySelector("select[name=sort]");
  chosen.value = order;
  const tools = section.querySelector(".tools");
  if (order !== "position") tools.append(hidden("sort", order));
  for (const chip of section.querySelectorAll("[data-chip]")) {
    drawChip(chip, text, count(found, (place) => data.cases[place][1] & (1 << PROBLEMS.indexOf(chip.dataset.chip))), " ✕");
  }
  for (const chip of section.querySelectorAll("[data-facet]")) {
    const [key, value] = [data.facets.find((each) => chip.dataset.facet.startsWith(`${each}:`)), chip.dataset.facet];
    const at = data.facets.indexOf(key);
    drawChip(chip, text, count(found, (place) => `${key}:${data.cases[place][6][at]}` === value), "");
  }
  const others = (words(text) ?? []).filter((word) => !PROBLEMS.includes(word));
  section.querySelector("[data-table-last]").before(...others.map((word) => removal(text, word)));
  for (const link of section.querySelectorAll("th a[href]")) drawHeading(link, order);
}

function count(places, test) {
  return places.reduce((sum, place) => sum + (test(place) ? 1 : 0), 0);
}

function drawChip(chip, text, cases, close) {
  const on = (words(text) ?? []).includes(chip.dataset.chip ?? chip.dataset.facet);
  chip.href = address({ q: toggled(text, chip.dataset.chip ?? chip.dataset.facet) });
  chip.querySelector(".num").textContent = number(cases);
  chip.hidden = "facet" in chip.dataset && !cases && !on;
  if (!on) return;
  chip.setAttribute("aria-current", "true");
  chip.append(close);
}

function removal(text, word) {
  const link = document.createElement("a");
  link.className = "chip";
  link.href = address({ q: toggled(text, word) });
  link.title = `Remove ${word}`;
  link.setAttribute("aria-current", "true");
  const name = document.createElement("span");
  name.className = "clip";
  name.textContent = word;
  link.append(name, " ✕");
  return link;
}

function hidden(name, value) {
  const field = document.createElement("input");
  Object.assign(field, { type: "hidden", name, value });
  return field;
}

function drawHeading(link, order) {
  const own = (new URL(link.href).searchParams.get("sort") ?? "position").replace(/^-/, "");
  const [up, down] = [order === own, order === `-${own}`];
  link.href = address({ sort: up ? `-${own}` : own });
  link.textContent = link.textContent.replace(/ [↑↓]$/, "") + (up ? " ↑" : down ? " ↓" : "");
  const heading = link.closest("th");
  if (up || down) heading.setAttribute("aria-sort", up ? "ascending" : "descending");
  else heading.removeAttribute("aria-sort");
}

function drawPlace(all, first, shown) {
  const place = section.querySelector("[data-position]");
  place.dataset.first = first + 1;
  place.dataset.of = all;
  place.textContent = shown ? `${number(first + 1)}–${number(first + shown)} of ${number(all)}` : "0 of 0";
  const foot = section.querySelector(".foot");
  foot.replaceChildren();
  const link = (text, changes) => {
    const made = document.createElement("a");
    made.href = address(changes);
    made.textContent = text;
    foot.append(made);
    return made;
  };
  if (first) link("first page", {});
  if (first + shown < all) link(`next ${Math.min(PAGE, all - first - shown)}`, { after: first + shown }).rel = "next";
  if (all) return;
  const none = document.createElement("p");
  none.append("No case matches ", Object.assign(document.createElement("code"), { textContent: q }), ". ");
  const every = Object.assign(document.createElement("a"), { href: address({ q: "" }), textContent: "Show all cases" });
  none.append(every, ".");
  foot.before(none);
}

// The compared cases in a bundle: the filter and the page that the address asks for.
import { asked, drawn, load, number, rowsAt, tell, written } from "./bundle-data.js";
import { compare, matcher, numeric, readFilter, words } from "./bundle-filter.js";

const section = document.querySelector("#cases[data-bundle]");
const base = section?.dataset.bundle;
const PAGE = 50;
const { q = "", start = "0" } = asked();
const isOther = section && (q || Number(start));
Promise.resolve(isOther ? show() : null).catch((error) => tell(section, error.message)).finally(drawn);

async function show() {
  const index = await load(`${base}cases.js`);
  const data = await load(index.run + "cases.js");
  let wanted;
  let bounds;
  try {
    [wanted, bounds] = read(q, data);
  } catch (error) {
    tell(section, error.message);
    [wanted, bounds] = read("", data);
  }
  const fits = await matcher(index.run, data, wanted);
  const places = new Map(data.cases.map(([id], place) => [id, place]));
  const matching = [...index.cases.keys()].filter((at) => {
    const [id, , a, b] = index.cases[at];
    return fits(places.get(id)) && bounds.every(({ key, operator, value }) => compare(key === "a" ? a : b, operator, value));
  });
  const found = wanted.changed ? matching.filter((at) => index.cases[at][1] === wanted.changed) : matching;
  if (wanted.changed === "better") found.reverse();
  const first = Math.min(Math.max(0, Math.floor(Number(start)) || 0), Math.max(0, found.length - 1));
  const shown = found.slice(first, first + PAGE);
  section.querySelector("table[data-rows] tbody").replaceChildren(...await rowsAt(base, shown, index.rowsPerFile));
  section.querySelector(".filter").value = q;
  for (const chip of section.querySelectorAll("a[data-class]")) drawChip(chip, index, matching, wanted);
  drawPlace(found.length, first, shown.length);
}

// What the filter asks of a case, and of the means of both runs.
function read(text, data) {
  const wanted = readFilter(text, { ...data, metrics: data.metrics.filter((name) => !["a", "b"].includes(name)) });
  const isBound = ({ key, operator }) => ["a", "b"].includes(key) && "<>".includes(operator[0]);
  const bounds = wanted.metadata.filter(isBound).map((each) => ({ ...each, value: numeric(`${each.key}${each.operator}${each.value}`, each.value) }));
  wanted.metadata = wanted.metadata.filter((each) => !isBound(each));
  return [wanted, bounds];
}

function drawChip(chip, index, matching, wanted) {
  const own = chip.dataset.class;
  const on = wanted.changed === own;
  const all = index.cases.filter((each) => each[1] === own).length;
  const left = matching.filter((at) => index.cases[at][1] === own).length;
  const rest = (words(q) ?? []).filter((word) => !/^(changed|metric):/.test(word)).map((word) => (/[\s'"\\]/.test(word) ? JSON.stringify(word) : word));
  chip.href = written({ q: [...rest, ...(on ? [] : [`changed:${own}`])].join(" ") });
  chip.textContent = `${chip.textContent.trim().replace(/ [\d,]+( of [\d,]+)?$/, "")} ${number(left)}${matching.length < index.cases.length ? ` of ${number(all)}` : ""}`;
  if (on) chip.setAttribute("aria-current", "true");
}

function drawPlace(all, first, shown) {
  const foot = section.querySelector(".foot");
  const place = foot.querySelector("[data-position]");
  place.dataset.first = first + 1;
  place.dataset.of = all;
  place.textContent = shown ? `${number(first + 1)} to ${number(first + shown)} of ${number(all)} ${all === 1 ? "case" : "cases"}` : "No case matches.";
  foot.replaceChildren(place);
  for (const [text, rel, from] of [["previous page", "prev", first - PAGE], ["next page", "next", first + PAGE]]) {
    if (from <= -PAGE || from >= all) continue;
    const link = document.createElement("a");
    link.href = written({ q, start: Math.max(0, from) });
    Object.assign(link, { rel, textContent: text });
    foot.append(link);
  }
}

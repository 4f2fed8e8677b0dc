// The filter of a case table: suggestions with counts, the filters used before, and where the selected row is.
//
//   <form data-table="run:ID"><input class="filter" name="q" data-suggestions='[{"word": "failing", "count": 12}]'>
//   <span data-table-last></span> <span data-position data-first="1" data-of="37" data-word="case">37 cases</span>
//
// The form is a plain GET form, so Enter, reload, Back and other tabs need no script.
const FEWEST = 1;
const MOST_KEPT = 20;
const MOST_SHOWN = 12;

for (const form of document.querySelectorAll("form[data-table]")) filterField(form);
const position = document.querySelector("[data-position]");
if (position) followSelection(position);

function filterField(form) {
  const input = form.querySelector(".filter");
  const table = form.dataset.table;
  const suggestions = JSON.parse(input.dataset.suggestions || "[]");
  const list = document.createElement("ul");
  let chosen = -1;

  list.id = `${input.id || "filter"}-suggestions`;
  list.className = "suggestions";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Suggestions");
  list.hidden = true;
  input.after(list);
  input.removeAttribute("list");
  for (const [name, value] of [["role", "combobox"], ["autocomplete", "off"], ["spellcheck", "false"],
    ["aria-autocomplete", "list"], ["aria-expanded", "false"], ["aria-controls", list.id]]) {
    input.setAttribute(name, value);
  }

  if (input.value.trim()) remember(table, input.value.trim());
  else offerLast(form, table);

  function show(found) {
    chosen = -1;
    list.replaceChildren(...found.slice(0, MOST_SHOWN).map((each, at) => option(list.id, each, at)));
    list.hidden = !list.children.length;
    input.setAttribute("aria-expanded", String(!list.hidden));
    input.removeAttribute("aria-activedescendant");
  }

  function choose(at) {
    const options = [...list.children];
    chosen = (at + options.length) % options.length;
    options.forEach((each, index) => each.setAttribute("aria-selected", String(index === chosen)));
    options[chosen].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", options[chosen].id);
  }

  function take(element) {
    if (element.dataset.whole) input.value = element.dataset.word;
    else replaceWord(input, element.dataset.word);
    show([]);
    input.focus();
  }

  input.addEventListener("input", () => show(fitting(suggestions, wordAt(input))));
  input.addEventListener("blur", () => show([]));
  list.addEventListener("mousedown", (event) => event.preventDefault());
  list.addEventListener("click", (event) => {
    const element = event.target.closest("[role=option]");
    if (element) take(element);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && list.hidden) {
      const word = wordAt(input);
      show(input.value.trim() ? fitting(suggestions, word, 0) : [...history(table), ...fitting(suggestions, "", 0)]);
      if (list.hidden) return;
      choose(0);
    } else if (list.hidden) {
      return;
    } else if (event.key === "ArrowDown") choose(chosen + 1);
    else if (event.key === "ArrowUp") choose(chosen < 0 ? -1 : chosen - 1);
    else if (event.key === "Escape") show([]);
    else if ((event.key === "Enter" || event.key === "Tab") && chosen >= 0) take(list.children[chosen]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

function option(id, { word, count, whole }, at) {
  const item = document.createElement("li");
  item.id = `${id}-${at}`;
  item.dataset.word = word;
  if (whole) item.dataset.whole = "yes";
  item.setAttribute("role", "option");
  item.setAttribute("aria-selected", "false");
  const name = document.createElement("span");
  name.textContent = word;
  const note = document.createElement("small");
  note.textContent = whole ? "used before" : count === undefined ? "" : count.toLocaleString("en");
  item.append(name, note);
  return item;
}

function fitting(suggestions, word, fewest = FEWEST) {
  const part = word.toLowerCase();
  if (part.length < fewest) return [];
  const found = suggestions.filter((each) => each.word.toLowerCase().includes(part) && each.word !== word);
  return found.sort((a, b) => b.word.toLowerCase().startsWith(part) - a.word.toLowerCase().startsWith(part));
}

// The word under the caret; a quoted part with spaces belongs to its word.
function bounds(input) {
  const caret = input.selectionStart ?? input.value.length;
  for (const match of input.value.matchAll(/(?:"[^"]*"?|[^\s"])+/g)) {
    if (match.index <= caret && caret <= match.index + match[0].length) return [match.index, match.index + match[0].length];
  }
  return [caret, caret];
}

function wordAt(input) {
  return input.value.slice(...bounds(input));
}

function replaceWord(input, word) {
  const [start, end] = bounds(input);
  const rest = input.value.slice(end);
  input.value = `${input.value.slice(0, start)}${word}${rest || (/[<>=~:]$/.test(word) ? "" : " ")}`;
  const caret = input.value.length - rest.length;
  input.setSelectionRange(caret, caret);
}

// Filters used before, the newest first, per table. A table is a run's, so its words are known there.
function kept(table) {
  try {
    const found = JSON.parse(localStorage.getItem(`filters:${table}`) || "[]");
    return Array.isArray(found) ? found.filter((each) => typeof each === "string") : [];
  } catch {
    return [];
  }
}

function history(table) {
  return kept(table).map((word) => ({ word, whole: true }));
}

function remember(table, text) {
  try {
    const found = [text, ...kept(table).filter((each) => each !== text)].slice(0, MOST_KEPT);
    localStorage.setItem(`filters:${table}`, JSON.stringify(found));
  } catch { /* not remembered */ }
}

function offerLast(form, table) {
  const place = document.querySelector("[data-table-last]");
  const [last] = kept(table);
  if (!place || !last) return;
  const link = document.createElement("a");
  const address = new URL(form.action);
  address.search = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
  address.searchParams.set("q", last);
  address.hash = location.hash || "#cases";
  link.href = address;
  link.className = "chip";
  link.textContent = `Last filter: ${last}`;
  place.replaceChildren(link);
}

// "12 of 37" while a row is selected. Rows are those that `keys.js` selects.
function followSelection(element) {
  let whole = null; // what it says while no row is selected
  const body = document.querySelector("table[data-rows] tbody");
  if (!body) return;
  new MutationObserver(() => {
    const rows = [...body.querySelectorAll("tr[data-href]")];
    const at = rows.findIndex((row) => row.getAttribute("aria-selected") === "true");
    if (at < 0) {
      element.textContent = whole ?? element.textContent;
      whole = null;
      return;
    }
    const { first = "1", of } = element.dataset;
    whole ??= element.textContent;
    element.textContent = `${(Number(first) + at).toLocaleString("en")} of ${Number(of).toLocaleString("en")}`;
  }).observe(body, { subtree: true, attributeFilter: ["aria-selected"] });
}

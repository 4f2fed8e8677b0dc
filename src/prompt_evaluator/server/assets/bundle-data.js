// Data of a bundle: scripts, because a page that is opened from disk can load nothing else.
const known = new Map();

// Each data file calls this with its content.
window.bundleData = (value) => known.get(document.currentScript.src)?.resolve(value);

export function load(file) {
  const address = new URL(file, document.baseURI).href;
  if (!known.has(address)) {
    const entry = {};
    entry.promise = new Promise((resolve, reject) => Object.assign(entry, { resolve, reject }));
    known.set(address, entry);
    const script = document.createElement("script");
    script.src = address;
    script.addEventListener("error", () => entry.reject(new Error(`${file} cannot be read. Is the folder complete?`)));
    document.head.append(script);
  }
  return known.get(address).promise;
}

// The parameters of the address that are set.
export function asked() {
  return Object.fromEntries([...new URLSearchParams(location.search)].filter(([, value]) => value));
}

// The rows of a table by their places, from files with a fixed number of rows each.
export async function rowsAt(base, places, perFile) {
  const numbers = [...new Set(places.map((place) => Math.floor(place / perFile)))];
  const files = new Map(await Promise.all(numbers.map(async (number) => [number, await load(`${base}rows-${number}.js`)])));
  const body = document.createElement("template");
  body.innerHTML = places.map((place) => files.get(Math.floor(place / perFile))[place % perFile]).join("");
  return [...body.content.children];
}

export function number(value) {
  return value.toLocaleString("en");
}

// This page with these parameters.
export function written(parameters) {
  return `?${new URLSearchParams(Object.entries(parameters).filter(([, value]) => value))}#cases`;
}

export function tell(section, text) {
  const said = document.createElement("p");
  said.setAttribute("role", "alert");
  said.textContent = text;
  section.prepend(said);
}

// The page shows what its address asks for.
export function drawn() {
  document.documentElement.dataset.ready = "";
}

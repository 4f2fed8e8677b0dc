// The filter of case tables, as the server reads it: `correct<3 flag:leaks_data topic:billing text~refund failing`.
// A text is also looked for in the ids of cases.
import { load } from "./bundle-data.js";

export const PROBLEMS = ["failing", "flaky", "flagged", "errors"];
const STATUSES = ["pending", "completed", "partial", "failed"];
const CHANGES = ["worse", "better", "same", "too_few"];
const COMPARED = /^([^\s<>=!~:]+)(<=|>=|!=|<|>|=|~|:)(.*)$/s;
const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;

// The words of a filter, without quotes; null if a quotation mark is not closed.
export function words(text) {
  const found = [];
  let word = null;
  let quote = "";
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (quote) {
      if (sign === quote) quote = "";
      else if (quote === '"' && sign === "\\" && '"\\'.includes(text[at + 1])) word += text[(at += 1)];
      else word += sign;
    } else if (sign === "'" || sign === '"') {
      quote = sign;
      word ??= "";
    } else if (sign === "\\") {
      if (at + 1 === text.length) return null;
      word = (word ?? "") + text[(at += 1)];
    } else if (/[ \t\r\n]/.test(sign)) {
      if (word !== null) found.push(word);
      word = null;
    } else word = (word ?? "") + sign;
  }
  if (quote) return null;
  return word === null ? found : [...found, word];
}

function quoted(word) {
  return !word || /[\s'"\\]/.test(word) ? `'${word.replaceAll("'", "'\"'\"'")}'` : word;
}

export function toggled(text, word) {
  const before = words(text) ?? [];
  return (before.includes(word) ? before.filter((each) => each !== word) : [...before, word]).map(quoted).join(" ");
}

// What a filter asks for. Throws a sentence if it cannot be read.
export function readFilter(text, { metrics, flags }) {
  const all = words(text);
  if (!all) throw new Error("A quotation mark in the filter is not closed. Close it, or leave it out.");
  const wanted = { problems: [], flags: [], metrics: [], metadata: [], texts: [] };
  for (const word of all) {
    const [, key, operator, value] = COMPARED.exec(word) ?? [];
    if (PROBLEMS.includes(word)) wanted.problems.push(word);
    else if (!key) wanted.texts.push(word);
    else if (key === "text" && ":~".includes(operator)) wanted.texts.push(value);
    else if (operator === ":" && key === "flag") wanted.flags.push(value);
    else if (operator === ":" && ["status", "error", "changed", "metric"].includes(key)) wanted[key] = value;
    else if (metrics.includes(key) && !":~".includes(operator)) wanted.metrics.push({ key, operator, value: numeric(word, value) });
    else if (!value) throw new Error(`The filter '${word}' has no value. Write ${key}${operator}VALUE.`);
    else wanted.metadata.push({ key, operator: operator === ":" ? "=" : operator, value });
  }
  check("flag", wanted.flags, flags);
  check("status", wanted.status === undefined ? [] : [wanted.status], STATUSES);
  if (/^cannot[-_]tell$/.test(wanted.changed)) wanted.changed = "too_few";
  check("changed", wanted.changed === undefined ? [] : [wanted.changed], CHANGES);
  wanted.text = wanted.texts.join(" ").toLowerCase();
  return wanted;
}

function check(what, values, known) {
  const strange = values.find((value) => !known.includes(value));
  if (strange !== undefined) throw new Error(`There is no ${what} '${strange}'. Known: ${known.join(", ") || "none"}.`);
}

export function numeric(word, value) {
  if (!NUMBER.test(value.trim())) throw new Error(`The condition '${word}' compares with '${value}', which is not a number.`);
  return Number(value);
}

// Which cases of a run match, as a test of a place. Texts and metadata are loaded only if the filter asks for them.
export async function matcher(base, data, wanted) {
  const others = wanted.metadata.filter(({ key }) => !data.facets.includes(key));
  const texts = wanted.text || others.length ? await textsOf(base, data) : null;
  const bits = wanted.problems.reduce((sum, name) => sum | (1 << PROBLEMS.indexOf(name)), 0);
  return (place) => {
    const [id, marks, means, flags, errors, status, groups] = data.cases[place];
    const value = (key) => (data.facets.includes(key) ? groups[data.facets.indexOf(key)] : lookup(texts[place][1], key));
    return (marks & bits) === bits
      && (wanted.status === undefined || status === wanted.status)
      && (wanted.error === undefined || errors.includes(wanted.error))
      && wanted.flags.every((flag) => flags.includes(flag))
      && wanted.metrics.every(({ key, operator, value: bound }) => {
        const mean = means[data.metrics.indexOf(key)];
        return mean !== null && compare(mean, operator, bound);
      })
      && wanted.metadata.every(({ key, operator, value: asked }) => holds(value(key), operator, asked))
      && (!wanted.text || id.toLowerCase().includes(wanted.text) || texts[place][0].toLowerCase().includes(wanted.text));
  };
}

async function textsOf(base, { cases, textsPerFile }) {
  const files = Math.ceil(cases.length / textsPerFile);
  return (await Promise.all([...Array(files).keys()].map((at) => load(`${base}texts-${at}.js`)))).flat();
}

// All places of a run in an order.
export async function ordered(base, data, sort) {
  if (sort === "position") return [...data.cases.keys()];
  const at = data.orders.indexOf(sort);
  if (at < 0) throw new Error(`The table cannot be sorted by '${sort}'. Known: ${data.orders.filter((name) => name[0] !== "-").join(", ")}.`);
  return load(`${base}order-${at}.js`);
}

export function compare(one, operator, other) {
  switch (operator) {
    case "<": return one < other;
    case "<=": return one <= other;
    case ">": return one > other;
    case ">=": return one >= other;
    case "!=": return one !== other;
    default: return one === other;
  }
}

function lookup(values, key) {
  if (Object.hasOwn(values, key)) return values[key];
  return key.split(".").reduce((found, part) => (found && typeof found === "object" && Object.hasOwn(found, part) ? found[part] : null), values);
}

function equal(found, asked) {
  if (Array.isArray(found)) return found.some((item) => equal(item, asked));
  if (found === null || found === undefined || typeof found === "boolean") return String(found ?? null) === asked.toLowerCase();
  if (typeof found === "number") return NUMBER.test(asked) && found === Number(asked);
  return found === asked;
}

function holds(found, operator, asked) {
  if (operator === "=") return equal(found, asked);
  if (operator === "!=") return !equal(found, asked);
  if (Array.isArray(found)) return found.some((item) => holds(item, operator, asked));
  if (operator === "~") return typeof found === "string" && found.toLowerCase().includes(asked.toLowerCase());
  if (typeof found === "number") return NUMBER.test(asked) && compare(found, operator, Number(asked));
  return typeof found === "string" && compare(found, operator, asked);
}

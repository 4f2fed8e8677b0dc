// Asks the API, and says what it answers.
const said = document.querySelector("#said");
let silence;

export function say(text) {
  said.textContent = text;
  clearTimeout(silence);
  silence = setTimeout(() => (said.textContent = ""), 8000);
}

export async function request(method, url, body) {
  const options = { method, headers: {} };
  if (body !== undefined && method !== "DELETE") {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(url, options);
  } catch {
    throw new Error("The server does not answer. Is it still running?");
  }
  const text = await answer.text();
  const found = text ? JSON.parse(text) : null;
  if (!answer.ok) {
    const error = new Error(found?.error ?? `The server answered with status ${answer.status}.`);
    error.field = found?.field;
    throw error;
  }
  return found;
}

// Another page of this site, to take parts of it.
export async function fetchPage(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  if (!answer.ok || answer.redirected) throw new Error(`status ${answer.status}`);
  return new DOMParser().parseFromString(await answer.text(), "text/html");
}

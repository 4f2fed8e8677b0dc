// Who labels: the owner of the token, or where none is needed, a name that is asked for once and kept in the browser.
const KEPT = "reviewer";

export function kept() {
  try {
    return localStorage.getItem(KEPT) ?? "";
  } catch {
    return "";
  }
}

export function keep(name) {
  try {
    localStorage.setItem(KEPT, name);
  } catch { /* asked again on the next page */ }
}

// A field for the name is shown where the server does not know it, with the one that was given last.
export function askIn(form, known) {
  const field = form.querySelector("[data-who]");
  if (known || !field) return;
  field.hidden = false;
  const input = field.querySelector("input");
  input.required = true;
  input.value = kept();
}

// The name from such a form, for a request; null for the owner of the token.
export function namedIn(form, known) {
  if (known) return null;
  const name = form.elements.reviewer.value.trim();
  if (name) keep(name);
  return name || null;
}

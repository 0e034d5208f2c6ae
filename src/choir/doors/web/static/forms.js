// Forms that act: one at a time, with progress on the button, and errors beside what caused them.

import { Problem } from "./api.js";

// Which field a refusal is about.
const FIELDS = {
  "identity.bad_handle": "handle",
  "identity.handle_taken": "handle",
  "identity.handle_alike": "handle",
  "identity.bad_name": "name",
  "identity.bad_terms": "scopes",
  "recovery.refused": "code",
};

// A refusal that the page itself makes, before the node is asked.
export function refuse(field, detail) {
  return new Problem({ code: `form.${field}`, detail }, 0);
}

// Run the work whenever the form is submitted; errors are shown, a second press while it runs is not heard.
export function onSubmit(form, work) {
  let running = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (running) return;
    running = true;
    const button = event.submitter ?? form.querySelector("button:not([type=button])");
    const idle = begin(button);
    clearErrors(form);
    try {
      requireFields(form);
      await work();
    } catch (error) {
      showError(form, error);
    } finally {
      running = false;
      idle();
    }
  });
}

export function go(place, said) {
  if (said) {
    try {
      sessionStorage.setItem("choir-said", said);
    } catch {
      // The page shows the new state by itself.
    }
  }
  if (place === location.pathname) location.reload();
  else location.assign(place);
}

// What the page before this one had to say.
export function showSaid() {
  const place = document.getElementById("said");
  let said = null;
  try {
    said = sessionStorage.getItem("choir-said");
    sessionStorage.removeItem("choir-said");
  } catch {
    return;
  }
  if (said) say(place, said);
}

function say(place, text) {
  const notice = document.createElement("div");
  notice.className = "notice";
  const line = document.createElement("p");
  line.textContent = text;
  notice.append(line);
  place.replaceChildren(notice);
}

function begin(button) {
  if (!button) return () => {};
  const label = button.dataset.busy ? [...button.childNodes] : null;
  button.setAttribute("aria-busy", "true");
  if (label) button.replaceChildren(document.createTextNode(button.dataset.busy));
  return () => {
    button.removeAttribute("aria-busy");
    if (label) button.replaceChildren(...label);
  };
}

function requireFields(form) {
  const scopes = form.querySelectorAll("input[type=checkbox][name=scopes]");
  if (scopes.length > 0 && ![...scopes].some((box) => box.checked)) {
    throw refuse("scopes", "Choose at least one scope.");
  }
  for (const input of form.querySelectorAll("input[required], textarea[required]")) {
    if (input.value.trim() === "") throw refuse(input.name, "Please fill this in.");
  }
}

function clearErrors(form) {
  for (const old of form.querySelectorAll(".error")) old.remove();
  for (const input of form.querySelectorAll("[aria-invalid]")) {
    input.removeAttribute("aria-invalid");
    input.removeAttribute("aria-errormessage");
  }
}

function showError(form, error) {
  if (!(error instanceof Problem)) console.error(error);
  const problem = error instanceof Problem ? error : new Problem({ detail: "Something went wrong in this page.", hint: "Reload it." }, 0);
  if (problem.status === 401) sessionEnded(problem);
  const field = fieldOf(form, problem.code);
  const line = document.createElement("p");
  line.className = "error";
  line.setAttribute("role", "alert");
  line.id = `error-${form.querySelectorAll("input").length}-${Math.trunc(performance.now())}`;
  const text = document.createElement("span");
  text.textContent = [problem.message, problem.hint].filter(Boolean).join(" ");
  line.append(text);
  (field ?? form).append(line);
  const input = field?.querySelector("input, textarea, select");
  if (!input) return;
  if (input.type !== "checkbox") {
    input.setAttribute("aria-invalid", "true");
    input.setAttribute("aria-errormessage", line.id);
  }
  input.focus();
}

// A field says itself which refusals are about it (`data-codes`), or they are known here.
function fieldOf(form, code) {
  const named = FIELDS[code] ?? (code.startsWith("form.") ? code.slice(5) : "");
  return form.querySelector(`[data-codes~="${code}"]`) ?? form.querySelector(`[data-field="${named}"]`);
}

function sessionEnded(problem) {
  problem.message = "Your session has ended.";
  problem.hint = "Reload the page to log in; what you typed was not sent.";
}

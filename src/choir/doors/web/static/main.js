// What every page can do: act by a form, ask before it, show a secret once, copy it, choose the colours.

import { units } from "./amounts.js";
import { call } from "./api.js";
import { go, onSubmit, showSaid } from "./forms.js";
import { unsupported, withFreshPasskey } from "./passkeys.js";
import { reveal } from "./reveal.js";

const REVEALED = {
  codes: {
    title: "Your new recovery codes",
    text: "They are shown only once. Each works once. Write them down or print them, and keep them away from your devices.",
    secret: (told) => told.codes,
    file: "choir-recovery-codes.txt",
  },
  token: {
    title: "Your new token",
    text: "It is shown only once. Put it where your program reads it, for example in CHOIR_TOKEN.",
    secret: (told) => told.secret,
    file: "",
  },
};

// Forms that a live part brought along later act as well.
const known = new WeakSet();

function bindForms() {
  for (const form of document.querySelectorAll("form[data-call]")) {
    if (known.has(form)) continue;
    known.add(form);
    onSubmit(form, async () => {
      if (form.dataset.ask && !(await agreed(form.dataset))) return;
      const [method, pattern] = form.dataset.call.split(" ");
      const path = pattern.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(form.elements[name].value.trim()));
      const body = bodyOf(form, method);
      const told = await withFreshPasskey(() => call(method, path, body, keyOf(form)));
      delete form.dataset.sentKey;
      if (form.dataset.show) return swap(form.dataset.hide, form.dataset.show);
      const next = () => go((form.dataset.then ?? location.pathname).replace("{id}", told?.id ?? ""), form.dataset.said);
      if (!form.dataset.reveal) return next();
      const { secret, ...about } = REVEALED[form.dataset.reveal];
      reveal({ ...about, secret: secret(told), done: next });
    });
  }
}

document.addEventListener("choir-refreshed", bindForms);
bindForms();

// One part of the page takes another's place, and the reader is led to it.
function swap(before, after) {
  document.getElementById(before).hidden = true;
  const part = document.getElementById(after);
  part.hidden = false;
  part.querySelector("h1").focus();
}

// A form with `data-key` is sent with one key until it has succeeded, so that pressing again after a lost answer does
// nothing twice.
function keyOf(form) {
  if (!("key" in form.dataset)) return undefined;
  form.dataset.sentKey ??= crypto.randomUUID();
  return form.dataset.sentKey;
}

// What a form sends: fields by their names. `data-type` says what is not text: number, list, boolean, units (of the asset
// in `data-asset`, or chosen in the field that `data-asset-in` names; also none of it with `data-zero`). Empty optional
// fields are left away, and what is in the address is not in the body.
function bodyOf(form, method) {
  const body = {};
  for (const field of form.elements) {
    if (!field.name || field.disabled || form.dataset.call.includes(`{${field.name}}`)) continue;
    const value = valueOf(form, field);
    if (value === undefined) continue;
    if (field.dataset.type === "list") (body[field.name] ??= []).push(value);
    else body[field.name] = value;
  }
  return Object.keys(body).length > 0 || method === "PATCH" ? body : undefined;
}

function valueOf(form, field) {
  const type = field.dataset.type ?? "text";
  if (type === "boolean") return field.checked;
  if (["checkbox", "radio"].includes(field.type) && !field.checked) return undefined;
  const text = field.value.trim();
  if (text === "" && "optional" in field.dataset) return undefined;
  if (type === "number") return Number(text);
  if (type !== "units") return text;
  const asset = field.dataset.asset ? field : form.elements[field.dataset.assetIn].selectedOptions[0];
  const zero = "zero" in field.dataset;
  return units(text, Number(asset.dataset.decimals), asset.dataset.asset ?? asset.value, field.name, { zero });
}

// The dialog before what cannot be undone; where a word must be typed, nothing else counts as yes.
function agreed(asked) {
  const dialog = document.getElementById("ask");
  const input = document.getElementById("ask-input");
  document.getElementById("ask-title").textContent = asked.ask;
  document.getElementById("ask-text").textContent = asked.askText;
  document.getElementById("ask-yes").textContent = asked.askYes;
  document.getElementById("ask-field").hidden = !asked.askType;
  document.getElementById("ask-label").textContent = `Type ${asked.askType} to continue`;
  input.value = "";
  input.setCustomValidity("");
  const check = () => {
    const right = !asked.askType || input.value.trim().replace(/^@/, "") === asked.askType;
    input.setCustomValidity(right ? "" : `Type ${asked.askType}`);
  };
  input.oninput = check;
  check();
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

// Buttons that open what they control.
for (const button of document.querySelectorAll("button[aria-expanded]")) {
  button.addEventListener("click", () => {
    const part = document.getElementById(button.getAttribute("aria-controls"));
    part.hidden = !part.hidden;
    button.setAttribute("aria-expanded", String(!part.hidden));
    if (!part.hidden) part.querySelector("input")?.select();
  });
}

// Colours: kept in this browser only.
const choices = [...document.querySelectorAll("[data-theme-choice]")];

function showTheme() {
  const now = document.documentElement.dataset.theme ?? "auto";
  for (const button of choices) button.setAttribute("aria-pressed", String(button.dataset.themeChoice === now));
}

for (const button of choices) {
  button.addEventListener("click", () => {
    const chosen = button.dataset.themeChoice;
    try {
      if (chosen === "auto") localStorage.removeItem("choir-theme");
      else localStorage.setItem("choir-theme", chosen);
    } catch {
      // It holds for this page then.
    }
    if (chosen === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = chosen;
    showTheme();
  });
}

const why = unsupported();
const own = document.documentElement.dataset.origin;
for (const notice of document.querySelectorAll("[data-no-passkeys]")) {
  notice.hidden = why === "";
  const line = notice.querySelector("[data-no-passkeys-why]");
  line.textContent = why;
  if (location.origin !== own) {
    const link = document.createElement("a");
    link.href = own + location.pathname + location.search;
    link.textContent = "Go there";
    line.append(" ", link);
  }
}

showTheme();
showSaid();

// The editor: the article beside the text of a source; selecting words of both binds them. Saving never overwrites what
// somebody else saved, and what is typed stays in the page until it is saved.

import { call, Problem } from "./api.js";
import { claimEdit, claims, evidenceEdit, freeLabel, span, unitsOf } from "./evidence.js";
import { go, onSubmit, refuse } from "./forms.js";

const part = (id) => document.getElementById(id);
const form = part("editor");
const text = part("text");
const reader = part("source-text");
const about = form.dataset;
let saved = text.value;
let goal = "";
let key = "";
let at = { source: "", start: 0, end: 0, chars: 0 }; // the window of a source that is shown

const tell = (id, words) => part(id).textContent === words || (part(id).textContent = words); // said once
const fields = () => [text.value, form.elements.title.value, form.elements.topics.value].join("\0");
const isDirty = () => fields() !== saved;
saved = fields();

// Reloading would lose what is typed, so nobody is told to.
async function ask(...request) {
  try {
    return await call(...request);
  } catch (problem) {
    if (problem.status !== 401) throw problem;
    throw new Problem({ detail: "Your session has ended.", hint: "Log in in another window, then try again here. Your text is still here, and not saved." }, 0);
  }
}

// Saving

function body() {
  const title = form.elements.title.value.trim();
  const topics = form.elements.topics.value.split(",").map((topic) => topic.trim()).filter(Boolean);
  return { text: text.value, title: title || null, topics: topics.length > 0 ? topics : null };
}

async function save() {
  const now = fields();
  if (!about.article) {
    key ||= crypto.randomUUID();
    const made = await ask("POST", "/v1/articles", body(), key);
    saved = now;
    const there = `${at.source ? `?source=${at.source}` : ""}${goal === "preview" ? "#preview" : ""}`;
    go(`/desk/${made.id}${goal === "check" ? "/check" : there}`, "The draft is saved.");
    return false;
  }
  const kept = await ask("PUT", `/v1/articles/${about.article}/draft`, { ...body(), base: Number(about.base) });
  about.base = kept.draft;
  saved = now;
  tell("state", isDirty() ? "Not saved yet." : `Draft ${kept.draft} is saved.`);
  return true;
}

onSubmit(form, async () => {
  part("conflict").hidden = true;
  try {
    if (!(await save())) return;
  } catch (problem) {
    if (problem.code === "commons.draft_conflict") return conflict();
    const line = /\(line (\d+)\)/.exec(problem.message);
    if (line) toLine(Number(line[1]));
    throw problem;
  }
  if (goal === "check") go(`/desk/${about.article}/check`);
  if (goal === "preview") await preview();
});

async function conflict() {
  const newest = (await ask("GET", `/v1/articles/${about.article}`)).draft;
  tell("conflict-text", `You began with draft ${about.base}; the newest is draft ${newest}. Yours is not saved yet, and still here. If you save yours, that one stays in the list of drafts.`);
  part("conflict-see").href = `/desk/${about.article}/drafts?a=${about.base}&b=${newest}`;
  part("conflict-mine").onclick = () => {
    about.base = newest;
    form.requestSubmit();
  };
  part("conflict").hidden = false;
}

function toLine(number) {
  const lines = text.value.split("\n");
  const start = lines.slice(0, number - 1).join("\n").length + (number > 1 ? 1 : 0);
  text.setSelectionRange(start, start + (lines[number - 1] ?? "").length);
}

form.addEventListener("click", (event) => {
  const button = event.target.closest("button:not([type=button])");
  if (button) goal = button.dataset.goal ?? "";
});
form.addEventListener("input", () => {
  key = "";
  tell("state", isDirty() ? "Not saved yet." : "Saved.");
});
addEventListener("beforeunload", (event) => {
  if (isDirty()) event.preventDefault();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  goal = "";
  form.requestSubmit();
});

// The preview is a part of the page that checks the draft; it comes as a document, since markup in a string is not let in.
function preview() {
  const place = part("preview");
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.responseType = "document";
    request.open("GET", `/desk/${about.article}/check`);
    request.onloadend = () => {
      const found = request.status === 200 && request.response?.getElementById("preview-body");
      place.hidden = false;
      if (found) place.replaceChildren(document.importNode(found, true));
      else tell("preview", "The preview could not be made. Try again.");
      place.focus();
      resolve();
    };
    request.send();
  });
}

// Reading a source

async function show(source, start, chosen) {
  const end = start + Number(about.window);
  const told = await ask("GET", `/v1/sources/${source}/text?start=${start}&end=${end}`);
  at = { source, start: told.start, end: told.end, chars: told.chars };
  reader.value = told.text;
  part("reading").hidden = false;
  part("earlier").disabled = at.start === 0;
  part("later").disabled = at.end >= at.chars;
  const number = (count) => count.toLocaleString("en");
  tell("place", `Characters ${number(at.start)} to ${number(at.end)} of ${number(at.chars)}`);
  reader.scrollTop = 0;
  if (chosen) {
    reader.focus({ preventScroll: true });
    reader.setSelectionRange(unitsOf(told.text, chosen.start - at.start), unitsOf(told.text, chosen.end - at.start));
  }
  selected();
}

function selected() {
  const found = span(reader.value, at.start, reader.selectionStart, reader.selectionEnd);
  const long = found && found.end - found.start > Number(about.extractMax);
  if (found) tell("selected", `${found.end - found.start} characters are selected${long ? `; at most ${about.extractMax} can be bound` : ""}: “${found.words.slice(0, 120)}${found.words.length > 120 ? "…" : ""}”`);
  else tell("selected", "Select the words that say it, with the mouse or with Shift and the arrow keys.");
  return long ? null : found;
}

const failed = (id) => (problem) => tell(id, [problem.message, problem.hint].filter(Boolean).join(" "));
const source = part("source");
const open = () => (source.value ? show(source.value, 0).catch(failed("found-text")) : (part("reading").hidden = true));
source.addEventListener("change", open);
part("earlier").addEventListener("click", () => show(at.source, Math.max(0, at.start - Number(about.window))).catch(failed("place")));
part("later").addEventListener("click", () => show(at.source, at.end).catch(failed("place")));
reader.addEventListener("beforeinput", (event) => event.preventDefault()); // `readonly` would take the keyboard's caret away
for (const event of ["select", "keyup", "mouseup", "touchend"]) reader.addEventListener(event, selected);

onSubmit(part("find"), async () => {
  const asked = new URLSearchParams({ q: part("find").elements.q.value, limit: 10 });
  if (source.value) asked.set("source", source.value);
  const { items } = await ask("GET", `/v1/spans?${asked}`);
  tell("found-text", items.length > 0 ? `${items.length} found. Choose one to select it.` : "Nothing was found.");
  part("found").replaceChildren(...items.map(foundLine));
});

function foundLine(item) {
  const [, hash, start, end] = /^(.+)@(\d+)-(\d+)$/.exec(item.pointer);
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button found-one";
  button.dir = "auto";
  button.textContent = `${item.text.slice(0, 200)} (${item.title})`;
  button.addEventListener("click", () => {
    if (![...source.options].some((option) => option.value === hash)) source.add(new Option(item.title, hash));
    source.value = hash;
    part("found").replaceChildren();
    show(hash, Math.max(0, start - 200), { start: Number(start), end: Number(end) }).catch(failed("found-text"));
  });
  const line = document.createElement("li");
  line.append(button);
  return line;
}

// Binding

function listClaims() {
  const choice = part("claim");
  const chosen = choice.value;
  const options = claims(text.value).map(({ label, text }) => new Option(`${label}: ${text.slice(0, 80)}`, label));
  choice.replaceChildren(choice.options[0], ...options);
  choice.value = options.some((option) => option.value === chosen) ? chosen : "";
}

// Later places first, so that each edit leaves the others where they are; the browser can undo all of them.
function apply(...edits) {
  const before = document.activeElement;
  const top = text.scrollTop;
  for (const { start, end, words } of edits.sort((one, other) => other.start - one.start)) {
    text.focus({ preventScroll: true });
    text.setSelectionRange(start, end);
    if (!document.execCommand("insertText", false, words)) text.setRangeText(words, start, end, "end");
  }
  text.scrollTop = top;
  before?.focus({ preventScroll: true });
  form.dispatchEvent(new Event("input"));
  listClaims();
}

function pointer() {
  const found = selected();
  if (!found) throw refuse("claim", `Select words of the source first, at most ${about.extractMax} characters.`);
  return `${at.source}@${found.start}-${found.end}`;
}

onSubmit(part("bind"), async () => {
  const { claim, relation, confidence } = part("bind").elements;
  const where = pointer();
  if (!/^(1|1\.0*|0?\.\d{1,4})$/.test(confidence.value.trim()) || !Number(confidence.value)) {
    throw refuse("confidence", "Write a number above 0 and at most 1, such as 0.9.");
  }
  const label = claim.value || freeLabel(text.value);
  const mark = claim.value ? null : claimEdit(text.value, text.selectionStart, text.selectionEnd, label);
  if (typeof mark === "string") throw refuse("claim", mark);
  if (text.value.split("\n").some((line) => line.startsWith(`${label} `) && line.includes(` ${where}`))) {
    throw refuse("claim", `The claim ${label} has this evidence already.`);
  }
  const line = `${label} ${relation.value} ${where} confidence=${Number(confidence.value)}`;
  apply(evidenceEdit(text.value, line), ...(mark ? [mark] : []));
  tell("bound", `Bound: ${line.slice(0, line.indexOf("@") - 57)}… Save and preview to see whether the words say it.`);
});

part("quote").addEventListener("click", () => {
  try {
    apply({ start: text.selectionEnd, end: text.selectionEnd, words: `\n\n{{extract ${pointer()}}}\n\n` });
    tell("bound", "The quote is inserted. Readers see the words of the source.");
  } catch (problem) {
    failed("bound")(problem);
  }
});

part("claim").addEventListener("focus", listClaims);
text.addEventListener("blur", listClaims);
listClaims();
open();
if (location.hash === "#preview" && about.article) preview();

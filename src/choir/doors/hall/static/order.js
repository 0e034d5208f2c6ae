// Ordering: what the form says becomes a request to the node, with what was uploaded named by its hash.

import { units } from "./amounts.js";
import { call, Problem } from "./api.js";
import { go, onSubmit, refuse } from "./forms.js";

const form = document.getElementById("order");
const field = (name) => form.elements[name];
const text = (name) => field(name).value.trim();

onSubmit(form, async () => {
  const order = await ORDERS[form.dataset.type]();
  form.dataset.sentKey ??= crypto.randomUUID();
  const request = {
    ...order.request,
    max_cost_msat: units(text("budget"), Number(field("budget").dataset.decimals), "SAT", "budget"),
    time_limit_s: minutes() * 60,
    idempotency_key: form.dataset.sentKey,
  };
  const criteria = JSON.parse(form.dataset.criteria);
  const body = { type: form.dataset.type, request, inputs: order.inputs ?? {}, criteria, public: field("public").checked };
  const job = await call("POST", "/v1/jobs", body);
  go(`/jobs/${job.id}`, `The job is ordered.${order.said ?? ""}`);
});

// Pressing again after a lost answer orders once; another order is another one.
form.addEventListener("input", () => {
  delete form.dataset.sentKey;
  delete form.dataset.salt;
});

const ORDERS = {
  async patch_gen() {
    const repository = await upload(chosen());
    const made = await call("POST", "/v1/repositories", { hash: repository });
    const left = made.left_out.map((item) => item.path);
    const request = {
      title: text("title"),
      body: text("body"),
      base_commit: made.commit,
      test_command: text("test_command"),
      evidence: field("exit_code_is_proof").checked ? "exit_code" : "report",
      level: field("level").value,
      mutation: field("mutation").checked,
    };
    const inputs = { repository: { hash: made.hash } };
    const hidden = await hiddenTests();
    if (hidden !== null) {
      request.hidden = await sha256(hidden);
      inputs.hidden = { hash: await upload(new Blob([hidden])) };
    } else if (request.level > "V2") {
      throw refuse("level", "V3 needs hidden tests.");
    }
    const said = left.length > 0 ? ` Left out of the repository: ${left.slice(0, 5).join(", ")}${left.length > 5 ? " and others" : ""}.` : "";
    return { request, inputs, said };
  },

  async repo_index() {
    const made = await call("POST", "/v1/repositories", { hash: await upload(chosen()) });
    return { request: { base_commit: made.commit }, inputs: { repository: { hash: made.hash } } };
  },

  async code_review() {
    const file = field("file").files[0];
    const pasted = field("diff").value;
    if (!file && pasted.trim() === "") throw refuse("diff", "Choose a file or paste a diff.");
    if (file && pasted.trim() !== "") throw refuse("diff", "There is a file and a pasted diff. Remove one of them.");
    const blob = file ? chosen() : new Blob([pasted.endsWith("\n") ? pasted : `${pasted}\n`]);
    const hash = await upload(blob);
    const request = { diff: hash, focus: [text("focus")], depth: text("depth"), instructions: text("instructions") };
    return { request, inputs: { diff: { hash } } };
  },

  async sandbox_run() {
    return { request: { argv: ["sh", "-c", field("command").value], deterministic: field("deterministic").checked } };
  },
};

// The hidden tests as the node reads them, in canonical form (keys in order), so that its hash commits to them.
async function hiddenTests() {
  const given = [...field("hidden").files].sort((one, other) => (one.name < other.name ? -1 : 1));
  if (given.length === 0) return null;
  const most = Number(field("hidden").dataset.max);
  if (given.reduce((sum, file) => sum + file.size, 0) > most) throw refuse("hidden", `Hidden tests may have ${most} bytes together.`);
  if (given.some((file) => !/^[A-Za-z0-9_]+\.py$/.test(file.name))) throw refuse("hidden", "Name each file like test_more.py.");
  const checks = given.map((file) => ({ command: `python3 -m pytest -q ${file.name}`, output_sha256: "" }));
  const files = await Promise.all(given.map(async (file) => ({ content: base64(await file.arrayBuffer()), path: file.name })));
  form.dataset.salt ??= hex(crypto.getRandomValues(new Uint8Array(32))); // the same again if the answer was lost
  return JSON.stringify({ checks, files, salt: form.dataset.salt });
}

const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const base64 = (buffer) => btoa(Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join(""));

async function sha256(text) {
  return `sha256:${hex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))))}`;
}

function minutes() {
  const given = Number(text("minutes"));
  if (!Number.isInteger(given) || given < 1) throw refuse("time_limit_s", "Give whole minutes, at least 1.");
  return given;
}

function chosen() {
  const file = field("file").files[0];
  const most = Number(field("file").dataset.max);
  if (!file) throw refuse("file", "Choose a file.");
  if (file.size === 0) throw refuse("file", "The file is empty.");
  if (file.size > most) throw refuse("file", `The file has ${file.size} bytes; at most ${most} can be sent.`);
  return file;
}

// Send bytes in parts; those that the node has already are not sent again. Returns their hash.
async function upload(blob) {
  const digest = await crypto.subtle.digest("SHA-256", await blob.arrayBuffer());
  const hash = `sha256:${[...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  const begun = await call("POST", "/v1/uploads", { bytes: blob.size, hash });
  if (begun.done) return hash;
  for (const n of begun.missing) {
    const part = blob.slice(n * begun.part_bytes, (n + 1) * begun.part_bytes);
    await put(`/v1/uploads/${begun.id}/parts/${n}`, part);
  }
  await call("POST", `/v1/uploads/${begun.id}/finish`);
  return hash;
}

async function put(path, part) {
  let answer;
  try {
    answer = await fetch(path, { method: "PUT", body: part, credentials: "same-origin", cache: "no-store" });
  } catch {
    throw new Problem({ detail: "The upload was interrupted.", hint: "Try again; what arrived is kept." }, 0);
  }
  if (!answer.ok) throw new Problem(await answer.json().catch(() => ({})), answer.status);
}

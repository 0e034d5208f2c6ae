// The proof that an entry is in the signed journal, computed by the browser that reads this.
//
//   hash = SHA-256("choir-entry-v1" ‖ prev ‖ u64 seq ‖ u64 at_us ‖ id ‖ content)   the entry in the chain
//   leaf = SHA-256(0x00 ‖ the same bytes)                                          the entry in the Merkle tree
//   node = SHA-256(0x01 ‖ left ‖ right)                                            RFC 6962
//   note = a C2SP signed note: origin, size and root of the tree, and a line with an Ed25519 signature
//
// `content` is the SHA-256 of the entry's canonical content. Whoever may see all of it gets the content itself, and the
// first step computes its hash. Nothing that the node says about the result is used: each step compares what was computed
// here with what was sent, and with what this page shows.

import { call, Problem } from "./api.js";

const place = document.querySelector("[data-proof]");
const steps = document.getElementById("proof-steps");
const result = document.getElementById("proof-result");

// Bytes

const utf8 = (text) => new TextEncoder().encode(text);
const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const unhex = (text) => {
  if (!/^([0-9a-f]{2})*$/.test(text)) throw new Error(`“${text.slice(0, 80)}” is not hexadecimal.`);
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
};
const unbase64 = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

function join(...parts) {
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function u64(number) {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(number));
  return bytes;
}

const sha256 = async (...parts) => new Uint8Array(await crypto.subtle.digest("SHA-256", join(...parts)));

// What is computed

// What an entry's hash and its leaf are made from.
function preimage(leaf) {
  const id = unhex(leaf.id.replaceAll("-", ""));
  const [prev, content] = [unhex(leaf.prev), unhex(leaf.content)];
  if (id.length !== 16 || prev.length !== 32 || content.length !== 32) throw new Error("A part of the entry has the wrong length.");
  return join(utf8("choir-entry-v1"), prev, u64(leaf.seq), u64(leaf.at_us), id, content);
}

// The root that follows from a leaf at a place in a tree of this size (RFC 9162, section 2.1.3.2).
async function rootOf(leaf, index, size, proof) {
  let [at, last, root] = [BigInt(index), BigInt(size) - 1n, leaf];
  for (const other of proof) {
    if (last === 0n) throw new Error("The proof has more hashes than the tree has levels.");
    if (at & 1n || at === last) {
      root = await sha256([1], other, root);
      while (!(at & 1n) && at !== 0n) [at, last] = [at >> 1n, last >> 1n];
    } else {
      root = await sha256([1], root, other);
    }
    [at, last] = [at >> 1n, last >> 1n];
  }
  if (last !== 0n) throw new Error("The proof has fewer hashes than the tree has levels.");
  return root;
}

// A signed note in its parts; the last blank line divides its text from its signatures.
function readNote(note) {
  const cut = note.lastIndexOf("\n\n");
  const text = note.slice(0, cut + 1);
  const [origin, size, root] = text.split("\n");
  const signatures = note.slice(cut + 2).split("\n").filter(Boolean).map((line) => {
    const [, name, encoded] = /^— (\S+) (\S+)$/.exec(line) ?? [];
    const bytes = encoded ? unbase64(encoded) : new Uint8Array();
    return { name, id: hex(bytes.slice(0, 4)), signature: bytes.slice(4) };
  });
  if (cut < 0 || !/^[1-9][0-9]*$/.test(size ?? "")) throw new Error("The checkpoint is not a signed note.");
  return { text, origin, size, root: unbase64(root), signatures };
}

// A verifier key: name, id and the byte 1 with 32 bytes of Ed25519.
async function readKey(text) {
  const [name, id, encoded] = text.split(/\+(.*?)\+(.*)/s);
  const bytes = unbase64(encoded ?? "");
  const computed = hex((await sha256(utf8(`${name}\n`), bytes)).slice(0, 4));
  return { name, id, computed, bytes: bytes.slice(1), known: bytes.length === 33 && bytes[0] === 1 };
}

async function ed25519(key, signature, text) {
  let made;
  try {
    made = await crypto.subtle.importKey("raw", key, { name: "Ed25519" }, false, ["verify"]);
  } catch {
    return null; // this browser does not have it
  }
  return crypto.subtle.verify({ name: "Ed25519" }, made, signature, utf8(text));
}

// What is shown

const WORDS = { true: ["Passed", "badge-good"], false: ["Failed", "badge-bad"], null: ["Not checked", "badge-mind"] };

function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

function show(passed, title, values) {
  const [word, look] = WORDS[passed];
  const lines = values.map(([label, value]) => element("p", "row-meta wrap", `${label} `, element("code", "wrap", value)));
  const head = element("p", "row-title", `${title} `, element("span", `badge ${look}`, word));
  steps.hidden = false;
  steps.append(element("li", "row", element("div", "row-text", head, ...lines)));
  return passed;
}

const same = (title, values) => show(values[0][1] === values[1][1], title, values);

async function check() {
  const [told, node] = await Promise.all([
    call("GET", `/v1/entries/${place.dataset.proof}/inclusion`),
    call("GET", "/v1/node"),
  ]);
  const { leaf } = told;
  const passed = [];
  passed.push(same("The proof is about this entry", [
    ["on this page", `${place.dataset.seq} ${place.dataset.hash} ${place.dataset.prev}`],
    ["in the proof", `${leaf.seq} ${leaf.hash} ${leaf.prev}`],
  ]));
  if (told.text === null) {
    show(null, "The content has the hash that was hashed into the entry", [["content", "Not all of it is yours to see; its hash is used."]]);
  } else {
    passed.push(same("The content has the hash that was hashed into the entry", [
      ["computed", hex(await sha256(utf8(told.text)))],
      ["in the proof", leaf.content],
    ]));
  }
  const bytes = preimage(leaf);
  passed.push(same("The entry has the hash that the journal says", [
    ["computed", hex(await sha256(bytes))],
    ["in the proof", leaf.hash],
  ]));
  const note = readNote(told.checkpoint);
  const root = await rootOf(await sha256([0], bytes), leaf.seq - 1, note.size, told.proof.map(unbase64));
  passed.push(same(`The entry is number ${leaf.seq} of the ${note.size} under the checkpoint`, [
    ["root, computed", hex(root)],
    ["root in the checkpoint", hex(note.root)],
  ]));
  const key = await readKey(node.key);
  passed.push(show(key.known && key.id === key.computed && told.key === node.key && note.origin === key.name, "The key is the node's", [
    ["in the proof", told.key],
    ["of the node", node.key],
  ]));
  const signed = note.signatures.find((each) => each.name === key.name && each.id === key.id);
  const valid = signed ? await ed25519(key.bytes, signed.signature, note.text) : false;
  passed.push(show(valid, "The node signed the checkpoint", [
    ["signature", signed ? hex(signed.signature) : "none by this key"],
    ...(valid === null ? [["", "This browser cannot check Ed25519 signatures."]] : []),
  ]));
  return passed;
}

function conclude(passed) {
  if (passed.includes(false)) return "The proof failed. What this node shows does not fit together.";
  if (passed.includes(null)) return "The hashes fit. The signature was not checked: this browser cannot check Ed25519 signatures.";
  return "Proven: the journal that the node signed contains this entry.";
}

async function run() {
  steps.replaceChildren();
  steps.hidden = true;
  if (!globalThis.crypto?.subtle) {
    result.textContent = "This browser gives pages no hash functions here. Open the page over HTTPS, or on the node's own machine.";
    return;
  }
  result.textContent = "Checking…";
  try {
    result.textContent = conclude(await check());
  } catch (error) {
    const asked = error instanceof Problem; // the node did not send a proof at all
    if (!asked) show(false, "The proof can be read", [["", error.message]]);
    result.textContent = asked ? refused(error) : "The proof failed. It could not be read to its end.";
  }
}

function refused(problem) {
  if (problem.code !== "ledger.checkpoint.unknown") return `There is no proof to check. ${problem.message}`;
  return "No signed checkpoint covers this entry yet. Check again in a minute.";
}

if (place) {
  document.getElementById("proof-check").addEventListener("click", run);
  run();
}

// Requests to the node's API, and what it says when it refuses.

export class Problem extends Error {
  constructor(body, status) {
    super(body.detail || "Something went wrong.");
    this.status = status;
    this.code = body.code || "";
    this.hint = body.hint || "";
    if (this.code === "ledger.insufficient_funds") shortOfFunds(this, body.fields ?? {});
  }
}

// What the command line is told names accounts and operators' commands; a person needs to know what is missing.
function shortOfFunds(problem, fields) {
  const { account = "", asset, available_shown: has, asked_shown: asked } = fields;
  if (!asset || !has || !asked) return;
  const who = account.startsWith("person:") ? "You have" : account.startsWith("agent:") ? "The agent has" : "There are";
  problem.message = `${who} ${plain(has)} ${asset}, and this needs ${plain(asked)} ${asset}.`;
  problem.hint =
    who === "There are" ? "" : "Earn more by selling work or writing, or ask somebody to send you some; this node's operator can also fund an account.";
}

const plain = (amount) => (amount.includes(".") ? amount.replace(/\.?0+$/, "") : amount);

const UNREACHABLE = {
  detail: "The node does not answer.",
  hint: "Check your connection and try again; nothing was changed.",
  code: "unreachable",
};

// `key` makes the same request have one effect, however often it is sent.
export async function call(method, path, body, key) {
  const request = { method, headers: { Accept: "application/json" }, credentials: "same-origin", cache: "no-store" };
  if (key) request.headers["Idempotency-Key"] = key;
  if (body !== undefined) {
    request.headers["Content-Type"] = "application/json";
    request.body = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(path, request);
  } catch {
    throw new Problem(UNREACHABLE, 0);
  }
  const text = await answer.text();
  let told = null;
  try {
    told = text === "" ? null : JSON.parse(text);
  } catch {
    throw new Problem({ detail: "The node sent a malformed response." }, answer.status);
  }
  if (!answer.ok) throw new Problem(told ?? {}, answer.status);
  return told;
}

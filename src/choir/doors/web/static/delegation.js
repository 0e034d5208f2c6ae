// The form that grants a delegation: scopes, caps as rows, an end.

import { units } from "./amounts.js";
import { call } from "./api.js";
import { go, onSubmit, refuse } from "./forms.js";
import { withFreshPasskey } from "./passkeys.js";

let rows = 0;

const form = document.querySelector("form[data-grant]");
if (form) setUp(form);

function setUp(grant) {
  const caps = document.getElementById("caps");
  for (const row of caps.children) label(row);
  grant.querySelector("[data-add-cap]").addEventListener("click", () => {
    const made = document.getElementById("cap-row").content.firstElementChild.cloneNode(true);
    caps.append(label(made));
    made.querySelector("input").focus();
  });
  caps.addEventListener("click", (event) => {
    if (!event.target.closest("[data-remove-cap]")) return;
    event.target.closest(".cap").remove();
    grant.querySelector("[data-add-cap]").focus();
  });
  onSubmit(grant, async () => {
    const body = termsOf(grant);
    await withFreshPasskey(() => call("POST", "/v1/delegations", body));
    go(location.pathname, grant.dataset.said);
  });
}

// Each field of a row needs an id of its own for its label.
function label(row) {
  rows += 1;
  for (const field of row.querySelectorAll(".field")) {
    const input = field.querySelector("input, select");
    input.id = `${input.name}-${rows}`;
    field.querySelector("label").htmlFor = input.id;
  }
  return row;
}

function termsOf(grant) {
  const data = new FormData(grant);
  const body = { agent: grant.dataset.grant, scopes: data.getAll("scopes"), caps: capsOf(grant), days: Number(data.get("days")) };
  const name = data.get("name").trim();
  if (name) body.name = name;
  return body;
}

function capsOf(grant) {
  const caps = [];
  for (const row of grant.querySelectorAll("#caps .cap")) {
    const amount = row.querySelector("[name=cap-amount]").value.trim();
    if (amount === "") continue;
    const asset = row.querySelector("[name=cap-asset]").selectedOptions[0];
    const period = row.querySelector("[name=cap-period]").value;
    const cap = { asset: asset.value, period, cap: units(amount, Number(asset.dataset.decimals), asset.value, "caps") };
    if (caps.some((other) => other.asset === cap.asset && other.period === cap.period)) {
      throw refuse("caps", `There are two caps for ${cap.asset} with the same period.`);
    }
    caps.push(cap);
  }
  return caps;
}

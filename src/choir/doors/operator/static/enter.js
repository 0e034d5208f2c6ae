// An operator enters: the code is in the fragment, which no server, log or referrer ever sees. It is sent once, as a body,
// and taken out of the address.

import { call } from "./api.js";
import { go } from "./forms.js";

const part = (id) => document.getElementById(id);

function show(id) {
  for (const other of ["entering", "missing", "refused"]) part(other).hidden = other !== id;
  part(id).querySelector("h1").focus();
}

async function enter() {
  const code = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
  if (code === "") return show("missing");
  show("entering");
  try {
    await call("POST", "/v1/operator/enter", { code });
    go("/operator", "You are logged in as an operator.");
  } catch (error) {
    part("refused-why").textContent = `${error.message} ${error.hint ?? ""}`.trim();
    show("refused");
  }
}

addEventListener("hashchange", enter); // an address that is opened while this page is there
enter();

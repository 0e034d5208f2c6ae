// An operator enters: the code is in the fragment, which no server, log or referrer ever sees. It is sent once, as a body,
// and taken out of the address.

import { call } from "./api.js";
import { go } from "./forms.js";

const code = location.hash.slice(1);
history.replaceState(null, "", location.pathname);
const part = (id) => document.getElementById(id);

function show(id) {
  for (const other of ["entering", "missing", "refused"]) part(other).hidden = other !== id;
  part(id).querySelector("h1").focus();
}

if (code === "") {
  show("missing");
} else {
  try {
    await call("POST", "/v1/operator/enter", { code });
    go("/operator", "You are logged in as an operator.");
  } catch (error) {
    part("refused-why").textContent = `${error.message} ${error.hint ?? ""}`.trim();
    show("refused");
  }
}

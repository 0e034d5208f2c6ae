// Signing up, signing in, recovering, adding a passkey: the node asks, the device answers, the node decides.

import { call, Problem } from "./api.js";
import { go, onSubmit } from "./forms.js";
import { deviceName, make, show, withFreshPasskey } from "./passkeys.js";
import { reveal } from "./reveal.js";

const CODES = {
  title: "Welcome. Save these recovery codes",
  text: "They are shown only once. Each lets you in once if you lose your passkeys. Write them down or print them, and keep them away from your devices.",
  file: "choir-recovery-codes.txt",
};

const NO_SUCH_PASSKEY = {
  code: "passkey.refused",
  detail: "No account here uses that passkey.",
  hint: "It may have been removed. Try another one, or use a recovery code.",
};
const NO_SUCH_CODE = {
  code: "recovery.refused",
  detail: "That code does not belong to this handle, or it was used before.",
  hint: "Check for typos, or try another of your codes.",
};

const ceremonies = {
  async "sign-up"(form) {
    const referrer = form.elements.referrer?.value;
    const told_by = referrer ? { referrer } : {};
    const asked = await call("POST", "/v1/sign-up/begin", { handle: typed(form, "handle"), ...told_by });
    const answer = await make(asked.options);
    const told = await call("POST", "/v1/sign-up/finish", { ceremony: asked.ceremony, answer, name: deviceName() });
    reveal({ ...CODES, secret: told.recovery_codes, done: () => go(form.dataset.then, "You are signed up and logged in.") });
  },

  async "sign-in"(form) {
    const asked = await call("POST", "/v1/sign-in/begin");
    const answer = await show(asked.options);
    await reworded(NO_SUCH_PASSKEY, () => call("POST", "/v1/sign-in/finish", { ceremony: asked.ceremony, answer }));
    go(form.dataset.then, "");
  },

  async recover(form) {
    const given = { handle: typed(form, "handle"), code: typed(form, "code") };
    const asked = await reworded(NO_SUCH_CODE, () => call("POST", "/v1/recovery/begin", given));
    const answer = await make(asked.options);
    const made = { ceremony: asked.ceremony, answer, name: deviceName(), keep: form.elements.namedItem("keep").checked };
    const { ended } = await reworded(NO_SUCH_CODE, () => call("POST", "/v1/recovery/finish", made));
    go("/sign-in", `Your new passkey is created. ${saidOf(ended)} Log in with it.`);
  },

  async "add-passkey"(form) {
    const name = typed(form, "name") || deviceName();
    const asked = await withFreshPasskey(() => call("POST", "/v1/me/passkeys/begin"));
    const answer = await make(asked.options);
    await call("POST", "/v1/me/passkeys/finish", { ceremony: asked.ceremony, answer, name });
    go("/account", "The passkey is added.");
  },
};

for (const form of document.querySelectorAll("form[data-ceremony]")) {
  onSubmit(form, () => ceremonies[form.dataset.ceremony](form));
}

// Where nobody is signed in, a refused credential is not a session that has ended.
async function reworded(words, work) {
  try {
    return await work();
  } catch (error) {
    throw error.status === 401 ? new Problem(words, 0) : error;
  }
}

// What a recovery ended, for who recovered to compare with what they remember.
function saidOf(ended) {
  const parts = Object.entries(ended)
    .filter(([, count]) => count > 0)
    .map(([what, count]) => `${count} ${count === 1 ? what.slice(0, -1) : what}`);
  return parts.length > 0 ? `Ended: ${parts.join(", ")}.` : "Nothing else had to end.";
}

function typed(form, name) {
  const value = form.elements.namedItem(name).value.trim();
  return name === "handle" ? value.replace(/^@/, "").toLowerCase() : value;
}

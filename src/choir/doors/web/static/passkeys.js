// Passkey ceremonies: asking the browser, and saying in plain words why it did not work.

import { call, Problem } from "./api.js";

// Why this browser cannot use passkeys here, or "" if it can.
export function unsupported() {
  const own = document.documentElement.dataset.origin;
  if (location.origin !== own) return `They are bound to this node's own address, ${own}.`;
  if (!window.isSecureContext) return "They need https, or localhost.";
  if (!window.PublicKeyCredential) return "Use a current version of Chrome, Edge, Firefox or Safari.";
  if (!PublicKeyCredential.parseCreationOptionsFromJSON) return "This browser is too old for passkeys; update it.";
  return "";
}

export async function make(options) {
  return ask(() => {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
    return navigator.credentials.create({ publicKey });
  });
}

export async function show(options) {
  return ask(() => {
    const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
    return navigator.credentials.get({ publicKey });
  });
}

// Do something; where the node wants a passkey shown just now, show it and do it again.
export async function withFreshPasskey(work) {
  try {
    return await work();
  } catch (error) {
    if (error.code !== "identity.fresh_assertion_needed") throw error;
  }
  const asked = await call("POST", "/v1/me/confirm/begin");
  const answer = await show(asked.options);
  await call("POST", "/v1/me/confirm/finish", { ceremony: asked.ceremony, answer });
  return work();
}

// A name for a passkey of this device, until its owner finds a better one.
export function deviceName() {
  const told = navigator.userAgentData?.platform || navigator.platform || "";
  const known = [["iPhone", "iPhone"], ["iPad", "iPad"], ["Android", "Android device"], ["Mac", "Mac"], ["Win", "Windows computer"], ["Linux", "Linux computer"]];
  return known.find(([part]) => told.includes(part))?.[1] ?? "This device";
}

async function ask(work) {
  const why = unsupported();
  if (why !== "") throw new Problem({ detail: "Passkeys do not work here.", hint: why }, 0);
  let credential;
  try {
    credential = await work();
  } catch (error) {
    throw new Problem(inWords(error), 0);
  }
  return credential.toJSON();
}

function inWords(error) {
  switch (error.name) {
    case "NotAllowedError":
    case "AbortError":
      return { code: "passkey.not_shown", detail: "No passkey was used.", hint: "It was cancelled or took too long. Nothing was changed; try again." };
    case "InvalidStateError":
      return { code: "passkey.known", detail: "This device already has a passkey for you here.", hint: "Log in with it, or use another device or security key." };
    case "SecurityError":
      return { code: "passkey.wrong_address", detail: "Passkeys do not work at this address.", hint: "Open the page at the address that the node's operator gave you." };
    default:
      return { code: "passkey.failed", detail: "The device reported an error.", hint: `It said: ${error.message}` };
  }
}

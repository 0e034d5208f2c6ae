// What a typical job would cost, while prices are typed. The node computes it, by the rules that it charges by.

import { units } from "./amounts.js";
import { call, Problem } from "./api.js";

const PAUSE_MS = 300;
const FIELDS = ["base", "per_unit", "cap"];

for (const form of document.querySelectorAll("form[data-prices]")) {
  let waiting = null;
  let last = 0;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      last += 1;
      const asked = last;
      const said = await quote(form);
      if (asked === last) form.querySelector("[data-quote]").textContent = said; // an answer that was overtaken says nothing
    }, PAUSE_MS);
  });
}

async function quote(form) {
  try {
    const asked = new URLSearchParams({ type: form.dataset.prices });
    for (const name of FIELDS) asked.set(name, units(form.elements[name].value.trim(), 3, "SAT", name, { zero: true }));
    const told = await call("GET", `/v1/providers/me/quote?${asked}`);
    return `At these prices a job of ${form.dataset.size} would cost ${sat(told.price)}; you would get ${sat(told.earned)}.`;
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
}

// Whole milli-satoshi as people write them, exactly.
function sat(text) {
  const digits = text.padStart(4, "0");
  const whole = BigInt(digits.slice(0, -3)).toLocaleString("en");
  const rest = digits.slice(-3).replace(/0+$/, "");
  return `${whole}${rest ? `.${rest}` : ""} SAT`;
}

// Amounts that people type.

import { refuse } from "./forms.js";

// Exact: what was typed becomes whole units by moving the point, never by a floating number. A comma only ever divides
// thousands, as in the amounts that pages show; where it could mean a decimal it is refused, not guessed.
export function units(text, decimals, asset, field, { zero = false } = {}) {
  const plain = /^\d{1,3}(,\d{3})+(\.\d+)?$/.test(text) ? text.replaceAll(",", "") : text;
  const match = /^(\d{1,19})(?:\.(\d+))?$/.exec(plain);
  const fraction = (match?.[2] ?? "").replace(/0+$/, "");
  if (!match) throw refuse(field, `“${text}” is not an amount. Write digits with at most one point, such as 12.5.`);
  if (fraction.length > decimals) throw refuse(field, `${asset} has at most ${decimals} decimals.`);
  const whole = (match[1] + fraction.padEnd(decimals, "0")).replace(/^0+/, "");
  if (whole === "" && zero) return "0";
  if (whole === "") throw refuse(field, "The amount must be more than zero.");
  return whole;
}

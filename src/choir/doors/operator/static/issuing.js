// An operator proposes an issuance, or funds an account with play money: what is typed becomes the legs of an entry.

import { units } from "./amounts.js";
import { call } from "./api.js";
import { go, onSubmit } from "./forms.js";

for (const form of document.querySelectorAll("form[data-issue]")) {
  onSubmit(form, async () => {
    const { owner, asset, amount, reason } = form.elements;
    const chosen = asset.selectedOptions[0];
    const whole = units(amount.value.trim(), Number(chosen.dataset.decimals), asset.value, amount);
    const account = `${owner.value.trim()}/available/${asset.value}`;
    form.dataset.sentKey ??= crypto.randomUUID();
    if (form.dataset.issue === "fund") {
      await call("POST", "/v1/fund", { account, amount: whole }, form.dataset.sentKey);
      return go(location.pathname, "The account is funded.");
    }
    const legs = [{ from: `system:node/issuance/${asset.value}`, to: account, amount: whole }];
    await call("POST", "/v1/issuances", { reason: reason.value.trim(), legs }, form.dataset.sentKey);
    go(location.pathname, "The issuance is proposed.");
  });
}

// The form that sends money: the question before it names the amount and the person.

const form = document.querySelector("form[data-send]");

function ask() {
  const amount = form.elements.amount.value.trim();
  const asset = form.elements.asset.value;
  form.dataset.ask = `Send ${amount || "this"} ${amount ? asset : ""} to @${form.dataset.send}?`.replace("  ", " ");
  form.dataset.askYes = amount ? `Send ${amount} ${asset}` : "Send";
}

if (form) {
  form.addEventListener("input", ask);
  ask();
}

// A secret that is shown once: in a dialog that does not close by accident, to be copied or saved.

export function reveal({ title, text, secret, file, done }) {
  const dialog = document.getElementById("reveal");
  const heading = document.getElementById("reveal-title");
  heading.textContent = title;
  document.getElementById("reveal-text").textContent = text;
  document.getElementById("reveal-body").replaceChildren(Array.isArray(secret) ? listOf(secret) : lineOf(secret));
  const download = document.getElementById("reveal-download");
  download.hidden = !file;
  const whole = Array.isArray(secret) ? secret.join("\n") : secret;
  download.onclick = () => save(file, `${title}\n\n${whole}\n`);
  const copy = dialog.querySelector("[data-copy]");
  copy.textContent = "Copy";
  copy.onclick = () => copyText(copy, whole);
  dialog.oncancel = (event) => event.preventDefault();
  document.getElementById("reveal-done").onclick = () => {
    document.getElementById("reveal-body").replaceChildren();
    dialog.oncancel = null;
    dialog.close();
    done();
  };
  dialog.showModal();
  heading.focus();
}

function listOf(lines) {
  const list = document.createElement("ol");
  list.className = "codes";
  for (const line of lines) {
    const item = document.createElement("li");
    item.textContent = line;
    list.append(item);
  }
  return list;
}

function lineOf(text) {
  const code = document.createElement("code");
  code.className = "secret";
  code.textContent = text;
  return code;
}

async function copyText(button, text) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Select it and copy manually";
  }
}

function save(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

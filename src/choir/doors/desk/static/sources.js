// Adding a source: the document's bytes go to the node as they are, with progress.

import { Problem } from "./api.js";
import { go, onSubmit, refuse } from "./forms.js";

for (const form of document.querySelectorAll("form[data-source]")) {
  onSubmit(form, async () => {
    const { title, file, text } = form.elements;
    const document_ = file ? file.files[0] : new Blob([text.value]);
    const kind = file ? "file" : "text";
    if (document_.size === 0) throw refuse(kind, "There is nothing in it.");
    if (document_.size > Number(form.dataset.bytesMax)) {
      throw refuse(kind, `It has ${document_.size.toLocaleString("en")} bytes; at most ${Number(form.dataset.bytesMax).toLocaleString("en")} are taken. Nothing was sent.`);
    }
    const about = new URLSearchParams();
    if (title.value.trim()) about.set("title", title.value.trim());
    if (file) about.set("filename", document_.name.slice(-300));
    else about.set("media_type", "text/plain");
    const bar = form.querySelector("progress");
    bar.hidden = false;
    try {
      const source = await send(`/v1/sources?${about}`, document_, (share) => (bar.value = share * 100));
      const place = form.dataset.then ? `${form.dataset.then}?source=${source.hash}` : `/sources/${source.hash}`;
      go(place, `“${source.title}” is added: ${source.chars.toLocaleString("en")} characters of text.`);
    } finally {
      bar.hidden = true;
    }
  });
}

// `fetch` tells nothing of what is on its way; this does.
function send(path, body, moved) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", path);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("Accept", "application/json");
    request.responseType = "json";
    request.upload.onprogress = (event) => moved(event.loaded / event.total);
    request.onload = () =>
      request.status < 300 && request.response
        ? resolve(request.response)
        : reject(new Problem(request.response ?? {}, request.status));
    request.onerror = () => reject(new Problem({ detail: "The node does not answer.", hint: "Try again; nothing was changed." }, 0));
    request.send(body);
  });
}

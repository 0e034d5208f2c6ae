// Parts of a page that stay current: when the node says that something happened, the page is fetched again and the parts
// marked `data-live` are replaced. What the reader is just operating is left alone until the next time.

const PAUSE_MS = 300;
const parts = () => [...document.querySelectorAll("[data-live][id]")];
const topics = [...new Set(parts().flatMap((part) => part.dataset.live.split(" ")))];
let waiting = null;
let missed = false;

function refresh() {
  waiting = null;
  if (document.hidden) {
    missed = true;
    return;
  }
  const request = new XMLHttpRequest(); // it reads a page as a document; a string would not be let in
  request.responseType = "document";
  request.open("GET", location.href);
  request.onload = () => {
    if (request.status === 200 && request.response) replace(request.response);
  };
  request.send();
}

function replace(page) {
  for (const part of parts()) {
    const now = page.getElementById(part.id);
    if (!now || part.contains(document.activeElement) || now.isEqualNode(part)) continue;
    part.replaceWith(document.importNode(now, true));
  }
  document.dispatchEvent(new Event("choir-refreshed"));
}

if (topics.length > 0) {
  const source = new EventSource(`/live?topics=${encodeURIComponent(topics.join(","))}`);
  source.addEventListener("changed", () => {
    waiting ??= setTimeout(refresh, PAUSE_MS);
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && missed) {
      missed = false;
      refresh();
    }
  });
  addEventListener("pagehide", () => source.close());
}

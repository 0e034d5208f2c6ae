// Search in a static copy of the documentation: the same rules as choir.doors.docs.search, over search.json.
"use strict";

(() => {
  const place = document.getElementById("docs-found");
  const query = new URLSearchParams(location.search).get("q") ?? "";
  const words = (text) => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  const spaced = (text) => ` ${words(text).join(" ")}`;
  const asked = words(query.slice(0, 200)).slice(0, 8);

  const score = ([, title, heading, text]) => {
    const [inTitle, inHeading, inText] = [spaced(title), spaced(heading), spaced(text)];
    let total = 0;
    for (const word of asked) {
      const begun = ` ${word}`;
      const found = 12 * inHeading.includes(begun) + 6 * inTitle.includes(begun)
        + Math.min(inText.split(begun).length - 1, 4);
      if (found === 0) return 0;
      total += found;
    }
    return total;
  };

  const make = (name, ...children) => {
    const made = document.createElement(name);
    made.append(...children);
    return made;
  };

  const line = ([address, title, heading, text]) => {
    const link = make("a", address.includes("#") ? `${title} · ${heading}` : title);
    link.href = address;
    const at = Math.max(0, text.toLowerCase().indexOf(asked[0]));
    return make("li", link, make("p", `${at > 110 ? "…" : ""}${text.slice(Math.max(0, at - 110), at + 110)}`));
  };

  const show = async () => {
    const parts = await (await fetch(place.dataset.index)).json();
    const scored = parts.map((part) => [score(part), part]).filter(([points]) => points > 0);
    const best = scored.sort((a, b) => b[0] - a[0]).slice(0, 25);
    const list = make("ol", ...best.map(([, part]) => line(part)));
    list.className = "docs-found";
    place.append(make("p", best.length ? `${best.length} parts of pages, the best first.` : "Nothing found."), list);
  };

  document.getElementById("docs-q").value = query;
  if (asked.length > 0) show().catch(() => place.append(make("p", "The index could not be loaded.")));
})();

// What joins an article to its sources: claims, lines of evidence, and offsets. The node counts Unicode code points, a
// browser counts UTF-16 units; nothing else here knows of the difference.

const CLAIM = /\[((?:[^[\]]|\[[^\]]*\])*)\]\{#([A-Za-z0-9_-]{1,32})\}/g;
const BLOCK = /^(`{3,}|~{3,})evidence[ \t]*\n[^]*?^\1[ \t]*$/gm;

export const points = (text) => [...text].length;

// How many units the first so many code points take.
export function unitsOf(text, count) {
  let at = 0;
  for (; count > 0 && at < text.length; count--) at += text.codePointAt(at) > 0xffff ? 2 : 1;
  return at;
}

const splits = (text, at) => at > 0 && /[\udc00-\udfff]/.test(text[at] ?? "") && /[\ud800-\udbff]/.test(text[at - 1]);

// The span of a source that is selected in a window of its text, which begins at `from`: whole characters, no blanks
// at its ends; null if nothing is left.
export function span(text, from, start, end) {
  if (splits(text, start)) start -= 1;
  if (splits(text, end)) end += 1;
  const words = text.slice(start, end);
  start += words.length - words.trimStart().length;
  end -= words.length - words.trimEnd().length;
  if (start >= end) return null;
  const first = from + points(text.slice(0, start));
  return { start: first, end: first + points(text.slice(start, end)), words: text.slice(start, end) };
}

export const claims = (markdown) => [...markdown.matchAll(CLAIM)].map((found) => ({ label: found[2], text: found[1] }));

export function freeLabel(markdown) {
  const taken = new Set(claims(markdown).map((claim) => claim.label));
  for (let n = 1; ; n++) if (!taken.has(`c${n}`)) return `c${n}`;
}

// Where a line of evidence goes, and what is written there: at the end of the last block, or a new block at the end.
export function evidenceEdit(markdown, line) {
  const last = [...markdown.matchAll(BLOCK)].at(-1);
  if (last) {
    const at = last.index + last[0].lastIndexOf("\n") + 1;
    return { start: at, end: at, words: `${line}\n` };
  }
  const end = markdown.trimEnd().length;
  return { start: end, end: markdown.length, words: `\n\n\`\`\`evidence\n${line}\n\`\`\`\n` };
}

// The mark around selected words, or why they cannot be a claim.
export function claimEdit(markdown, start, end, label) {
  const words = markdown.slice(start, end);
  start += words.length - words.trimStart().length;
  end -= words.length - words.trimEnd().length;
  const text = markdown.slice(start, end);
  if (start >= end) return "Select the words of the article that state the claim, or choose a claim that is there.";
  if (/\n\s*\n/.test(text)) return "A claim stands within one paragraph.";
  if (/[[\]]|```/.test(text)) return "These words have brackets or a block in them; mark the claim by hand.";
  return { start, end, words: `[${text}]{#${label}}` };
}

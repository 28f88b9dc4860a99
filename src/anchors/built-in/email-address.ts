const LOCAL = /[A-Za-z0-9._%+-]/;
const DOMAIN = /[A-Za-z0-9.-]*/y;
const WORD = /[\p{L}\p{N}_]/u;
const TOP_LEVEL = /\.[A-Za-z]{2,}(?![\p{L}\p{N}_])/u;

/**
 * True if a text contains an email address. Reads the characters around each "@" once: an expression for a whole address takes time
 * that grows with the square of a long word.
 */
export function hasEmailAddress(text: string): boolean {
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    if (hasLocalPart(text, at) && hasDomain(text, at + 1)) return true;
  }
  return false;
}

/** True if an address begins before the "@": at the beginning or the end of a word, among characters that addresses have. */
function hasLocalPart(text: string, at: number): boolean {
  for (let start = at - 1; start >= 0 && LOCAL.test(text.charAt(start)); start -= 1) {
    if (isWordAt(text, start - 1) !== isWordAt(text, start)) return true;
  }
  return false;
}

function hasDomain(text: string, start: number): boolean {
  DOMAIN.lastIndex = start;
  const domain = DOMAIN.exec(text)?.[0] ?? '';
  // The character after the domain says if its last word ends there. A dot cannot begin a domain.
  return TOP_LEVEL.test(text.slice(start + 1, start + domain.length + 1));
}

function isWordAt(text: string, index: number): boolean {
  return WORD.test(text.charAt(index));
}

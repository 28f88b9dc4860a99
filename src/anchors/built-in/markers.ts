import { isWordBoundary } from './word-boundary.ts';

/** Words that an anchor looks for, in lower case. Of several forms of one marker, violations name the first. */
export type Marker = string | readonly [name: string, ...otherForms: string[]];

/**
 * Returns the names of the markers that a text contains, in the order of the list. Case and the form of apostrophes do not matter. A
 * marker is never a part of a longer word: "could be" is not in "could become".
 */
export function markersIn(text: string, markers: readonly Marker[]): string[] {
  const plain = text.toLowerCase().replaceAll('’', "'");
  return markers.flatMap((marker) => {
    const forms = typeof marker === 'string' ? [marker] : marker;
    return forms.some((form) => hasWords(plain, form)) ? forms.slice(0, 1) : [];
  });
}

/** Returns one violation that lists the markers in a text; none if it contains none. */
export function listedMarkers(problem: string, text: string, markers: readonly Marker[]): string[] {
  const found = markersIn(text, markers);
  return found.length === 0 ? [] : [`${problem}: ${found.join(', ')}`];
}

/** True if a text contains words that are not part of longer ones. An end that is no letter or digit, such as a bracket, ends anywhere. */
function hasWords(text: string, words: string): boolean {
  for (let start = text.indexOf(words); start !== -1; start = text.indexOf(words, start + 1)) {
    if (isWordBoundary(text, start) && isWordBoundary(text, start + words.length)) return true;
  }
  return false;
}

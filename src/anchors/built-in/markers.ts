/**
 * Returns the markers that a text contains, in the order of the list. Case and the form of apostrophes do not matter. A marker may be
 * part of a word.
 */
export function markersIn(text: string, markers: readonly string[]): string[] {
  const plain = text.toLowerCase().replaceAll('’', "'");
  return markers.filter((marker) => plain.includes(marker));
}

/** Returns one violation that lists the markers in a text; none if it contains none. */
export function listedMarkers(problem: string, text: string, markers: readonly string[]): string[] {
  const found = markersIn(text, markers);
  return found.length === 0 ? [] : [`${problem}: ${found.join(', ')}`];
}

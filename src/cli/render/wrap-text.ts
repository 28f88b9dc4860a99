/**
 * Returns text as lines of at most `width` characters, broken at spaces if possible. There are at most `maxLines` of
 * them, and then one that says how many characters are left out. Line breaks are kept; tabs become spaces.
 */
export function wrapText(text: string, width: number, maxLines: number): string[] {
  const characters = Array.from(text.replaceAll('\t', '  '));
  const lines: string[] = [];
  let start = 0;
  do {
    if (lines.length === maxLines) {
      lines.push(`… ${characters.length - start} more characters`);
      break;
    }
    const end = lineEnd(characters, start, width);
    lines.push(characters.slice(start, end).join('').trimEnd());
    start = end;
    // The space or line break at which a line ends belongs to neither line.
    if (characters[start] === ' ' || characters[start] === '\n') start += 1;
  } while (start < characters.length);
  return lines;
}

function lineEnd(characters: readonly string[], start: number, width: number): number {
  let lastBlank = -1;
  for (let index = start; index < characters.length && index <= start + width; index += 1) {
    if (characters[index] === '\n') return index;
    if (characters[index] === ' ' && index > start) lastBlank = index;
  }
  if (characters.length - start <= width) return characters.length;
  return lastBlank > start ? lastBlank : start + width;
}

// Tool phase: the randomness of a cell.

/** Returns a whole number that a text always gives (FNV-1a, 32 bits). */
export function seedOf(text: string): number {
  let hash = 0x81_1c_9d_c5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01_00_01_93);
  return hash >>> 0;
}

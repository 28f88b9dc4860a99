import type { Output } from '../output.ts';

/** Returns a table for people: a header, and columns as wide as their content. */
export function tableLines(header: readonly string[], rows: readonly (readonly string[])[], output: Pick<Output, 'look'>): string[] {
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [output.look('bold', line(header)), ...rows.map(line)];
}

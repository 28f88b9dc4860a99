import type { Output } from '../output.ts';

/** Returns parts as the branches of a tree. */
export function branches<Part>(parts: readonly Part[], linesOf: (part: Part) => string[], output: Pick<Output, 'look'>): string[] {
  return parts.flatMap((part, index) => {
    const isLast = index === parts.length - 1;
    const [first = '', ...rest] = linesOf(part);
    return [
      `${output.look('dim', isLast ? '└─' : '├─')} ${first}`,
      ...rest.map((line) => (isLast ? `   ${line}` : `${output.look('dim', '│')}  ${line}`)),
    ];
  });
}

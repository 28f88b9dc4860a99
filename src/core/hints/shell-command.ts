/** Characters that mean nothing to a shell. */
const PLAIN = /^[\w@%+=:,./-]+$/;

/** A call of the command line that works for a global installation as well as for one in a project. */
export const ANYWHERE = 'npx longhaul';

/**
 * Returns a call of the command line to copy into a shell. Quotes characters that mean something to a shell, because run ids come
 * from callers and call ids from models.
 */
export function shellCommand(
  command: string,
  {
    options = [],
    operands,
    program = ANYWHERE,
  }: { options?: readonly string[]; operands: readonly string[]; program?: string | undefined },
): string {
  const words = operands.some((word) => word.startsWith('-')) ? [...options, '--', ...operands] : [...operands, ...options];
  return [program, command, ...words.map(quoted)].join(' ');
}

function quoted(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

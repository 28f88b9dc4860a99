/** Characters that mean nothing to a shell. */
const PLAIN = /^[\w@%+=:,./-]+$/;

/** How the command line is called where nobody knows whether it is installed in a project or for all: npx finds both. */
export const ANYWHERE = 'npx longhaul';

/** A call of the command line to copy into a shell. Run ids come from callers and call ids from models: what a shell could read in them is quoted. */
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

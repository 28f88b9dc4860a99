/** Characters that mean nothing to a shell. */
const PLAIN = /^[\w@%+=:,./-]+$/;

/** A call of the command line to copy into a shell. Run ids come from callers and call ids from models: what a shell could read in them is quoted. */
export function shellCommand(
  command: string,
  { options = [], operands }: { options?: readonly string[]; operands: readonly string[] },
): string {
  const words = operands.some((word) => word.startsWith('-')) ? [...options, '--', ...operands] : [...operands, ...options];
  return ['longhaul', command, ...words.map(quoted)].join(' ');
}

function quoted(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

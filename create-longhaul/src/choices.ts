/** What a project may begin with. */
export const TEMPLATES = ['basic', 'approvals', 'sessions', 'service', 'next', 'existing-worker'] as const;
export const PROVIDERS = ['openai', 'anthropic', 'ollama', 'scripted'] as const;
export const PACKAGE_MANAGERS = ['npm', 'pnpm', 'yarn', 'bun'] as const;

export type Template = (typeof TEMPLATES)[number];
export type Provider = (typeof PROVIDERS)[number];
export type PackageManager = (typeof PACKAGE_MANAGERS)[number];

/** A mistake in the command line, with what to write instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Returns the choice that a text names. Throws a UsageError with the nearest one. */
export function chosen<Choice extends string>(what: string, text: string, choices: readonly Choice[]): Choice {
  const found = choices.find((one) => one === text);
  if (found !== undefined) return found;
  const nearest = choices.toSorted((one, other) => distance(text, one) - distance(text, other))[0] ?? '';
  const guess = distance(text, nearest) <= Math.max(2, nearest.length / 2) ? ` Did you mean "${nearest}"?` : '';
  throw new UsageError(`There is no ${what} "${text}".${guess} There is: ${choices.join(', ')}.`);
}

/** Returns the number of characters that have to be changed, added or removed. */
function distance(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const same = one[row - 1] === other[column - 1] ? 0 : 1;
      current.push(Math.min((above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, (above[column - 1] ?? 0) + same));
    }
    above = current;
  }
  return above[other.length] ?? 0;
}

const LONGEST_NAME = 214;
/** Names that npm keeps for itself. */
const RESERVED = ['node_modules', 'favicon.ico'];

/** Throws a UsageError with the rule that a name of a package breaks, as npm has it. */
export function checkName(name: string): void {
  const rule = brokenRule(name);
  if (rule !== undefined) throw new UsageError(`npm does not take "${name}" as the name of a package: ${rule}.`);
}

function brokenRule(name: string): string | undefined {
  if (name === '') return 'it must not be empty';
  if (name.length > LONGEST_NAME) return `it may have at most ${LONGEST_NAME} characters`;
  if (name !== name.toLowerCase()) return `it may have no capital letters, such as "${name.toLowerCase()}"`;
  if (/^[._]/.test(name)) return 'it may not begin with a dot or an underscore';
  if (name.trim() !== name || /\s/.test(name)) return 'it may have no spaces';
  if (RESERVED.includes(name)) return 'npm keeps this name for itself';
  if (/[~'!()*]/.test(name)) return "it may not have any of ~ ' ! ( ) *";
  if (encodeURIComponent(name) !== name) return 'it may only have characters that an address can have: a-z, 0-9, "-", "_", "."';
  return undefined;
}

/** Throws a UsageError if this Node cannot run what a project has. */
export function checkNode(version: string): void {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major >= 24 || (major === 22 && minor >= 18)) return;
  throw new UsageError(
    `Agents need Node 22.18, or 24 and newer, and this is ${version}. With npm: npx --package=node@24 -- npm create longhaul`,
  );
}

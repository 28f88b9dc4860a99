import { UsageError } from '../../core/domain/errors.ts';

/** Returns the name of a definition, or the name that stands for it. Throws a UsageError that begins with `owner` for any other value. */
export function definitionName(
  owner: string,
  noun: 'tool' | 'agent' | 'program',
  definition: { kind: string; name: string } | string,
): string {
  if (typeof definition === 'string') return definition;
  if (definition?.kind === `longhaul.${noun}`) return definition.name;
  const article = noun === 'agent' ? 'an' : 'a';
  const make = `define${noun[0]?.toUpperCase()}${noun.slice(1)}`;
  throw new UsageError(`${owner} is given a value that is not ${article} ${noun}: make it with ${make}, or write its name`);
}

import { createHash } from 'node:crypto';
import { spellingProblem } from '../../src/core/code/language-names.ts';
import type { CodeLanguage } from '../../src/core/domain/code/code-snapshot.ts';

/** A tool of a server that needs a name for an agent. */
export interface UnnamedTool {
  server: string;
  tool: string;
  /** A prefix that the name always gets. */
  prefix?: string | undefined;
}

/** The longest name that providers accept. */
const MAX_LENGTH = 64;
const HASH_LENGTH = 8;

/**
 * Returns the names of the tools, in the same order: the server's own name, in the characters that providers accept; if
 * that is taken, or two tools would have it, `server_tool`; if that is not unique either, the same with a few digits of
 * a hash. The names depend on the set of tools, not on their order. Names in `taken` are not used, and with a `language` none
 * that code in it could not call.
 */
export function nameTools(tools: readonly UnnamedTool[], taken: ReadonlySet<string>, language?: CodeLanguage): string[] {
  const clean = language === undefined ? cleanName : identifier;
  const isUsable = (name: string): boolean => !taken.has(name) && (language === undefined || spellingProblem(name, language) === undefined);
  const shortest = tools.map(({ tool, prefix }) => clean(prefix === undefined ? tool : `${prefix}_${tool}`));
  const withServer = tools.map(({ server, tool }) => clean(`${server}_${tool}`));
  const first = uniqueNames(shortest, isUsable);
  const firstNames = new Set(first.filter((name) => name !== undefined));
  const second = uniqueNames(
    withServer.map((name, index) => (first[index] === undefined ? name : undefined)),
    (name) => isUsable(name) && !firstNames.has(name),
  );
  return tools.map((tool, index) => first[index] ?? second[index] ?? hashed(tool, clean));
}

/** Returns the candidates that are short enough, usable, and unique. */
function uniqueNames(candidates: readonly (string | undefined)[], isUsable: (name: string) => boolean): (string | undefined)[] {
  return candidates.map((name) => {
    if (name === undefined || name === '' || name.length > MAX_LENGTH || !isUsable(name) || name.startsWith('__')) return undefined;
    return candidates.filter((other) => other === name).length === 1 ? name : undefined;
  });
}

function hashed({ server, tool }: UnnamedTool, clean: (name: string) => string): string {
  const hash = createHash('sha256').update(`${server}\0${tool}`).digest('hex').slice(0, HASH_LENGTH);
  return `${clean(`${server}_${tool}`).slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}

/** Replaces the characters that providers refuse. */
function cleanName(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, '_');
}

/** Replaces the characters that code cannot have in a name. */
function identifier(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_]/g, '_').replace(/^(?=[0-9])/, '_');
}

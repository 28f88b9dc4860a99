import { createHash } from 'node:crypto';

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
 * a hash. The names depend on the set of tools, not on their order. Names in `taken` are not used.
 */
export function nameTools(tools: readonly UnnamedTool[], taken: ReadonlySet<string>): string[] {
  const shortest = tools.map(({ tool, prefix }) => clean(prefix === undefined ? tool : `${prefix}_${tool}`));
  const withServer = tools.map(({ server, tool }) => clean(`${server}_${tool}`));
  const first = uniqueNames(shortest, taken);
  const firstNames = new Set(first.filter((name) => name !== undefined));
  const second = uniqueNames(
    withServer.map((name, index) => (first[index] === undefined ? name : undefined)),
    new Set([...taken, ...firstNames]),
  );
  return tools.map((tool, index) => first[index] ?? second[index] ?? hashed(tool));
}

/** Returns the candidates that are short enough, not taken, and unique. */
function uniqueNames(candidates: readonly (string | undefined)[], taken: ReadonlySet<string>): (string | undefined)[] {
  return candidates.map((name) => {
    if (name === undefined || name === '' || name.length > MAX_LENGTH || taken.has(name) || name.startsWith('__')) return undefined;
    return candidates.filter((other) => other === name).length === 1 ? name : undefined;
  });
}

function hashed({ server, tool }: UnnamedTool): string {
  const hash = createHash('sha256').update(`${server}\0${tool}`).digest('hex').slice(0, HASH_LENGTH);
  return `${clean(`${server}_${tool}`).slice(0, MAX_LENGTH - HASH_LENGTH - 1)}_${hash}`;
}

function clean(name: string): string {
  return name.replaceAll(/[^a-zA-Z0-9_-]/g, '_');
}

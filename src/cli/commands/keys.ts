import { existsSync } from 'node:fs';
import { UsageError } from '../../core/domain/errors.ts';
import { defined } from '../../core/domain/json.ts';
import { identityOf } from '../../core/domain/run.ts';
import { isoTime, milliseconds } from '../../core/domain/time.ts';
import { type ApiKey, type ApiKeyStore, createApiKey, fileApiKeys, isValid, parseApiKey } from '../../server/auth/api-keys.ts';
import { actingPrincipal, printList } from '../command.ts';
import type { CommandIo, FlagsOf } from '../define-command.ts';
import { requireFile } from '../input-files.ts';
import { type EntryColumn, entryLines, pointInTime } from '../output.ts';
import type { CREATE_KEY, LIST_KEYS, REVOKE_KEY } from '../run-commands.ts';

/** Creates an API key and prints it: the only time that its secret is shown. Needs no server. */
export async function createKey({ output, terminal }: CommandIo, flags: FlagsOf<typeof CREATE_KEY>): Promise<number> {
  const file = keysFile(flags, terminal.env);
  if (existsSync(file)) requireFile(file, 'The API keys are to be in');
  const principal = reachOf(flags, terminal.env);
  const { key, text } = await createApiKey(fileApiKeys({ file }), {
    name: flags.name,
    scopes: [...new Set(flags.scope)],
    ...defined({ agents: flags.agent }),
    principal,
    ...(flags.expires === undefined ? {} : { expiresAt: Date.now() + milliseconds(flags.expires, '--expires') }),
  });
  output.result({ ...keyJson(key), key: text }, text);
  output.note(`The key "${key.id}" is in "${file}", without its secret: keep the line above now, because it is not shown again.`);
  return 0;
}

/** Returns whose runs the key reaches. Throws a UsageError if that is not said, or said twice. */
function reachOf(flags: FlagsOf<typeof CREATE_KEY>, env: NodeJS.ProcessEnv): ApiKey['principal'] {
  const principal = actingPrincipal(flags, env);
  if (flags.principal === 'all' && principal !== undefined)
    throw new UsageError('"--principal all" is a key for all tenants and users, and a tenant or user is given: leave out one of them');
  if (flags.principal === undefined && principal === undefined)
    throw new UsageError(
      'The key has to say whose runs it reaches: write --tenant and --user, or "--principal all" for the runs of all tenants and users',
    );
  return principal === undefined ? 'all' : identityOf(principal);
}

/** Lists API keys in order of creation: a table, or one JSON object per line. Needs no server. */
export async function listKeys(io: CommandIo, flags: FlagsOf<typeof LIST_KEYS>): Promise<number> {
  const now = Date.now();
  const columns: EntryColumn<ApiKey>[] = [
    { title: 'KEY', of: ({ id }) => id },
    { title: 'NAME', of: ({ name }) => name },
    { title: 'STATE', of: (key) => keyState(key, now) },
    { title: 'SCOPES', of: ({ scopes }) => scopes.join(', ') },
    { title: 'TENANT', of: ({ principal }) => (principal === 'all' ? 'all' : (principal.tenant ?? 'none')) },
    { title: 'USER', of: ({ principal }) => (principal === 'all' ? 'all' : (principal.user ?? 'none')) },
    { title: 'AGENTS', of: ({ agents }) => agents?.join(', ') ?? 'all' },
    { title: 'CREATED', of: ({ createdAt }) => pointInTime(createdAt) },
    { title: 'EXPIRES', of: ({ expiresAt }) => (expiresAt === undefined ? 'never' : pointInTime(expiresAt)) },
  ];
  return printList(io, await existingKeys(keysFile(flags, io.terminal.env)).list(), {
    json: (key) => ({ ...keyJson(key), state: keyState(key, now) }),
    lines: (keys) => entryLines(keys, columns, io.output),
    none: 'No keys.',
  });
}

/** Revokes an API key: servers refuse it from their next request on. Needs no server. */
export async function revokeKey({ output, terminal }: CommandIo, { keyId, ...flags }: FlagsOf<typeof REVOKE_KEY>): Promise<number> {
  const file = keysFile(flags, terminal.env);
  // A leaked key may be given in full. Its secret is not repeated.
  const id = parseApiKey(keyId)?.id ?? keyId;
  if (!(await existingKeys(file).revoke(id, Date.now()))) {
    throw new UsageError(`There is no key "${id}" in "${file}": "npx longhaul keys list" lists all keys`);
  }
  return output.result({ id, revoked: true }, `The key "${id}" is revoked`);
}

/** Returns a key for machines: without the hash of its secret, and with its times in ISO 8601. */
function keyJson({ secretHash: _, createdAt, expiresAt, revokedAt, ...key }: ApiKey): object {
  return {
    ...key,
    createdAt: isoTime(createdAt),
    ...(expiresAt === undefined ? {} : { expiresAt: isoTime(expiresAt) }),
    ...(revokedAt === undefined ? {} : { revokedAt: isoTime(revokedAt) }),
  };
}

/** Returns the state of a key: whether servers accept it, or why not. */
function keyState(key: Pick<ApiKey, 'expiresAt' | 'revokedAt'>, now: number): 'valid' | 'expired' | 'revoked' {
  if (isValid(key, now)) return 'valid';
  return key.revokedAt === undefined ? 'expired' : 'revoked';
}

/** The environment variable that replaces `--file`. */
const FILE_VARIABLE = 'LONGHAUL_KEYS_FILE';

const USUAL_FILE = './longhaul-keys.json';

/** Returns the path of the file with the keys: from `--file`, else from `LONGHAUL_KEYS_FILE`, else in the current folder. */
export function keysFile({ file }: { file?: string }, env: NodeJS.ProcessEnv): string {
  return file ?? (env[FILE_VARIABLE] || USUAL_FILE);
}

/** Opens a file with keys. Throws a UsageError if it does not exist: another file was probably meant. */
function existingKeys(file: string): ApiKeyStore {
  if (!existsSync(file)) throw new UsageError(`There is no file "${file}" with API keys: write --file, or set ${FILE_VARIABLE}`);
  requireFile(file, 'The API keys are to be in');
  return fileApiKeys({ file });
}

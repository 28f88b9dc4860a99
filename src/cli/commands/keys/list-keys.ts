import { printableLine } from '../../../core/domain/text.ts';
import type { ApiKey } from '../../../server/auth/api-keys/api-key.ts';
import type { CommandIo } from '../../program/command.ts';
import { pointInTime } from '../../render/point-in-time.ts';
import { tableLines } from '../../render/table-lines.ts';
import { keyJson, keyState } from './key-facts.ts';
import { existingKeys, keysFile, type KeysFlags } from './keys-file.ts';

const HEADER = ['KEY', 'NAME', 'STATE', 'SCOPES', 'TENANT', 'USER', 'AGENTS', 'CREATED', 'EXPIRES'];

/** Lists API keys in the order of their creation: a table, or one JSON object per line. Needs no server. */
export async function listKeys({ output, terminal }: CommandIo, flags: KeysFlags): Promise<number> {
  const now = Date.now();
  const keys = await existingKeys(keysFile(flags, terminal.env)).list();
  if (output.json) for (const key of keys) output.printJson({ ...keyJson(key), state: keyState(key, now) });
  else if (keys.length === 0) output.note('No keys.');
  else {
    const rows = keys.map((key) => cells(key, now));
    for (const line of tableLines(HEADER, rows, output)) output.print(line);
  }
  return 0;
}

function cells(key: ApiKey, now: number): string[] {
  const { id, name, scopes, principal, agents, createdAt, expiresAt } = key;
  const whose = principal === undefined ? ['all', 'all'] : [principal.tenant ?? 'none', principal.user ?? 'none'];
  return [
    ...[id, name, keyState(key, now), scopes.join(', '), ...whose, agents?.join(', ') ?? 'all'].map(printableLine),
    pointInTime(createdAt),
    expiresAt === undefined ? 'never' : pointInTime(expiresAt),
  ];
}

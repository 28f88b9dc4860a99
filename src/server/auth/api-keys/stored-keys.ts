import { z } from 'zod';
import { LonghaulError, UsageError } from '../../../core/domain/errors/error.ts';
import { SCOPES } from '../caller.ts';
import type { ApiKey } from './api-key.ts';

const VERSION = 1;

const NAME = z.string().min(1).max(200);
const TIME = z.number().int().nonnegative();

const KEY = z.strictObject({
  id: z.string().regex(/^[0-9A-Za-z]+$/),
  secretHash: z.string().regex(/^[0-9a-f]{64}$/),
  name: NAME,
  scopes: z.array(z.enum(SCOPES)),
  agents: z.array(NAME).exactOptional(),
  principal: z.strictObject({ tenant: NAME.exactOptional(), user: NAME.exactOptional() }).exactOptional(),
  createdAt: TIME,
  expiresAt: TIME.exactOptional(),
  revokedAt: TIME.exactOptional(),
});

const FILE = z.strictObject({ version: z.literal(VERSION), keys: z.array(KEY) });

/** Returns the text of a file with these keys. Throws a UsageError for a key that could not be read again. */
export function keysText(keys: readonly ApiKey[]): string {
  const [issue] = FILE.safeParse({ version: VERSION, keys }).error?.issues ?? [];
  if (issue !== undefined) throw new UsageError(`The key is not valid: "${issue.path.slice(2).join('.')}": ${issue.message}`);
  return `${JSON.stringify({ version: VERSION, keys }, undefined, 2)}\n`;
}

/** Reads the keys of a file. Throws `authorization_failed` for any other content: a key that is not understood could have other rights. */
export function parseKeys(text: string, file: string): ApiKey[] {
  const parsed = FILE.safeParse(jsonOf(text));
  if (parsed.success) return parsed.data.keys;
  const [issue] = parsed.error.issues;
  const where = issue === undefined ? '' : ` (${issue.path.join('.')}: ${issue.message})`;
  throw new LonghaulError(
    'authorization_failed',
    `The file "${file}" holds no API keys of this release${where}: use another file, or correct it`,
  );
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

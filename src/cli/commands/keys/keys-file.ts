import { existsSync } from 'node:fs';
import { UsageError } from '../../../core/domain/errors.ts';
import type { ApiKeyStore } from '../../../server/auth/api-keys/api-key-store.ts';
import { fileApiKeys } from '../../../server/auth/api-keys/file-api-keys.ts';
import type { ServerFlags } from '../../program/command.ts';

/** The environment variable that replaces `--file`. */
const FILE_VARIABLE = 'LONGHAUL_KEYS_FILE';

const USUAL_FILE = './longhaul-keys.json';

/** The options of all commands about API keys. */
export interface KeysFlags extends ServerFlags {
  /** The file with the keys. */
  file?: string;
}

/** Returns the path of the file with the keys: from `--file`, else from `LONGHAUL_KEYS_FILE`, else in the current folder. */
export function keysFile({ file }: { file?: string }, env: NodeJS.ProcessEnv): string {
  return file ?? (env[FILE_VARIABLE] || USUAL_FILE);
}

/** Opens a file with keys. Throws a UsageError if there is none: the command is meant for another file. */
export function existingKeys(file: string): ApiKeyStore {
  if (existsSync(file)) return fileApiKeys({ file });
  throw new UsageError(`There is no file "${file}" with API keys: write --file, or set ${FILE_VARIABLE}`);
}

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

let known: string | undefined;

/** Returns the digest of this process's loop code: the loop of a run in the sandbox and the loop of a burst must be the same. */
export function loopDigest(): string {
  return (known ??= digestOf(fileURLToPath(new URL('../../src/core', import.meta.url))));
}

function digestOf(folder: string): string {
  const hash = createHash('sha256');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => /(?<!\.d)\.[jt]s$/.test(path));
  for (const path of files.toSorted()) hash.update(`${path}\n${readFileSync(`${folder}/${path}`, 'utf8')}`);
  return hash.digest('base64url').slice(0, 16);
}

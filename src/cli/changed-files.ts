import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pause } from '../client/waiting.ts';

/** What code is loaded from. */
const CODE = /\.(?:[mc]?[jt]s|json)$/;

/** Folders that hold the code of others, or none. */
const SKIPPED = /^(?:node_modules|\..*)$/;

/** How often files are looked at, in milliseconds. Looking works everywhere, on network drives and in containers too. */
const EVERY_MS = 250;

/** Gives the files of code below the folders that were changed, added or removed, each time there are some, until the signal is aborted. */
export async function* changedFiles(folders: readonly string[], signal: AbortSignal, everyMs = EVERY_MS): AsyncGenerator<string[]> {
  let before = await stamps(folders);
  for (;;) {
    try {
      await pause(everyMs, signal);
    } catch {
      return;
    }
    const now = await stamps(folders);
    const changed = [...new Set([...before.keys(), ...now.keys()])].filter((path) => before.get(path) !== now.get(path));
    before = now;
    if (changed.length > 0) yield changed;
  }
}

/** When each file was written, and how large it is. */
async function stamps(folders: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const look = async (folder: string): Promise<void> => {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    await Promise.all(
      entries.map(async (entry) => {
        const path = join(folder, entry.name);
        if (entry.isDirectory()) return SKIPPED.test(entry.name) ? undefined : look(path);
        if (!CODE.test(entry.name)) return undefined;
        const file = await stat(path).catch(() => undefined);
        if (file !== undefined) found.set(path, `${file.mtimeMs} ${file.size}`);
        return undefined;
      }),
    );
  };
  for (const folder of folders) await look(folder);
  return found;
}

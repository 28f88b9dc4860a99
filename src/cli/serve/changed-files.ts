import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { sleep } from '../../temporal/waiting.ts';

/** Names of files that code is loaded from. */
const CODE = /\.(?:[mc]?[jt]s|json)$/;

/** Folders that are not watched: packages and hidden folders. */
const SKIPPED = /^(?:node_modules|\..*)$/;

/**
 * The interval between two looks at the files, in milliseconds. Polling works everywhere, including network drives
 * and containers.
 */
const EVERY_MS = 250;

/** The number of looks at files that keep changing before the change is reported anyway. */
const MOST_LOOKS = 4;

/**
 * Yields the code files below the folders that were changed, added or removed, each time there are some, until the
 * signal is aborted.
 */
export async function* changedFiles(folders: readonly string[], signal: AbortSignal, everyMs = EVERY_MS): AsyncGenerator<string[]> {
  let before = await stamps(folders);
  const changed = new Set<string>();
  let looks = 0;
  for (;;) {
    try {
      await sleep(everyMs, signal);
    } catch {
      return;
    }
    const now = await stamps(folders);
    const news = [...new Set([...before.keys(), ...now.keys()])].filter((path) => before.get(path) !== now.get(path));
    before = now;
    for (const path of news) changed.add(path);
    if (changed.size === 0) continue;
    looks += 1;
    // Writing often empties a file first, and an editor saves several files: these count as one change.
    if (news.length > 0 && looks < MOST_LOOKS) continue;
    yield [...changed];
    changed.clear();
    looks = 0;
  }
}

/** Returns the modification time and size of each file. */
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

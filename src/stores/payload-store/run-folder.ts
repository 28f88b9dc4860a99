import { createHash, randomUUID } from 'node:crypto';
import { open, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { StoredRun } from './payload-store.ts';

/** The end of the name of a file that is being written. */
const DRAFT = '.draft';

/** Returns the folder of a run below `root`: one folder for each namespace, and in it one for each run. */
export function runFolder(root: string, { namespace, runId }: StoredRun): string {
  return path.join(namespaceFolder(root, namespace), folderName(runId));
}

/** Returns the folder of a namespace below `root`. */
export function namespaceFolder(root: string, namespace: string): string {
  return path.join(root, folderName(namespace));
}

/**
 * Returns a folder name for an id, which may be longer than a file name and hold any character: its readable part,
 * and a digest that tells ids apart.
 */
function folderName(id: string): string {
  const readable = id.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 60);
  return `${readable}.${createHash('sha256').update(id).digest('hex').slice(0, 16)}`;
}

/**
 * Writes a file so that a reader finds it either not at all or complete, even if the machine stops during the write. `mode` has the
 * rights of the file.
 */
export async function writeWhole(file: string, content: Uint8Array | Iterable<string>, { mode }: { mode?: number } = {}): Promise<void> {
  const draft = `${file}.${randomUUID()}${DRAFT}`;
  try {
    const handle = await open(draft, 'wx', mode);
    try {
      await handle.writeFile(content);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } catch (error) {
    // A full disk leaves part of the content. The first error is the one to report.
    await rm(draft, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** Removes the drafts that writers of a file left when they were killed. No writer may be at work. */
export async function removeDrafts(file: string): Promise<void> {
  const folder = path.dirname(file);
  for (const name of await readdir(folder)) {
    if (name.startsWith(`${path.basename(file)}.`) && name.endsWith(DRAFT)) await rm(path.join(folder, name), { force: true });
  }
}

import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { type Identity, identityOf, isSame } from '../../core/domain/run/principal.ts';
import type { StoredRun } from '../payload-store/payload-store.ts';
import { writeWhole } from '../payload-store/run-folder.ts';

/** The run of a folder, and whom it acts for, as a file in the folder says: the name of a folder is not the id. */
export type RunOwner = Pick<StoredRun, 'runId'> & Identity;

const FILE = 'principal.json';

/**
 * Notes whom the run of a folder acts for. What is in there of another principal, whose run had the id before, is removed: the record of one
 * user must not become part of that of another.
 */
export async function noteOwner(folder: string, { runId, tenant, user }: RunOwner): Promise<void> {
  const owner: RunOwner = { runId, ...identityOf({ tenant, user }) };
  const noted = await ownerOf(folder);
  if (noted !== undefined && isSame(noted, owner)) return;
  if (noted !== undefined) for (const name of await readdir(folder)) await rm(path.join(folder, name), { recursive: true, force: true });
  await writeWhole(path.join(folder, FILE), [JSON.stringify(owner)]);
}

/** Returns the run of a folder, and whom it acts for; undefined if the folder does not say. */
export async function ownerOf(folder: string): Promise<RunOwner | undefined> {
  try {
    return JSON.parse(await readFile(path.join(folder, FILE), 'utf8')) as RunOwner;
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return undefined;
    throw error;
  }
}

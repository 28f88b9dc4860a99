import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LonghaulError, memberOf } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
import { ifThere, removeDrafts, writeWhole } from '../stores/payload-store.ts';

/** A process holds the lock during one write. An older lock belongs to a process that was stopped. */
const STALE_MS = 10_000;
const WAIT_MS = 20_000;
const RETRY_MS = 10;

/** The options of the wait for a lock. */
export interface LockOptions {
  waitMs?: number;
  staleMs?: number;
  /** Makes the error of a lock that does not become free. Default: `memory_unavailable`. */
  notFree?: (message: string) => Error;
}

/**
 * Replaces a file with the text from `next`, unless that is undefined, while no other process of this machine does the same: the lock is
 * a file next to it. Takes over the lock of a process that has ended. `mode`: the file mode. Throws a LonghaulError if the lock
 * does not become free.
 */
export async function changeFile(
  file: string,
  next: () => Promise<string | undefined>,
  { mode, ...options }: LockOptions & { mode?: number } = {},
): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  const lock = `${file}.lock`;
  const owner = JSON.stringify({ pid: process.pid, host: hostname(), id: randomUUID() });
  await acquire(lock, owner, options);
  try {
    // The process that left a draft has ended or lost the lock. The draft may hold entries that were forgotten since.
    await removeDrafts(file);
    const text = await next();
    if (text !== undefined) await writeWhole(file, [text], defined({ mode }));
  } finally {
    // A lock that was taken over belongs to another process.
    if ((await ownerOf(lock)) === owner) await rm(lock, { force: true });
  }
}

async function acquire(file: string, owner: string, options: LockOptions): Promise<void> {
  const { waitMs = WAIT_MS, staleMs = STALE_MS, notFree = (message) => new LonghaulError('memory_unavailable', message) } = options;
  const draft = `${file}.${randomUUID()}`;
  // The lock appears together with its owner: a link is created atomically, and never over another file.
  await writeFile(draft, owner, { flag: 'wx' });
  try {
    for (const end = performance.now() + waitMs; !(await isLinked(draft, file)); await sleep(RETRY_MS * (1 + Math.random()))) {
      await removeIfStale(file, staleMs);
      if (performance.now() < end) continue;
      throw notFree(`the lock "${file}" has not become free in ${waitMs} ms: if no process changes the file, delete the lock`);
    }
  } finally {
    await rm(draft, { force: true });
  }
}

async function isLinked(draft: string, file: string): Promise<boolean> {
  try {
    // The age of a lock counts from here, not from the beginning of the wait.
    await utimes(draft, new Date(), new Date());
    await link(draft, file);
    return true;
  } catch (error) {
    if (memberOf(error, 'code') === 'EEXIST') return false;
    throw error;
  }
}

/** Removes a lock whose process has ended. Since another process may do the same, moves it first, and puts a new lock back. */
async function removeIfStale(file: string, staleMs: number): Promise<void> {
  const owner = await ownerOf(file);
  if (owner === undefined || !(hasEnded(owner) || (await isOld(file, staleMs)))) return;
  const moved = `${file}.${randomUUID()}`;
  await ifThere(rename(file, moved));
  // Undefined: the other process has moved it.
  const movedOwner = await ownerOf(moved);
  if (movedOwner !== undefined && movedOwner !== owner) await isLinked(moved, file);
  await rm(moved, { force: true });
}

async function isOld(file: string, ms: number): Promise<boolean> {
  const found = await ifThere(stat(file));
  return found !== undefined && Date.now() - found.mtimeMs > ms;
}

/** True if the owner is a process of this machine that no longer runs. */
function hasEnded(owner: string): boolean {
  try {
    const { pid, host } = JSON.parse(owner) as { pid: number; host: string };
    if (host !== hostname()) return false;
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return memberOf(error, 'code') === 'ESRCH';
  }
}

function ownerOf(file: string): Promise<string | undefined> {
  return ifThere(readFile(file, 'utf8'));
}

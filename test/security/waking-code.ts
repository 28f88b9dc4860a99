import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as passed } from 'node:timers/promises';

/** Milliseconds within which code that can wake itself up would do so. */
const WAIT_MS = 50;

interface FoundProcess {
  pid: number;
  parent: number;
  name: string;
  state: string;
}

/** Explains which interpreters of Python below this process run, though no cell does, with data from the kernel, not the interpreters. */
export async function wakingCodeProblems(): Promise<string[]> {
  await passed(WAIT_MS);
  const all = processes();
  const own = new Set([process.pid]);
  // A child may come before its parent: the list is searched until nothing new is found.
  for (let size = 0; size < own.size;) {
    size = own.size;
    for (const { pid, parent } of all) if (own.has(parent)) own.add(pid);
  }
  const supervisors = new Set(all.filter(({ pid, name }) => own.has(pid) && name === 'python3').map(({ pid }) => pid));
  return all
    .filter(({ parent, state }) => supervisors.has(parent) && !'TZX'.includes(state))
    .map(({ state }) => `its process runs after its end, with the state ${state}`);
}

function processes(): FoundProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const [, name, state, parent] = /^\d+ \((.*)\) (\S) (\d+) /s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
        return name === undefined || state === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), name, state }];
      } catch {
        return [];
      }
    });
}

import { randomInt } from 'node:crypto';
import { lstatSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import type { Program } from '../process/program.ts';
import { MAX_FRAME_LENGTH } from '../quickjs/frames.ts';
import { RUNNER } from './runner/runner.ts';
import { systemCallFilter } from './system-call-filter.ts';

export const BUBBLEWRAP = '/usr/bin/bwrap';
export const PYTHON = '/usr/bin/python3';

/** Users that systemd gives to services for the time that they run: no file belongs to them. */
const FIRST_USER = 61_184;
const LAST_USER = 65_519;

/** Bytes of address space that the interpreter takes itself, before any code. */
const OWN_BYTES = 24 * 1_048_576;
/** Bytes that the runner keeps in reserve, to say that memory ran out. */
const RESERVE_BYTES = 524_288;
/** Files that code may have open, for the modules that it imports. */
const FILES = 24;
const OUT_OF_MEMORY_CODE = 64;
/** Characters of a frame that the supervisor writes itself. */
const FRAME_HEAD_LENGTH = 1_000;

const EXITS: NonNullable<Program['exits']> = {
  [OUT_OF_MEMORY_CODE]: { kind: 'memory', message: 'The code ran out of memory' },
  65: { kind: 'protocol', message: 'The code wrote into the stream of its interpreter, or went on after its end' },
  // The supervisor's timer, as a shell reports its signal.
  142: { kind: 'timeout', message: 'The code used up its time' },
};

const NAMESPACES = '--unshare-user --unshare-pid --unshare-net --unshare-ipc --unshare-uts --unshare-cgroup-try';
const PRIVILEGES = '--disable-userns --hostname code --die-with-parent --new-session --cap-drop ALL --seccomp 3 --info-fd 4';

/** CPython under bubblewrap: no network, no files but the interpreter's, no environment, no capabilities, and no process but the interpreter and its supervisor. */
export function sandboxedPython(): Program {
  return {
    file: BUBBLEWRAP,
    args: [...NAMESPACES.split(' '), ...PRIVILEGES.split(' '), ...files(), ...environment(), '--', PYTHON, '-s', '-S', '-B', '-c', RUNNER],
    env: {},
    cwd: '/',
    // The limit of processes does not count those of root.
    user: process.getuid?.() === 0 ? randomInt(FIRST_USER, LAST_USER + 1) : undefined,
    extraInput: systemCallFilter(),
    settings: {
      ownBytes: OWN_BYTES,
      reserveBytes: RESERVE_BYTES,
      processes: 1,
      files: FILES,
      outOfMemoryCode: OUT_OF_MEMORY_CODE,
      lineLength: MAX_FRAME_LENGTH - FRAME_HEAD_LENGTH,
    },
    exits: EXITS,
    memory: { read: peakMemoryBytes },
  };
}

/** The interpreter and its libraries, in a file system that is otherwise empty and that nothing can be written to. */
function files(): string[] {
  const libraries = ['lib', 'lib32', 'lib64'].flatMap((name) => {
    const [path, inUsr] = [`/${name}`, `/usr/${name}`];
    const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
    return ['--ro-bind-try', inUsr, inUsr, ...(isLink ? ['--symlink', readlinkSync(path), path] : ['--ro-bind-try', path, path])];
  });
  return [...libraries, '--ro-bind', realpathSync(PYTHON), PYTHON, '--remount-ro', '/', '--chdir', '/'];
}

/** The same code makes the same sets in the same order. */
function environment(): string[] {
  return ['--clearenv', '--setenv', 'PYTHONHASHSEED', '0', '--setenv', 'PYTHONUTF8', '1'];
}

/** Processes between the one that bubblewrap reports and the one that runs the code: the supervisor is the first, the code the second. */
const GENERATIONS = 2;

/**
 * Reads from the kernel the most memory that the interpreter of the code has taken, by what bubblewrap wrote about its process. The
 * interpreter itself could say anything. Undefined if the kernel does not tell.
 */
function peakMemoryBytes(info: string): number | undefined {
  try {
    let { 'child-pid': pid } = JSON.parse(info) as { 'child-pid': number };
    for (let generation = 0; generation < GENERATIONS; generation += 1) {
      pid = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim());
    }
    const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1_024;
  } catch {
    return undefined;
  }
}

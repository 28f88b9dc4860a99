import { endianness } from 'node:os';
import { UsageError } from '../../../src/core/domain/errors/error.ts';
import { REFUSED_SYSTEM_CALLS } from './refused-system-calls.ts';

/** The kernel's names of architectures. */
const ARCHITECTURES = { x64: 0xc000_003e, arm64: 0xc000_00b7 } as const;

/** Instructions of the kernel's packet filter, and what a filter of system calls returns. */
const LOAD = 0x20;
const JUMP_IF_EQUAL = 0x15;
const JUMP_IF_AT_LEAST = 0x35;
const RETURN = 0x06;
const ALLOW = 0x7fff_0000;
const FAIL = 0x0005_0000;
const KILL_PROCESS = 0x8000_0000;
const EPERM = 1;
const ENOSYS = 38;
/** Clone with a structure that no filter can read. The C library falls back to clone. */
const CLONE3 = 435;
/** Calls of the 32-bit ABI of x64 have numbers from here on. */
const X32 = 0x4000_0000;

/** Returns the filter of system calls as the kernel takes it. Throws a UsageError for a machine that it cannot be made for. */
export function systemCallFilter(arch: string = process.arch): Uint8Array {
  if ((arch !== 'x64' && arch !== 'arm64') || endianness() !== 'LE') {
    throw new UsageError(`The executor "python" cannot be isolated on a machine of type "${arch}": use x64 or arm64, or custom({...})`);
  }
  const instructions: [code: number, yes: number, no: number, value: number][] = [
    [LOAD, 0, 0, 4],
    [JUMP_IF_EQUAL, 1, 0, ARCHITECTURES[arch]],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD, 0, 0, 0],
    [JUMP_IF_AT_LEAST, 0, 1, X32],
    [RETURN, 0, 0, FAIL | ENOSYS],
    [JUMP_IF_EQUAL, 0, 1, CLONE3],
    [RETURN, 0, 0, FAIL | ENOSYS],
  ];
  for (const numbers of Object.values(REFUSED_SYSTEM_CALLS)) {
    instructions.push([JUMP_IF_EQUAL, 0, 1, numbers[arch]], [RETURN, 0, 0, FAIL | EPERM]);
  }
  instructions.push([RETURN, 0, 0, ALLOW]);
  const filter = Buffer.alloc(instructions.length * 8);
  for (const [index, [code, yes, no, value]] of instructions.entries()) {
    filter.writeUInt16LE(code, index * 8);
    filter.writeUInt8(yes, index * 8 + 2);
    filter.writeUInt8(no, index * 8 + 3);
    filter.writeUInt32LE(value >>> 0, index * 8 + 4);
  }
  return filter;
}

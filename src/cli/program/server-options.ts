import type { ServerFlags } from './command.ts';

/** Returns the options that select the same server, for commands to copy. */
export function serverOptions({ address, namespace, codec }: ServerFlags): string[] {
  return Object.entries({ address, namespace, codec }).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
}

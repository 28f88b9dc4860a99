import { memberOf } from '../../core/domain/errors/thrown.ts';

/** Stands for the address of a socket that has none any more, or never had one: no request of it counts as one of this machine. */
const NO_ADDRESS = 'unknown';

/**
 * Returns the address that a request comes from: of what a runtime passes beside the request, Node's bindings (`incoming.socket`, as
 * `nodeListener` and `@hono/node-server` pass them), that of Deno (`remoteAddr`), that of Bun's server (`requestIP`), or an `address` that
 * was passed by hand. Undefined if the runtime tells nothing.
 */
export function peerAddress(request: Request, environment: unknown): string | undefined {
  const socket = memberOf(memberOf(environment, 'incoming'), 'socket');
  // A peer that breaks its connection at once leaves a socket without an address behind.
  if (socket !== undefined) return textOf(memberOf(socket, 'remoteAddress')) ?? NO_ADDRESS;
  const askBun = memberOf(environment, 'requestIP');
  if (typeof askBun === 'function') return textOf(memberOf(askBun.call(environment, request), 'address')) ?? NO_ADDRESS;
  return textOf(memberOf(environment, 'address')) ?? textOf(memberOf(memberOf(environment, 'remoteAddr'), 'hostname'));
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

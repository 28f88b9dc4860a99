import { isJSONRPCRequest, type JSONRPCMessage, type Transport, type TransportSendOptions } from '@modelcontextprotocol/client';

/** The code of the error that answers a request whose stream has ended: one of those that the protocol leaves to implementations. */
export const STREAM_ENDED = -32_099;

/** The requests that are waited for here. Others, such as the negotiation, are the client's own affair. */
const METHODS = new Set(['tools/call', 'tools/list']);

/**
 * Lets requests fail whose answer cannot come any more. Over HTTP each one is answered on a stream of its own; where that
 * breaks off and cannot be resumed, the client would wait for the answer until the time of the request is up.
 */
export function failAtStreamEnd(transport: Transport): void {
  const send = transport.send.bind(transport);
  transport.send = (message: JSONRPCMessage, options?: TransportSendOptions) => {
    if (!isJSONRPCRequest(message) || !METHODS.has(message.method)) return send(message, options);
    const { id } = message;
    // After an answer nobody waits for this one.
    const onRequestStreamEnd = (): void =>
      transport.onmessage?.({ jsonrpc: '2.0', id, error: { code: STREAM_ENDED, message: 'connection closed' } });
    return send(message, { ...options, onRequestStreamEnd });
  };
}

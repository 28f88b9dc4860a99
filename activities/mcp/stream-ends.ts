import { isJSONRPCRequest, type JSONRPCMessage, type Transport, type TransportSendOptions } from '@modelcontextprotocol/client';

/** The code of the error for a request whose stream has ended, from the range that the protocol leaves to implementations. */
export const STREAM_ENDED = -32_099;

/** The requests that fail when their stream ends. The client handles others, such as the negotiation. */
const METHODS = new Set(['tools/call', 'tools/list']);

/**
 * Fails requests whose answer cannot come any more. Over HTTP each request has its own stream; if that breaks off and
 * cannot be resumed, the client would wait until the request times out.
 */
export function failAtStreamEnd(transport: Transport): void {
  const send = transport.send.bind(transport);
  transport.send = (message: JSONRPCMessage, options?: TransportSendOptions) => {
    if (!isJSONRPCRequest(message) || !METHODS.has(message.method)) return send(message, options);
    const { id } = message;
    // After an answer the client ignores this one.
    const onRequestStreamEnd = (): void =>
      transport.onmessage?.({ jsonrpc: '2.0', id, error: { code: STREAM_ENDED, message: 'connection closed' } });
    return send(message, { ...options, onRequestStreamEnd });
  };
}

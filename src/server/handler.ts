/**
 * Answers a request. Never rejects. `environment` is what the runtime passes beside the request: a service without authentication reads the
 * address of the peer there (`peerAddress`).
 */
export type Handler = (request: Request, environment?: unknown) => Promise<Response>;

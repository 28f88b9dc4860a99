import type { LonghaulClient } from '../client/longhaul-client.ts';
import type { Caller } from './auth/caller.ts';

/** The variables of a request that the routes of all protocols read. They are set before any route is called. */
export interface ServerEnv {
  Bindings: {
    /** The address that the request comes from. Undefined: the runtime does not tell. */
    peer: string | undefined;
    /** True if a response may be a `directText`. */
    allowsDirectText: boolean;
  };
  Variables: {
    caller: Caller;
    /** The client that acts for the caller's principal: every other run is `run_not_found` to it. */
    client: LonghaulClient;
  };
}

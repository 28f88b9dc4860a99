/** The things of the principal that is attacked, as requests name them. */
export interface Victim {
  tenant: string;
  user: string;
  /** A run that waits for a decision on a call. */
  runId: string;
  callId: string;
  digest: string;
  /** Runs that were started with idempotency keys, by the path of the route that is attacked with the key. */
  keyedRuns: Readonly<Record<string, string>>;
  /** A session whose turn waits for a decision. */
  sessionId: string;
  /** A chat of the AI SDK whose turn waits for a decision, and the id of its session. */
  chatId: string;
  chatRunId: string;
}

/** The response that a request must get. */
export interface Expected {
  status: number;
  /** The code of the problem. */
  code?: string;
  /** A text in the body. */
  has?: string;
}

/** One request to a route, and the responses to callers that may send the route requests, but not this one. */
export interface AccessLine {
  /** Distinguishes the requests to one route. */
  as?: string;
  body?: (victim: Victim) => object;
  query?: (victim: Victim) => string;
  headers?: Readonly<Record<string, string>>;
  /** The request has the idempotency key of a run that the principal started. */
  withKey?: true;
  /** The response to a caller of another tenant or user. Default: 404, as for a thing that does not exist. */
  foreign?: Expected;
  /** The same request about a thing that does not exist would make it. */
  makes?: true;
  /** The response to a caller that may start other agents alone. Absent: the route starts none and lists none. */
  agents?: Expected;
  /** The response to a token for another run. Default: 404, or 403 for a request that is about no single run. */
  otherRun?: Expected;
  /** The response to the principal itself. Default: any but 401, 403 and 404. `none`: it would remove what the others need. */
  rightful?: Expected | 'none';
}

/** The code and status of a thing that does not exist for a caller. */
export const UNKNOWN: Expected = { status: 404, code: 'run_not_found' };

/** The code and status of a request that the credentials do not allow. */
export const FORBIDDEN: Expected = { status: 403, code: 'forbidden' };

/** The code and status of a start with an id that is taken, also by another principal. */
export const TAKEN: Expected = { status: 409, code: 'run_exists' };

/** The code and status of a request of the principal itself that uses the key of another one. */
export const REUSED: Expected = { status: 422, code: 'key_reused' };

/** A list that shows nothing of the principal. */
export const NOTHING: Expected = { status: 200 };

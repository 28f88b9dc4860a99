// The names that workflow, activities and clients share. Renaming one breaks the runs that know it.

/** The workflow type of a run of an agent. */
export const AGENT_RUN = 'agentRun';

/** The workflow type of a run of a program. */
export const PROGRAM_RUN = 'programRun';

/** The default task queue of client, worker and CLI. */
export const DEFAULT_TASK_QUEUE = 'longhaul';

/** The keys of the search attributes. */
export const SEARCH_ATTRIBUTES = {
  /** The name of the agent that acts, or of the program. */
  agent: 'LonghaulAgent',
  /** The status of the run. */
  status: 'LonghaulStatus',
  /** What the run waits for: an entry for each tool whose call waits. */
  waitingFor: 'LonghaulWaitingFor',
  /** The tags of the run, an entry for each. */
  tag: 'LonghaulTag',
  /** The agent that a session began with: only sessions have it, and the client sets it when it starts one. */
  session: 'LonghaulSession',
  /** The tenant of the principal. */
  tenant: 'LonghaulTenant',
  /** The user of the principal, hashed if the clients of the namespace do so. */
  user: 'LonghaulUser',
} as const;

/** The types of the search attributes, in the words of the Temporal CLI. */
export const SEARCH_ATTRIBUTE_TYPES = {
  LonghaulAgent: 'Keyword',
  LonghaulStatus: 'Keyword',
  LonghaulWaitingFor: 'KeywordList',
  LonghaulTag: 'KeywordList',
  LonghaulSession: 'Keyword',
  LonghaulTenant: 'Keyword',
  LonghaulUser: 'Keyword',
} as const;

/** The key of the memo that holds the result of a cancelled run, whose close cannot carry one. */
export const RESULT_MEMO = 'longhaulResult';

/** The key of the memo that holds the title of a session, for lists. */
export const TITLE_MEMO = 'longhaulTitle';

/** The names of the queries that a run answers. */
export const QUERIES = {
  status: 'status',
  context: 'context',
  steps: 'steps',
  /** Events and steps in one answer, for readers that follow a run. */
  record: 'record',
  snapshot: 'snapshot',
  approvals: 'approvals',
  trace: 'trace',
  /** Between a run and its own activities: the events that the activity lacks. */
  transcript: 'transcript',
  /** Between a run and its own activities: deps and state. */
  data: 'data',
  /** Between a run and its own activities: the arguments of a call that a decision edited. */
  callArguments: 'callArguments',
  /** Between a run and its own activities: the content of a decision whose approver is being checked. */
  decision: 'decision',
  /** Between a run and its own activities: the calls that hooks review. */
  hookedCalls: 'hookedCalls',
  /** Between a run and its own activities: the result of a call whose hooks are called. */
  hookedResult: 'hookedResult',
  /** Between the run of a program and its own activities: outputs, a failure, an edited prompt. */
  stepValues: 'stepValues',
  /** Between a run and its own activities: the result, before the workflow closes. */
  result: 'result',
  /** Between a run and its own activities: the cells that made the namespace of its code. */
  journal: 'journal',
  /** Between a run and a child that a tool call has started: the input and the deps of the child. */
  childInput: 'childInput',
  turn: 'turn',
  /** Between a run and its own burst: the state that it begins with, and why the run waits for its end. */
  burst: 'burst',
} as const;

/**
 * The beginning of the error message of a query that the caller should send again: its worker has loaded the run together with
 * events that no workflow task has handled yet. The server passes on nothing of an error but its message.
 */
export const ASK_AGAIN = 'Ask again';

/** The names of the Updates that a run accepts. */
export const UPDATES = {
  approve: 'approve',
  reject: 'reject',
  respond: 'respond',
  revoke: 'revoke',
  send: 'send',
  raise: 'raise',
  pause: 'pause',
  resume: 'resume',
  setPermissions: 'setPermissions',
  interrupt: 'interrupt',
  close: 'close',
  refresh: 'refresh',
  reset: 'reset',
} as const;

/** The names of the Signals that a run accepts, for callers that can only signal. */
export const SIGNALS = {
  approve: 'approve',
  reject: 'reject',
  respond: 'respond',
  send: 'send',
  pause: 'pause',
  resume: 'resume',
  raise: 'raise',
  cancel: 'cancel',
  cancelReason: 'cancelReason',
  notifyOnEnd: 'notifyOnEnd',
  childEnded: 'childEnded',
  childWaiting: 'childWaiting',
  pausedByParent: 'pausedByParent',
  startedAgain: 'startedAgain',
  nextTurn: 'nextTurn',
  interrupt: 'interrupt',
  close: 'close',
} as const;

/** The type of the workflow that collects calls into batches, and the names of its Signal and its queries. */
export const BATCH_COLLECTOR = 'batchCollector';
export const COLLECTOR_SIGNALS = { register: 'register' } as const;
export const COLLECTOR_QUERIES = { batch: 'batch', calls: 'calls' } as const;

/**
 * Returns the workflow id of a collector. Calls register with the first one that has room. Each task queue has separate ones, because
 * its workers alone have the agents.
 */
export function collectorId(provider: string, number: number, taskQueue: string): string {
  return ['longhaul-batch', provider, ...(taskQueue === DEFAULT_TASK_QUEUE ? [] : [taskQueue]), number].join('/');
}

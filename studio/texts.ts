// All English texts of the page.

/** Returns a number as people read it: the formats of the browser take longer to make than the rest of a page. */
export const digits = (number: number): string =>
  Number.isSafeInteger(number) ? String(number).replaceAll(/\B(?=(?:\d{3})+$)/g, ',') : number.toLocaleString('en');

const count = (number: number, one: string, many = `${one}s`): string => `${digits(number)} ${number === 1 ? one : many}`;

const DECIDED = { approve: 'approved', reject: 'rejected', respond: 'answered' } as const;

const REQUESTS: Readonly<Record<string, string>> = {
  approve: 'An approval',
  reject: 'A rejection',
  respond: 'An answer',
  send: 'A message',
  cancel: 'A cancellation',
};

const GUARDED: Readonly<Record<string, string>> = { input: 'the request', output: 'the answer', tool_call: 'the call' };

/** The facts of the record, in words. */
const NOTES = {
  refused: ({ request, by, code, message }: { request: string; by?: string; code: string; message: string }) =>
    `${REQUESTS[request] ?? `“${request}”`}${by === undefined ? '' : ` of ${by}`} was refused (${code}): ${message}`,
  raised: (limits: string) => `Limits were raised: ${limits}`,
  permissions: (mode: string | undefined, rules: string[]) => `Permissions were set: ${[`mode ${mode ?? 'default'}`, ...rules].join('; ')}`,
  guardrail: ({ name = '', type = '', outcome, message = '', callId }: GuardrailFinding) => {
    const blocks = outcome === 'tripped' || outcome === 'failed';
    const subject = `${GUARDED[type] ?? 'it'}${callId === undefined ? '' : ` ${callId}`}`;
    return `Guardrail “${name}” ${blocks ? 'blocked' : 'let pass'} ${subject}: ${message}`;
  },
  noFindings: 'Guardrails asked a model, and found nothing.',
  remembers: (entries: number) => `${count(entries, 'entry', 'entries')} from the memory.`,
  noMemory: (why: string) => `The memory was not available: ${why}`,
  failed: (code: string) => `The model call failed: ${code}`,
  compaction: ({ evicted = [], summarized, dropped = [] }: { evicted?: unknown[]; summarized?: unknown; dropped?: unknown[] }) =>
    `The window was made smaller: ${[
      ...(summarized === undefined ? [] : ['earlier events were summarized']),
      ...(evicted.length === 0 ? [] : [`${count(evicted.length, 'result')} taken out`]),
      ...(dropped.length === 0 ? [] : [`${count(dropped.length, 'memory entry', 'memory entries')} dropped`]),
    ].join(', ')}`,
  turn: (number: number, ended: string) => `Turn ${number} ended: ${ended}`,
  cleared: 'The conversation was emptied.',
  title: (title: string) => `The session has a title: ${title}`,
  resolved: 'The agent was resolved again.',
  notResolved: (code: string, message: string) => `The agent could not be resolved again, and stays as it was (${code}): ${message}`,
  interrupted: 'The answer was interrupted.',
  notice: (message: string) => `Notice: ${message}`,
  changed: (changes: string[]) => `Deps and state changed: ${changes.join(', ')}`,
  bytes: (bytes: number) => count(bytes, 'byte'),
  program: ({ at, kind, type, attempt, status, reason, child, error }: ProgramNote) => {
    const below = child === undefined ? '' : ` (run ${child})`;
    const problem = error?.message ?? reason;
    const why = problem === undefined ? '' : `: ${problem}`;
    if (type === 'start') return `${at} begins: ${kind}${below}`;
    if (type === 'attempt') return `${at}, attempt ${attempt ?? 1}${below}${why}`;
    return `${at} ${status ?? 'completed'}${why}`;
  },
  decision: ({ type, by, reason, remember, source }: DecisionNote, subject: string, isEdited: boolean) =>
    [
      `${by ?? (source === 'deadline' ? 'The deadline' : 'Somebody')} ${DECIDED[type]} ${subject}`,
      isEdited ? ' with other arguments' : '',
      reason === undefined || reason === '' ? '' : `: ${reason}`,
      remember === undefined ? '' : remember === 'tool' ? ' (for every call of the tool)' : ' (for calls with equal arguments)',
      source === 'remembered' ? ' (as remembered)' : '',
    ].join(''),
  moreLimits: (limits: string | undefined) => `more for the run${limits === undefined ? '' : `: ${limits}`}`,
};

interface GuardrailFinding {
  name?: string;
  type?: string;
  outcome?: string;
  message?: string;
  callId?: string;
}

/** The beginning of what a worker says of a model call that the limits of its provider hold back: it has not failed. */
const NOT_SENT = 'Not sent yet: ';

/** The limits of a run in words, by their names. */
const LIMITS: Readonly<Record<string, (amount: string) => string>> = {
  steps: (amount) => `${amount} steps`,
  toolCalls: (amount) => `${amount} tool calls`,
  inputTokens: (amount) => `${amount} input tokens`,
  outputTokens: (amount) => `${amount} output tokens`,
  totalTokens: (amount) => `${amount} tokens`,
  costUsd: (amount) => `$${amount}`,
  deadlineMs: (amount) => `a deadline ${amount} after the start`,
};

/** What a program has noted about a step, as far as the page reads it. */
export interface ProgramNote {
  at: string;
  kind: string;
  type: string;
  attempt?: number;
  status?: string;
  reason?: string;
  child?: string;
  error?: { message: string };
}

interface DecisionNote {
  type: keyof typeof DECIDED;
  by: string | null;
  source: string;
  reason?: string;
  remember?: string;
}

export const TEXTS = {
  notes: NOTES,
  limits: LIMITS,
  callsOf: (calls: number, tool: string) => `${count(calls, 'call')} of ${tool}`,
  decided: DECIDED,
  title: 'Longhaul Studio',
  skip: 'Skip to the content',
  nav: 'Pages',
  runs: 'Runs',
  inbox: 'Inbox',
  playground: 'Playground',
  agents: 'Agents',
  loading: 'Loading …',
  again: 'Try again',
  next: 'More',
  temporal: 'Temporal UI',
  caller: (id: string, namespace: string) => `${id} · ${namespace}`,
  connection: {
    lost: 'The service does not answer. The page tries again by itself; what you see may be old.',
    withoutTemporal: 'The service has lost its Temporal server. The page tries again by itself; what you see may be old.',
  },
  outdated: 'The service seems to have another version than this page, parts of which may be missing.',
  reload: 'Load the page again',
  notFound: 'There is no such page.',
  onlyRun: 'Your token opens only one run:',
  problem: (code: string) => `Problem: ${code}`,
  failed: 'That did not work',

  // Text of others
  hiddenCharacter: (code: string) => `Hidden character ${code}`,
  mixedScripts: (scripts: string) => `⟨mixes ${scripts}⟩`,
  otherForms: 'look-alike forms',
  moreCharacters: (left: number) => `… +${digits(left)} characters`,
  showMore: (more: number, all: number) => `Show ${digits(more)} more of ${digits(all)} characters`,
  noArguments: 'No arguments.',

  // Key
  keyTitle: 'This service asks who you are',
  keyHelp:
    'Paste an API key or a token. It stays in the memory of this tab, is sent only to this service, and is never part of an address.',
  keyLabel: 'API key or token',
  keepKey: 'Keep it until this tab is closed, also when the page is loaded again',
  useKey: 'Continue',
  forgetKey: 'Forget the key',
  keyRefused: 'The service has refused these credentials.',
  logIn: (host: string) => `Log in at ${host}`,
  loginFailed: 'The service names no address at which people log in.',
  loginNeedsHttps: 'A log-in needs a page that was loaded by https, or from this machine: ask the operator, or use an API key.',
  loginNotBegun: 'This tab has not begun that log-in. Begin it again.',
  loginRefused: (why: string) => `The issuer has not let you in${why === '' ? '.' : `: ${why}`}`,

  // Runs
  filters: 'Filters',
  agent: 'Agent',
  anyAgent: 'Any agent',
  status: 'Status',
  anyStatus: 'Any status',
  user: 'User',
  tenant: 'Tenant',
  tag: 'Tag',
  order: 'Order',
  waitingOnly: 'Waiting only',
  clear: 'Clear filters',
  counted: (total: number) => count(total, 'run'),
  columns: {
    agent: 'Agent',
    status: 'Status',
    waiting: 'Waits for',
    user: 'Tenant / user',
    started: 'Started',
    steps: 'Steps',
    tokens: 'Tokens',
    cost: 'Cost',
    duration: 'Duration',
  },
  sorts: {
    started: 'Ongoing first, then the last to end',
    duration: 'Longest first',
    tokens: 'Most tokens first',
    cost: 'Most expensive first',
  },
  noRuns: 'No runs yet. Start one: talk to an agent in the playground, or use “longhaul start”.',
  noRunsFound: 'No run fits these filters.',
  cut: 'More runs match than the service has put in order.',
  program: 'program',

  // A run
  run: 'Run',
  steps: 'Steps',
  stepList: 'All steps',
  step: (number: number) => `Step ${number}`,
  request: 'Request',
  linkTo: (number: number) => `Link to step ${number}`,
  noSuchStep: (number: number) => `The run has no step ${digits(number)} so far.`,
  requestOf: (number: number) => `Request of step ${number}`,
  search: 'Search in the run',
  found: (hits: number, all: number) => `${digits(hits)} of ${count(all, 'entry', 'entries')}`,
  given: 'given at the start',
  live: 'The model is answering',
  reasoning: 'Reasoning',
  arguments: 'Arguments',
  proposed: 'Proposed by the model',
  ranWith: 'Ran with other arguments',
  decidedEdited: 'approved, edited',
  result: 'Result',
  error: 'Error',
  attempts: (attempts: number) => `${attempts} attempts`,
  failedAttempt: (attempt: number, message: string) => `Attempt ${attempt} failed: ${message}`,
  details: 'Everything recorded about this call',
  hooks: 'Hooks',
  schema: 'Schema of the arguments',
  noResult: 'No result yet.',
  noResultAtEnd: 'No result: the run ended before.',
  waitsForDecision: 'Waits for a decision.',
  noteToModel: 'Note to the model',
  spilled: (bytes: number) => `The whole result has ${digits(bytes)} bytes.`,
  readWhole: 'Read it whole',
  child: 'Child run',
  openChild: 'Show it here',
  hideChild: 'Hide it',
  byCode: 'called by code',
  /** By the reason in the record. */
  notRun: {
    refused: 'did not run: refused',
    answered: 'did not run: answered by a person',
    unknown: 'did not run: no such tool',
    invalid: 'did not run: invalid arguments',
    not_started: 'was not started',
  } as Record<string, string>,
  sources: (number: number) => count(number, 'source'),
  handoff: (agent: string) => `Handed over to ${agent}`,
  final: 'final attempt',
  interrupted: 'interrupted',
  answeredBy: (model: string) => `by ${model}`,
  time: 'Where the time went',
  timeKinds: {
    model: 'model',
    tool: 'tools',
    person: 'people',
    child: 'children',
    own: 'own work',
    task: 'workflow tasks',
    queue: 'queue',
    retry: 'retries',
  },
  noTime: 'Nothing has begun so far.',
  timePartial: 'of the part that is read so far',
  readOn: 'Read on',
  chart: 'Tokens and cost by step',
  chartText: (tokens: string, cost: string, most: string) => `${tokens} in this run, ${cost}; ${most} has the most`,
  theStep: (number: number) => `step ${digits(number)}`,
  tokens: (tokens: number) => count(tokens, 'token'),
  noCost: 'cost unknown',
  tree: (runs: number) => `with ${count(runs - 1, 'run')} below`,
  requestedAt: 'Requested',
  version: 'Version of the tool',
  category: 'Category',
  callId: 'Call',
  output: 'Answer',
  partialOutput: 'What it had so far',
  noOutput: 'It has ended without an answer.',
  emptyOutput: 'The answer is empty.',
  ended: 'Ended',
  endedAfter: (length: string) => `, after ${length}`,
  endings: {
    cancelled: (reason: string | undefined) =>
      reason === undefined ? 'It was cancelled, without a reason.' : `It was cancelled. Reason: ${reason}`,
    closed: 'The session was closed.',
    limit: (limits: string) => `It has reached its limit: ${limits}.`,
    deadline: (length: string | undefined) =>
      `Its deadline has passed${length === undefined ? '' : `, ${length} after its start`}. What ran then was abandoned.`,
    guardrail: (name: string, subject: string, message: string) => `Guardrail “${name}” blocked ${subject}: ${message}`,
    failed: (code: string | undefined, message: string) => `${message}${code === undefined ? '' : ` (${code})`}`,
    failedWithout: 'It failed, and recorded no message.',
    notArchived: (from: number, through: number, message: string) =>
      `Events ${digits(from)} to ${digits(through)} are not in the archive: ${message}`,
  },
  subjects: GUARDED,
  outside: { run_terminated: 'terminated', run_timed_out: 'timed out' } as Readonly<Record<string, string>>,
  waitsNow: 'What it waits for',
  nows: {
    paused: 'It is paused: it continues when somebody resumes it.',
    idle: 'It waits for the next message.',
    decision: (tools: string) => `It waits for a decision: ${tools}.`,
    below: (runs: number) => `${count(runs, 'run')} below ${runs === 1 ? 'waits' : 'wait'} for a decision.`,
    noWorker:
      'No worker has begun it. It waits on the server, for as long as it takes, until a worker polls its task queue: “longhaul doctor” says which queues are polled.',
    worker: (why: string, queue: string, since: string) =>
      ({
        no_worker: `No worker polls the task queue “${queue}”: it waits since ${since} until one does.`,
        no_build: `No worker of the task queue “${queue}” has the build that it needs: it waits since ${since}. “longhaul doctor” says what to do.`,
        failing: `A workflow task fails again and again since ${since}: the Temporal UI shows why.`,
      })[why] ?? `The workers of the task queue “${queue}” have not taken its task since ${since}: they are busy, or have ended.`,
    refused: (what: string, times: number, code: string) =>
      `${what}: the provider has refused ${times === 1 ? 'it once' : `it ${digits(times)} times`} (${code})`,
    tried: (when: string) => `it is tried again at ${when}`,
    givesUp: (when: string) => `given up at ${when}`,
    batch: (what: string, collector: string, since: string, batch: number | undefined) =>
      `${what} waits since ${since} for ${batch === undefined ? `a batch of “${collector}”, which is not full yet` : `batch ${batch} of “${collector}”`}.`,
    attempt: (what: string, attempt: number, failure: string | undefined) =>
      `${what}: attempt ${digits(attempt)}${failure === undefined ? '' : failure.startsWith(NOT_SENT) ? `. ${failure}` : `. The attempt before failed: ${failure}`}`,
    progress: (what: string, progress: string) => `${what}: ${progress}`,
    postponed: (tool: string, reason: string, until: string) => `A call of ${tool} waits until ${until}: ${reason}.`,
    waitsUntil: (reason: string, until: string) => `Waits until ${until}: ${reason}.`,
    queued: (messages: number) => `${count(messages, 'message')} ${messages === 1 ? 'waits' : 'wait'} to be read.`,
    missing: (kind: string, name: string, until: string) => `No worker has had ${kind} “${name}” so far: it waits for one until ${until}.`,
    archiving: (since: string) => `Its events are being stored in the archive, since ${since}.`,
    names: {
      callModel: 'The model call',
      askStep: 'The model call',
      summarize: 'The summary',
      useMemory: 'The memory',
      archiveEvents: 'The archive',
      notifyWaiting: 'The notice of what waits',
      notifyEnded: 'The notice of the end',
    } as Readonly<Record<string, string>>,
    activity: (name: string) => `The call of ${name}`,
  },
  removed: 'The server has removed the history of this run.',
  unreadable: 'This service cannot decode the run: it lacks the key or the codec of the workers.',
  noSteps: 'Nothing is recorded yet.',
  // A run that goes on, or has ended well, may have made up for it.
  lastError: 'The last error',

  // Controls
  controls: 'Controls',
  send: 'Send',
  message: 'Message',
  mode: 'When the model reads it',
  modes: { queue: 'after this step', steer: 'before the next model call', interrupt: 'now, interrupting the model' },
  pause: 'Pause',
  resume: 'Resume',
  raise: 'Raise limits',
  permissions: 'Permissions',
  permissionsHelp: 'Rules as JSON: {"allow": [], "ask": [], "deny": []}',
  cancel: 'Cancel the run',
  retry: 'Retry',
  reason: 'Reason',
  fromStep: 'From step',
  retryHelp: 'Makes the model call of this step again, and continues from there. Without a number: of the last step.',
  retryProgram: 'Begins the newest execution of the program again: what executions before it have done stays.',
  maxSteps: 'Steps',
  maxTokens: 'Tokens',
  maxCost: 'Cost in US dollars',
  confirmCancel: 'Yes, cancel it',
  apply: 'Apply',
  receipts: {
    sent: (position: string) => `Accepted${position}`,
    beforeStep: (step: number) => `: the model reads it before step ${step}`,
    turn: (turn: number) => `: turn ${turn} answers it`,
    paused: 'The run pauses after its current step.',
    resumed: 'The run continues.',
    raised: (limits: string) => `Limits that hold now: ${limits}.`,
    permissions: 'The permissions are set.',
    cancelled: 'The run has been asked to end.',
    alreadyEnded: 'The run had ended already.',
    begunAgain: 'The program begins again.',
    retried: (step: number, dropped: number) => `The run continues from step ${step}; ${count(dropped, 'message')} dropped.`,
  },

  // Request
  unknown: 'Not in the record, and therefore missing here',
  system: 'Instructions',
  conversation: 'Conversation',
  callOf: 'call of',
  resultOf: 'result of',
  tools: 'Tools offered',
  toolCalls: 'Tool calls',
  settings: 'Settings',
  wire: 'As sent',
  rebuilt: 'As the worker builds it',
  difference: 'Difference from the previous step',
  lines: 'Line by line',
  noBefore: 'The first step has no step before it.',
  noChange: 'Nothing but the conversation has changed.',
  diffParts: {
    added: 'Added',
    evicted: 'Content taken out',
    summarized: 'No longer in the conversation',
    recalled: 'Recalled from the memory',
  },
  changed: 'Also changed',
  prefix: (tokens: number, all: number) =>
    `Both begin with about ${digits(tokens)} of ${digits(all)} tokens: that is what a prompt cache can use.`,
  copyCurl: 'Copy as curl',
  copyNeedsHttps: 'Browsers copy from pages that were loaded by https, or from this machine. Select the body below instead.',
  copied: 'Copied. The key is not in it: set API_KEY, and BASE_URL or ORIGIN.',
  noWire: 'The service does not know the provider, so the body is not shown as it goes over the wire.',
  before: 'Previous step',
  after: 'Next step',

  // Inbox
  nothingWaits: 'Nothing waits for a decision.',
  waits: (number: number) => `${count(number, 'decision')} waiting`,
  /** After the number. */
  waitingDecisions: (number: number) => (number === 1 ? 'decision waiting' : 'decisions waiting'),
  waitsAtLeast: (number: number) => `More than ${count(number, 'decision')} waiting: these are some of them.`,
  nth: (place: number, of: number) => `${place} of ${of}`,
  why: 'Why it asks',
  said: 'What the model said before',
  asked: 'What the user asked',
  below: 'below',
  deadline: (when: string, then: string) => `Without a decision, it is ${then} ${when}.`,
  deadlineActions: { approve: 'approved', reject: 'rejected' },
  approve: 'Approve',
  approveEdited: 'Approve as edited',
  edit: 'Edit',
  stopEditing: 'Do not edit',
  reject: 'Reject',
  rejectNow: 'Reject with this reason',
  respond: 'Answer',
  remember: 'Remember for this run',
  rememberNot: 'only this call',
  rememberTool: 'every call of the tool',
  rememberArguments: 'calls with equal arguments',
  readFirst: 'Show all of the arguments first: you decide about all of them.',
  changedMeanwhile: 'It has changed meanwhile, and nothing was decided. This is how it is now.',
  decidedMeanwhile: 'Somebody has decided it meanwhile.',
  mayNotDecide: 'Your credentials do not allow decisions.',
  since: (when: string) => `asked ${when}`,
  now: 'now',
  due: (when: string) => `due ${when}`,
  keys: 'Keys: j and k move, a approves, e edits, r rejects, ? shows this.',
  keyList: [
    ['j, k', 'the next, the one before'],
    ['a', 'approve what is shown'],
    ['e', 'edit the arguments, or leave the form'],
    ['r', 'reject, with a reason'],
    ['Esc', 'leave the form'],
    ['?', 'this list'],
  ] as const,
  readNext: 'This is the next one: read it, and press the key again.',
  untaken: 'Your decision was not taken:',
  perhapsTaken: 'It is not known whether your decision was taken: look at the run.',
  hide: 'Hide',
  higherLimit: 'a higher limit',
  limitAsked: 'The run has reached a limit, and wants to continue. Approve to raise it to:',
  outcomeAsked: 'The answer of this call was lost. Approve to make it again.',
  readAgain: 'Read it, and press the key again.',
  notThere: 'The decision that was shown here no longer waits: somebody has made it, or its run has ended.',

  // Forms
  addItem: 'Add',
  removeItem: (name: string) => `Remove ${name}`,
  asJson: 'JSON',
  notSet: '(not set)',
  invalidJson: (why: string) => `This is not JSON: ${why}`,
  hiddenInField: 'Has hidden characters:',

  // Playground
  chooseAgent: 'Talk to an agent',
  noSuchAgent: (name: string) => `This service lists no agent ${name}. Choose another one.`,
  noAgents: 'This service lists no agents. Give it some: longhaul serve --agents.',
  say: 'Say something',
  attach: 'Attach a file',
  attached: (name: string) => `Attached: ${name}`,
  detach: 'Remove the file',
  tooLarge: 'The file is larger than 500 kB.',
  deps: 'Deps of the session',
  newChat: 'New chat',
  you: 'You',
  asItHappens: 'Each step of the agent appears here as it happens, with its calls and their results.',
  sayFirst: 'Nothing is said yet.',
  sayHelp: 'Enter sends, Shift and Enter begin a new line.',
  mayNotTalk: 'Your credentials do not allow talking to agents.',
  thinking: 'is working …',
  openRun: 'Open the run',

  // Agents
  models: 'Models',
  handoffs: 'Hands over to',
  below2: 'Agents below',
  mcp: 'MCP servers',
  programs: 'Programs',
  graph: 'Graph',
  graphOf: (nodes: number) => count(nodes, 'node'),
  trace: 'How a run went',
  talk: 'Talk to it',
  approval: 'asks',
  unit: 'unit',
  flow: (kind: string) => `${kind} flow`,
  stepCount: (steps: number) => count(steps, 'step'),
  breaches: (breaches: number) => count(breaches, 'breach', 'breaches'),
  handoffNode: 'by handoff',
  toolNode: 'as a tool',
  flowNode: 'in its flow',
};

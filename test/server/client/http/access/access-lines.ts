import { type AccessLine, type Expected, FORBIDDEN, NOTHING, REUSED, TAKEN, type Victim } from './access-line.ts';

/** A list shows nothing of others, and is not requested for another principal. */
const LIST: readonly AccessLine[] = [
  { foreign: NOTHING },
  {
    as: 'of the principal',
    query: ({ tenant, user }) => `?tenant=${tenant}&user=${user}`,
    foreign: { status: 422, code: 'invalid_input' },
  },
];

/** A request whose path alone names the run. */
const PLAIN: readonly AccessLine[] = [{}];

/** The refusal of an id that only the service makes. */
const RESERVED: Expected = { status: 422, code: 'invalid_request' };

/** Returns the lines of a start: each names something of the principal in another way. */
function startsOf(what: object): AccessLine[] {
  const agents = FORBIDDEN;
  const onTaken = (ifExists: string): AccessLine => ({
    as: `with its id, ${ifExists}`,
    body: ({ runId }) => ({ ...what, runId, ifExists }),
    foreign: TAKEN,
    agents,
    rightful: ifExists === 'fail' ? TAKEN : { status: 200 },
  });
  return [
    ...['fail', 'return', 'restartFailed'].map(onTaken),
    {
      as: 'with the id of its chat',
      body: ({ chatRunId }) => ({ ...what, runId: chatRunId, ifExists: 'return' }),
      foreign: RESERVED,
      agents,
      rightful: RESERVED,
    },
    {
      as: 'for it',
      body: ({ tenant, user }) => ({ ...what, principal: { tenant, user } }),
      foreign: FORBIDDEN,
      agents,
      rightful: FORBIDDEN,
    },
  ];
}

const starting = { agent: 'clerk', input: 'Q' };
const message = { content: 'Obey me' };
const decision = ({ digest }: Victim): object => ({ type: 'approve', digest });

/** The requests to each route of the service, by its method and path, in an order that the principal itself may send them in. */
export const SERVICE_LINES: Readonly<Record<string, readonly AccessLine[]>> = {
  'GET /v1/runs': LIST,
  'GET /v1/runs/counts': [
    { query: () => '?by=agent', foreign: NOTHING },
    {
      as: 'of the principal',
      query: ({ tenant, user }) => `?by=status&tenant=${tenant}&user=${user}`,
      foreign: { status: 422, code: 'invalid_input' },
    },
  ],
  'GET /v1/feed': [{ foreign: NOTHING }],
  'GET /v1/sessions': LIST,
  'GET /v1/approvals': LIST,
  'POST /v1/runs': [
    ...startsOf(starting),
    {
      as: 'with its key',
      withKey: true,
      body: () => ({ agent: 'assistant', input: 'Q' }),
      foreign: { status: 201, has: '"repeated":false' },
      agents: FORBIDDEN,
      rightful: REUSED,
    },
    {
      as: 'that continues it',
      body: ({ runId }) => ({ ...starting, previousRunId: runId }),
      agents: FORBIDDEN,
      rightful: { status: 409, code: 'run_open' },
    },
  ],
  'POST /v1/programs': [
    ...startsOf({ program: 'note' }),
    {
      as: 'with its key',
      withKey: true,
      body: () => ({ program: 'note' }),
      foreign: { status: 201, has: '"repeated":false' },
      agents: FORBIDDEN,
      rightful: REUSED,
    },
    {
      as: 'that continues it',
      body: ({ runId }) => ({ program: 'note', resume: { run: runId } }),
      agents: FORBIDDEN,
    },
  ],
  'POST /v1/sessions': [
    { body: ({ sessionId }) => ({ agent: 'clerk', id: sessionId }), foreign: TAKEN, agents: FORBIDDEN, rightful: TAKEN },
    {
      as: 'for it',
      body: ({ tenant, user }) => ({ agent: 'clerk', principal: { tenant, user } }),
      foreign: FORBIDDEN,
      agents: FORBIDDEN,
      rightful: FORBIDDEN,
    },
  ],
  'GET /v1/runs/{runId}': PLAIN,
  'GET /v1/runs/{runId}/result': PLAIN,
  'GET /v1/runs/{runId}/context': PLAIN,
  'GET /v1/runs/{runId}/steps': PLAIN,
  'GET /v1/runs/{runId}/trace': PLAIN,
  'GET /v1/runs/{runId}/tree': PLAIN,
  'GET /v1/runs/{runId}/timeline': PLAIN,
  'GET /v1/runs/{runId}/snapshot': PLAIN,
  'GET /v1/runs/{runId}/calls/{callId}': PLAIN,
  'GET /v1/runs/{runId}/steps/{step}/request': PLAIN,
  'GET /v1/runs/{runId}/events': PLAIN,
  'GET /v1/runs/{runId}/tree/events': PLAIN,
  'GET /v1/runs/{runId}/export': PLAIN,
  'GET /v1/runs/{runId}/save': PLAIN,
  'GET /v1/runs/{runId}/spilled/{sha256}': [{ rightful: { status: 404, code: 'spilled_not_found' } }],
  'GET /v1/runs/{runId}/files/{sha256}': [{ rightful: { status: 404, code: 'spilled_not_found' } }],
  'GET /v1/runs/{runId}/approvals': PLAIN,
  'GET /v1/runs/{runId}/stream': PLAIN,
  'GET /v1/sessions/{sessionId}': PLAIN,
  'GET /v1/sessions/{sessionId}/save': PLAIN,
  'GET /v1/sessions/{sessionId}/stream': PLAIN,
  'GET /v1/sessions/{sessionId}/turns/{turn}': PLAIN,
  'GET /v1/sessions/{sessionId}/turns': PLAIN,
  'GET /v1/programs': [{ foreign: NOTHING, agents: { status: 200, has: '{"programs":[]}' } }],
  'GET /v1/programs/{program}': [{ foreign: NOTHING, agents: { status: 404, code: 'program_not_found' } }],
  'GET /v1/me': [{ foreign: NOTHING, agents: NOTHING, otherRun: { status: 200, has: '"runId":"another-run"' } }],
  'GET /v1/agents': [{ foreign: NOTHING, agents: { status: 200, has: '{"agents":[]}' } }],
  'GET /v1/tools': [{ foreign: NOTHING, agents: { status: 200, has: '{"tools":[]}' } }],
  'GET /v1/agents/{agent}': [{ foreign: NOTHING, agents: { status: 404, code: 'agent_not_found' } }],
  'POST /v1/tokens': [{ body: ({ runId }) => ({ runId }) }],
  'POST /v1/runs/{runId}/messages': [{ body: () => message }],
  'POST /v1/runs/{runId}/limits': [{ body: () => ({ limits: { steps: 500 } }) }],
  'PUT /v1/runs/{runId}/permissions': [{ body: () => ({ permissions: { allow: ['*'] } }) }],
  'POST /v1/runs/{runId}/pause': PLAIN,
  'POST /v1/runs/{runId}/resume': PLAIN,
  'DELETE /v1/runs/{runId}/remembered/{decisionId}': PLAIN,
  'POST /v1/runs/{runId}/approvals/{callId}': [
    { body: decision },
    { as: 'through its own run', body: (victim) => ({ ...decision(victim), runId: victim.runId }) },
  ],
  'POST /v1/sessions/{sessionId}/messages': [
    { body: () => message },
    { as: 'with an agent', body: () => ({ ...message, agent: 'clerk' }), makes: true, agents: FORBIDDEN },
  ],
  'POST /v1/sessions/{sessionId}/ask': [
    { body: () => message, query: () => '?wait=1ms' },
    { as: 'with an agent', body: () => ({ ...message, agent: 'clerk' }), query: () => '?wait=1ms', makes: true, agents: FORBIDDEN },
  ],
  'POST /v1/sessions/{sessionId}/limits': [{ body: () => ({ limits: { turns: 500 } }) }],
  'POST /v1/sessions/{sessionId}/interrupt': PLAIN,
  'POST /v1/sessions/{sessionId}/reset': PLAIN,
  'POST /v1/sessions/{sessionId}/refresh': PLAIN,
  'POST /v1/sessions/{sessionId}/close': PLAIN,
};

/** The requests that end the run, or remove what the others need. */
export const LAST_LINES: Readonly<Record<string, readonly AccessLine[]>> = {
  'POST /v1/responses/{runId}/cancel': PLAIN,
  'POST /v1/runs/{runId}/cancel': PLAIN,
  'POST /v1/runs/{runId}/retry': [{ agents: FORBIDDEN }],
  'DELETE /v1/runs/{runId}': PLAIN,
  'DELETE /v1/users/{user}': [
    { query: ({ tenant }) => `?tenant=${tenant}&without=archive`, foreign: { status: 422, code: 'invalid_input' }, rightful: 'none' },
  ],
};

import { readFileSync } from 'node:fs';
import { Client, Connection } from '@temporalio/client';
import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { verifyCallActivity } from '../../activities/tool-calls/run-tool.ts';
import { LonghaulClient } from '../../src/client/index.ts';
import { defineAgent, defineGuardrail, defineHook, defineTool } from '../../src/index.ts';
import { createHandler, type HandlerOptions, jwt } from '../../src/server/index.ts';
import { approve, callTool, say, scriptedModel, testAgent } from '../../src/testing/index.ts';
import { activityEnvironment } from '../activities/activity-environment.ts';
import { bearing, fakeIssuer } from '../server-http/auth/fake-credentials.ts';

/** A mistake in what a function of the user returns, and where its author reads of it. */
interface Mistake {
  /** What the function returns, with the misspelt field. */
  returned: object;
  misspelt: string;
  meant: string;
  /** Returns the text that the author of the function gets. */
  told: (returned: never) => Promise<string>;
}

const agentWith = (options: object) => defineAgent({ name: 'clerk', model: 'scripted/m', ...options });

const refund = (options: object) =>
  defineTool({ name: 'refund', description: 'Refunds', parameters: z.object({ amount: z.number() }), execute: () => 'paid', ...options });

const refunding = () => scriptedModel([callTool('refund', { amount: 5 }), say('Done.')]);

/** Everything that is recorded of a run. */
async function recordOf(testing: ReturnType<typeof testAgent>): Promise<string> {
  const { result, events } = await testing;
  return JSON.stringify({ result, events });
}

async function thrownBy(work: Promise<unknown>): Promise<string> {
  return work.then(
    (value) => `no error, and ${JSON.stringify(value)}`,
    (error: unknown) => String(error),
  );
}

/** What a service logs about a request to a chat. */
async function logged(options: HandlerOptions, headers: Record<string, string> = {}): Promise<string> {
  const errors: unknown[] = [];
  const client = new LonghaulClient(new Client({ connection: Connection.lazy({ address: '127.0.0.1:1' }) }));
  const caller = { id: 'ada', principal: 'all', scopes: ['runs:read', 'runs:write'] } as const;
  const handler = createHandler(client, { authenticate: () => caller, onError: (error) => void errors.push(error), ...options });
  const { status } = await handler(new Request('http://localhost/v1/agents/clerk/chat/c1', { headers }));
  return `${status} ${errors.map(String).join('\n')}`;
}

const chats = async (returned: object): Promise<string> => logged({ agents: [agentWith({})], chats: () => returned });

const approval = async (returned: never): Promise<string> => {
  let reason = '';
  const decide = (waiting: { reason?: string }) => {
    reason = waiting.reason ?? '';
    return approve();
  };
  await testAgent(agentWith({ tools: [refund({ approval: () => returned })] }), { input: 'Go', model: refunding(), decide });
  return reason;
};

const guardrail =
  (options: object) =>
  async (returned: never): Promise<string> => {
    const check = defineGuardrail({ name: 'polite', type: 'output', check: () => returned, ...options });
    const { result, events } = await testAgent(agentWith({ guardrails: [check] }), { input: 'Go', model: scriptedModel([say('Hi.')]) });
    // Neither passes: the answer of the run is withheld.
    return result.stopReason === 'guardrail' ? JSON.stringify(events) : `ended by ${result.stopReason}`;
  };

const hook = async (returned: never): Promise<string> => {
  const hooks = [defineHook({ name: 'watch', on: 'pre_tool_use', run: () => returned })];
  return recordOf(testAgent(agentWith({ hooks, tools: [refund({})] }), { input: 'Go', model: refunding() }));
};

/** The failure of the activity, as the Temporal UI shows it: a run only says that the outcome is unknown. */
const verify = async (returned: never): Promise<string> => {
  const agents = [agentWith({ tools: [refund({ effect: 'once', verify: () => returned })] })];
  const { run, runtime } = activityEnvironment({ agents, info: { activityType: 'verifyCall' } });
  const call = { agentName: 'clerk', tool: 'refund', callId: 'c1', step: 1, at: [1, 0] as [number, number], eventId: 'e1' };
  return thrownBy(run(verifyCallActivity(runtime), { ...call, arguments: { amount: 5 }, timeoutMs: 60_000 }));
};

const authorize = async (returned: never): Promise<string> => {
  const refused: string[] = [];
  const decide = (waiting: { refused?: { message: string } }) => {
    refused.push(waiting.refused?.message ?? '');
    return refused.length > 1 ? undefined : approve();
  };
  const agent = agentWith({ tools: [refund({ approval: { deadline: '1h' } })] });
  await testAgent(agent, { input: 'Go', model: refunding(), decide, authorize: () => returned });
  return refused.join('\n');
};

const decide = async (returned: never): Promise<string> =>
  thrownBy(testAgent(agentWith({ tools: [refund({ approval: 'always' })] }), { input: 'Go', model: refunding(), decide: () => returned }));

const rights = async (returned: never): Promise<string> => {
  const issuer = await fakeIssuer('https://issuer.example/');
  const authenticate = jwt({ issuer: 'https://issuer.example/', audience: 'longhaul', keys: issuer.keys, rights: () => returned });
  return logged({ authenticate }, Object.fromEntries(bearing(await issuer.token({})).headers));
};

const model = async (returned: never): Promise<string> => {
  const client = { capabilities: {}, call: async () => returned };
  return recordOf(testAgent(agentWith({}), { input: 'Go', model: client }));
};

const CALLER = { id: 'ada', principal: 'all', scopes: ['runs:read'] };
const ANSWER = { content: 'Hi.', toolCalls: [], usage: null, finishReason: 'stop' };

/** The types that functions of users return, each with mistakes that the compiler cannot see: it checks no fields of what is returned. */
const MISTAKES: Record<string, Mistake[]> = {
  ApprovalAnswer: [
    { returned: { reason: 'x', deadlin: '1h' }, misspelt: 'deadlin', meant: 'deadline', told: approval },
    { returned: { reason: 'x', onDeadlines: 'approve' }, misspelt: 'onDeadlines', meant: 'onDeadline', told: approval },
  ],
  GuardrailAnswer: [
    { returned: { passed: true, mesage: 'x' }, misspelt: 'mesage', meant: 'message', told: guardrail({}) },
    { returned: { passed: false, message: 'x', trip: false }, misspelt: 'trip', meant: 'trips', told: guardrail({}) },
    { returned: { passed: false, message: 'x', trip: false }, misspelt: 'trip', meant: 'trips', told: guardrail({ failOpen: true }) },
  ],
  HookAnswer: [
    { returned: { modfy: {} }, misspelt: 'modfy', meant: 'modify', told: hook },
    { returned: { deny: 'no', injct: 'x' }, misspelt: 'injct', meant: 'inject', told: hook },
  ],
  VerifiedOutcome: [{ returned: { happened: true, reslt: 'paid' }, misspelt: 'reslt', meant: 'result', told: verify }],
  AuthorizeAnswer: [{ returned: { as: 'ada', refused: 'no' }, misspelt: 'refused', meant: 'refuse', told: authorize }],
  TestDecision: [
    { returned: { type: 'approve', argments: { amount: 1 } }, misspelt: 'argments', meant: 'arguments', told: decide },
    { returned: { type: 'reject', reson: 'no' }, misspelt: 'reson', meant: 'reason', told: decide },
    { returned: { type: 'respond', content: 1, bye: 'ada' }, misspelt: 'bye', meant: 'by', told: decide },
    { returned: { typ: 'approve' }, misspelt: 'typ', meant: 'approve()', told: decide },
  ],
  Caller: [
    {
      returned: { ...CALLER, agent: ['clerk'] },
      misspelt: 'agent',
      meant: 'agents',
      told: async (returned) => logged({ authenticate: () => returned }),
    },
    {
      returned: { ...CALLER, principal: { tenent: 'acme', user: 'ada' } },
      misspelt: 'tenent',
      meant: 'tenant',
      told: async (returned) => logged({ authenticate: async () => returned }),
    },
  ],
  JwtRights: [
    { returned: { ...CALLER, agent: ['clerk'] }, misspelt: 'agent', meant: 'agents', told: rights },
    { returned: { ...CALLER, principal: { usr: 'ada' } }, misspelt: 'usr', meant: 'user', told: rights },
  ],
  ChatSessionOptions: [
    { returned: { limits: {}, titel: 'x' }, misspelt: 'titel', meant: 'title', told: chats },
    { returned: { limits: { turns: 3, totalToken: 3 } }, misspelt: 'totalToken', meant: 'totalTokens', told: chats },
    { returned: { turnLimits: { steps: 3, totalToken: 3 } }, misspelt: 'totalToken', meant: 'totalTokens', told: chats },
    { returned: { settings: { temprature: 1 } }, misspelt: 'temprature', meant: 'temperature', told: chats },
  ],
  ModelResponse: [{ returned: { ...ANSWER, usge: null }, misspelt: 'usge', meant: 'usage', told: model }],
};

/** The other types in the place of an answer of a function, and why the table has none of their fields. */
const WITHOUT_FIELDS: Record<string, string> = {
  // What a field may be is not known, or there are none.
  JsonObject: 'the names are of the user',
  Value: 'the value is of the user',
  Result: 'the value is of the user',
  McpEffect: 'a text, which the compiler checks',
  ToolCaller: 'a text, which the compiler checks',
  GivenKey: 'a text, or made by secret()',
  EncryptionKey: 'bytes',
  Iterable: 'a list',
  Executor: 'an object with methods, whose class may have more; its methods are checked',
  AiSdkModel: 'made by a package of the AI SDK',
  AiSdkBatch: 'made by a package of the AI SDK',
  Response: 'a class of the web',
  ServedHealth: 'everything but `ready` is only shown, and `ready` must be there',
};

/** Functions that users call, or types that the compiler computes with: no user writes what they return. */
const NOT_OF_USERS = [
  'longhaul: AllArguments',
  'longhaul: AllOf',
  'longhaul: HookContext',
  'longhaul: ReadEvents',
  'longhaul: RunResult',
  'longhaul/client: TurnResult',
  'longhaul/worker: NewBatch',
  'longhaul/worker: PrometheusMetrics',
  'longhaul/worker: Telemetry',
  'longhaul/worker: TelemetryOptions',
  'Api',
  'RunFeeds',
  'WithData',
];

describe.each(Object.entries(MISTAKES))('a function that returns %s', (_, mistakes) => {
  it.each(mistakes)('is told about $misspelt in $returned', async ({ returned, misspelt, meant, told }) => {
    const text = await told(returned as never);
    expect(text).toContain(misspelt);
    expect(text.replaceAll(String.raw`\"`, '"')).toMatch(
      meant === 'approve()' ? /return approve\(\)/ : new RegExp(`Did you mean "${meant}"`),
    );
  });
});

test('every type that a function of users returns is in the table', () => {
  const report = readFileSync(new URL('../../api/longhaul.api.md', import.meta.url), 'utf8');
  const returned = new Set(['ModelResponse']);
  for (const [, name = '', code = ''] of report.matchAll(/^### (.*)\n\n```ts\n([^]*?)^```/gm)) {
    if (NOT_OF_USERS.includes(name)) continue;
    for (const [, type = ''] of code.matchAll(/=> ([^;]*);/g)) for (const [one] of type.matchAll(/\b[A-Z]\w*/g)) returned.add(one);
  }
  for (const wrapper of ['Promise', 'PromiseLike']) returned.delete(wrapper);
  expect([...returned].toSorted()).toEqual([...Object.keys(MISTAKES), ...Object.keys(WITHOUT_FIELDS)].toSorted());
});

test('a chat takes no option that decides whose session it is, and no promise', async () => {
  expect(await chats({ user: 'bob' })).toContain('unknown field "user"');
  expect(await chats(Promise.resolve({ limits: { turns: 1 } }))).toContain('no promise');
});

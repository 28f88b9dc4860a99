import { expect, test } from 'vitest';
import { z } from 'zod';
import { callModelActivity } from '../../../activities/model-calls/call-model.ts';
import { withWorkerFailover } from '../../../activities/attempts/checked-activity.ts';
import type { ApprovalPredicate } from '../../../src/define/approvals.ts';
import type { AnyAgent } from '../../../src/define/agent-definition.ts';
import type { RunContext } from '../../../src/define/context.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import type { RecordedResponse } from '../../../src/core/domain/model.ts';
import { QUERIES } from '../../../src/core/protocol.ts';
import { callTool, say, scriptedModel, type ScriptedReply, together } from '../../../src/testing/index.ts';
import { snapshotOf } from '../../fakes/snapshot.ts';
import { activityEnvironment, type ActivityEnvironment } from '../activity-environment.ts';

const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  parameters: z.object({ amount: z.number() }),
  approval: 'always',
  execute: () => 'paid',
});

const look = defineTool({ name: 'look', description: 'Looks', parameters: z.object({}), execute: () => 'seen' });

type Mail = { to: string };

/** A tool with an approval predicate. Parsing turns its addresses into lower case, unless it `keeps` them. */
function mailThat(approval: ApprovalPredicate<Mail, { limit: number }>, { keeps = false } = {}): AnyAgent {
  const address = keeps ? z.string() : z.string().toLowerCase();
  const parameters = z.object({ to: address.refine((to) => to.includes('@')) });
  const mail = defineTool({
    name: 'mail',
    description: 'Mails',
    parameters,
    approval,
    execute: (_, __: RunContext<{ limit: number }>) => 'sent',
  });
  return defineAgent({
    name: 'clerk',
    model: 'scripted/m',
    deps: z.object({ limit: z.number().default(9) }),
    tools: [mail, pay, look],
  });
}

interface Response {
  response: RecordedResponse;
  environment: ActivityEnvironment;
}

/** Returns the record that the activity makes of a reply. `pinned` is the agent that the run began with, if the worker's differs. */
async function respond(agent: AnyAgent, reply: ScriptedReply, options: { pinned?: AnyAgent; final?: true } = {}): Promise<Response> {
  const { pinned = agent, final } = options;
  const data = { deps: {}, state: { seen: true } };
  const environment = activityEnvironment({ agents: [agent], model: scriptedModel([reply]), answers: { [QUERIES.data]: data } });
  const snapshot = snapshotOf(pinned);
  environment.runtime.snapshots.add(snapshot);
  const input = { agent: snapshot.digest, through: 1, lastEventId: 'e0', ...(final ? { final } : {}) };
  const output = await environment.run(callModelActivity(environment.runtime), input);
  if (output.type !== 'response') throw new Error('the call was aborted');
  return { response: output.response, environment };
}

const never = mailThat(() => false);

test('calls of a tool that always needs approval get a digest of name and arguments, and other calls no entry', async () => {
  const calls = together(callTool('pay', { amount: 1 }, 'a'), callTool('pay', { amount: 1 }, 'b'), callTool('pay', { amount: 2 }, 'c'));
  const { response, environment } = await respond(never, together(calls, callTool('look', {}, 'd')));
  const { a, b, c, ...others } = response.approvals ?? {};
  expect(a).toEqual({ digest: expect.stringMatching(/^[\w-]{22}$/) as string });
  expect(b).toEqual(a);
  expect(c?.digest).not.toBe(a?.digest);
  expect(others).toEqual({});
  expect(environment.asked.map(([query]) => query)).not.toContain(QUERIES.data);
});

test('a response without such calls has no entries for approvals', async () => {
  expect((await respond(never, say('done'))).response).not.toHaveProperty('approvals');
  expect((await respond(never, callTool('look'))).response).not.toHaveProperty('approvals');
});

test('a call id that is also a member of every object is an id like any other', async () => {
  const { response } = await respond(never, together(callTool('pay', { amount: 1 }, '__proto__'), callTool('look', {}, 'constructor')));
  expect(Object.keys(response.approvals ?? {})).toEqual(['__proto__']);
});

test('a call that must not run needs no decision', async () => {
  const { response } = await respond(never, callTool('pay', { amount: 'much' }, 'a'));
  expect(response.problems).toHaveProperty('a');
  expect(response).not.toHaveProperty('approvals');
});

test('the final attempt runs no tools, so it needs no decisions', async () => {
  expect((await respond(never, callTool('pay', { amount: 1 }), { final: true })).response).not.toHaveProperty('approvals');
});

test('a predicate gets the parsed arguments, the deps with defaults, and the state; deps are read once for all calls', async () => {
  const seen: unknown[] = [];
  const agent = mailThat((args, { deps, state, agent: name, runId, callId }) => {
    seen.push({ args, deps, state, agent: name, runId, callId });
    return args.to.startsWith('a') && { reason: 'a stranger', deadline: '1h', onDeadline: 'approve' };
  });
  const { response, environment } = await respond(
    agent,
    together(callTool('mail', { to: 'A@x' }, 'a'), callTool('mail', { to: 'b@x' }, 'b')),
  );
  const common = { deps: { limit: 9 }, state: { seen: true }, agent: 'clerk', runId: 'run-1' };
  expect(seen).toEqual([
    { ...common, args: { to: 'a@x' }, callId: 'a' },
    { ...common, args: { to: 'b@x' }, callId: 'b' },
  ]);
  expect(response.approvals).toEqual({
    a: { digest: expect.any(String) as string, reason: 'a stranger', deadlineMs: 3_600_000, onDeadline: 'approve' },
  });
  expect(environment.asked.filter(([query]) => query === QUERIES.data)).toHaveLength(1);
});

const strange: ApprovalPredicate<Mail, { limit: number }> = () => JSON.parse('"perhaps"');

test.each([
  ['throws', mailThat(() => expect.fail('no idea')), { to: 'a@x' }, /could not be told: no idea/],
  ['returns an invalid answer', mailThat(strange), { to: 'a@x' }, /could not be told: .*"perhaps"/],
  ['is given arguments that its schema refuses', mailThat(() => false, { keeps: true }), { to: 'nobody' }, /arguments do not fit/],
])('a call whose predicate %s needs a decision', async (_, agent, args, reason) => {
  const { response } = await respond(agent, callTool('mail', args, 'a'));
  expect(response.approvals).toEqual({ a: { digest: expect.any(String) as string, reason: expect.stringMatching(reason) as string } });
});

test('if this worker lacks a tool with a predicate, the run goes to another worker before the model is called', async () => {
  const other = defineAgent({ name: 'clerk', model: 'scripted/m' });
  await expect(respond(other, callTool('mail', { to: 'a@x' }, 'a'), { pinned: never })).rejects.toMatchObject({ type: 'unknown_tool' });
});

test('a call whose arguments a schema refuses that may change them is an error: nobody could say what it would run with', async () => {
  const { response } = await respond(never, callTool('mail', { to: 'nobody' }, 'a'));
  expect(response).toMatchObject({ problems: { a: expect.stringContaining("Invalid arguments for 'mail'") as string } });
  expect(response).not.toHaveProperty('approvals');
});

test('if no worker has a tool in time whose schema may change arguments, its call is an error', async () => {
  const { first } = await respondWithout(never);
  expect(first).toMatchObject({ response: { problems: { a: expect.stringContaining('this one lacks the tool') as string } } });
});

/** Returns the record of a call of a pinned agent's tool that no worker has had in time, and of the same call after that. */
async function respondWithout(pinned: AnyAgent): Promise<{ first: unknown; later: unknown }> {
  const other = defineAgent({ name: 'clerk', model: 'scripted/m' });
  const model = scriptedModel([callTool('mail', { to: 'a@x' }, 'a')], { repeatLast: true });
  const environment = activityEnvironment({
    agents: [other],
    model,
    info: { scheduledTimestampMs: 0, currentAttemptScheduledTimestampMs: 5_000 },
  });
  const snapshot = snapshotOf(pinned);
  environment.runtime.snapshots.add(snapshot);
  const callModel = withWorkerFailover(environment.runtime, callModelActivity(environment.runtime));
  const input = { agent: snapshot.digest, through: 1, lastEventId: 'e0' };
  const first = await environment.run(callModel, { ...input, awaitsWorker: { forMs: 5_000, attempts: 8 } });
  return { first, later: await environment.run(callModel, input) };
}

test('if no worker has the predicate in time, the call needs a decision, and the run does not wait for it again', async () => {
  const needsOne = { response: { approvals: { a: { reason: expect.stringContaining('lacks the predicate') as string } } } };
  const { first, later } = await respondWithout(mailThat(() => false, { keeps: true }));
  expect(first).toMatchObject(needsOne);
  expect(later).toMatchObject(needsOne);
});

test('if a later build has removed the predicate, the call needs a decision, and no other worker is needed', async () => {
  const plain = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [{ ...pay, name: 'mail' }] });
  const { response } = await respond(plain, callTool('mail', { to: 'a@x' }, 'a'), { pinned: mailThat(() => false, { keeps: true }) });
  expect(response.approvals?.['a']?.reason).toContain('lacks the predicate');
});

test('a tool that no longer needs approval still needs it in runs that began when it did', async () => {
  const other = defineAgent({
    name: 'clerk',
    model: 'scripted/m',
    tools: [
      { ...pay, approval: { when: () => false } },
      { ...pay, name: 'mail' },
    ],
  });
  const { response } = await respond(other, callTool('pay', { amount: 1 }, 'a'), { pinned: never });
  expect(Object.keys(response.approvals ?? {})).toEqual(['a']);
});

test('if the run does not answer with its deps, its call needs a decision, and the model is not called again', async () => {
  const model = scriptedModel([callTool('mail', { to: 'a@x' }, 'a')]);
  const environment = activityEnvironment({ agents: [never], model });
  const snapshot = snapshotOf(never);
  environment.runtime.snapshots.add(snapshot);
  const output = await environment.run(callModelActivity(environment.runtime), { agent: snapshot.digest, through: 1, lastEventId: 'e0' });
  expect(output).toMatchObject({ response: { approvals: { a: { reason: expect.stringContaining('could not be told') as string } } } });
});

test('after the run is cancelled, a predicate that never answers is not waited for: the answer of the model is kept', async () => {
  const asked = Promise.withResolvers<void>();
  const agent = mailThat(() => {
    asked.resolve();
    return new Promise(() => undefined);
  });
  const environment = activityEnvironment({
    agents: [agent],
    model: scriptedModel([callTool('mail', { to: 'a@x' }, 'a')]),
    answers: { [QUERIES.data]: { deps: {}, state: {} } },
  });
  const snapshot = snapshotOf(agent);
  environment.runtime.snapshots.add(snapshot);
  const output = environment.run(callModelActivity(environment.runtime), { agent: snapshot.digest, through: 1, lastEventId: 'e0' });
  await asked.promise;
  environment.cancel();
  expect(await output).toMatchObject({ type: 'response', response: { content: [{ toolCallId: 'a' }], approvals: { a: {} } } });
});

test('a long reason is cut', async () => {
  const { response } = await respond(
    mailThat(() => ({ reason: 'x'.repeat(100_000) })),
    callTool('mail', { to: 'a@x' }, 'a'),
  );
  expect(response.approvals?.['a']?.reason?.length).toBeLessThan(600);
});

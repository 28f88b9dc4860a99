import { describe, expect, it, test } from 'vitest';
import type { RunLimits } from '../../../src/core/domain/limits.ts';
import { refreshRequest } from '../../../src/core/activity-requests/agent-requests.ts';
import { call, called, said } from '../loop/fakes/fake-ports.ts';
import { testSnapshot, testTool } from '../loop/fakes/snapshot.ts';
import { type FakeSession, runFakeSession, type SessionCaller } from './fake-session.ts';

const tools = [testTool('look')];
const limits: RunLimits = { steps: 2, finalAttempt: false, totalTokens: 1_000, toolCallsByName: { look: 3 } };
let ids = 0;

const says: SessionCaller = ({ update }) => update('send', { id: `m${(ids += 1)}`, content: 'Go' });
const raises =
  (raised: object): SessionCaller =>
  ({ update }) =>
    update('raise', { id: `r${(ids += 1)}`, limits: raised });

/** Answers, and notes the limits of the turn. */
function noting(seen: RunLimits[]): (session: FakeSession) => ReturnType<typeof said> {
  return ({ state }) => {
    seen.push(state.limits);
    return said('A');
  };
}

describe('a limit that is raised', () => {
  it('during a turn holds for that turn', async () => {
    const looks = (session: FakeSession) => {
      raises({ steps: 3 })(session);
      return called(call('c1', 'look'));
    };
    const { state } = await runFakeSession({
      snapshot: testSnapshot({ tools, limits }),
      model: [looks, called(call('c2', 'look')), said('A'), called(call('c3', 'look')), called(call('c4', 'look'))],
      callers: [says, says],
    });
    expect(state.turns).toMatchObject([
      { status: 'completed', stepsUsed: 3, limits: { steps: 3 } },
      { status: 'max_iterations_reached', stepsUsed: 2, limits: { steps: 2 } },
    ]);
  });

  it.each([[false], [true]])('between two turns holds for the next one (the session continues as new: %s)', async (continues) => {
    const seen: RunLimits[] = [];
    await runFakeSession({
      terms: { refresh: 'never' },
      snapshot: testSnapshot({ tools, limits }),
      model: [noting(seen), noting(seen), noting(seen)],
      callers: [says, raises({ totalTokens: 2_000 }), says, says],
      continues,
    });
    expect(seen.map(({ totalTokens }) => totalTokens)).toEqual([1_000, 2_000, 1_000]);
  });

  it('stays as high for its turn if the agent is resolved again, and the other limits are those of the new agent', async () => {
    const seen: RunLimits[] = [];
    const next: RunLimits = { steps: 5, finalAttempt: false, totalTokens: 1_500, costUsd: 2, toolCallsByName: { look: 1 } };
    const { state } = await runFakeSession({
      snapshot: testSnapshot({ tools, limits }),
      model: [noting(seen), noting(seen), noting(seen)],
      callers: [
        says,
        raises({ totalTokens: 2_000, steps: 3, toolCallsByName: { look: 4 } }),
        (session) => {
          session.update('refresh', {});
          says(session);
        },
        says,
      ],
      refreshed: [testSnapshot({ digest: 'next', tools, limits: next })],
    });
    expect(seen).toEqual([limits, { ...next, totalTokens: 2_000, toolCallsByName: { look: 4 } }, next]);
    expect(state.limits).toEqual(next);
  });
});

test('the agent is resolved again with the limits of the start, and not with those that it has at the moment', async () => {
  const { state } = await runFakeSession({ snapshot: testSnapshot({ limits: { ...limits, costUsd: 1 } }), model: [], callers: [] });
  const { snapshot } = state;
  const inputOf = (overrides: object, terms: object = {}) => {
    const session = { ...state.session, ...terms, overrides };
    return refreshRequest({ runId: 'talk', snapshot, state: { ...state, session } }).input;
  };
  expect(inputOf({})).not.toHaveProperty('limits');
  expect(inputOf({ limits: { steps: 7, costUsd: 3 } })).toMatchObject({ limits: { steps: 7, costUsd: 3 } });
  expect(inputOf({})).not.toHaveProperty('priced');
  expect(inputOf({}, { limits: { costUsd: 5 } })).toMatchObject({ priced: true });
});

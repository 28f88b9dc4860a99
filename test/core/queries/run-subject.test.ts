import { expect, test } from 'vitest';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import type { RunOpening } from '../../../src/core/domain/run-input.ts';
import { utf8Length } from '../../../src/core/domain/text.ts';
import { fromContinueAsNewState, toContinueAsNewState } from '../../../src/core/kernel/continue-as-new.ts';
import { newRunState, recordEvent, type RunState } from '../../../src/core/kernel/run-state.ts';
import { runSubject } from '../../../src/core/queries/run-views.ts';
import { beginSession, openAs } from '../../../src/core/sessions/open-session.ts';
import { testSnapshot } from '../loop/fakes/snapshot.ts';

let ids = 0;
const clock = { now: () => 0, uuid: () => `e${(ids += 1)}` };

function stateOf(opening: RunOpening, snapshot = testSnapshot()): RunState {
  return newRunState({ runId: 'r', snapshot, startedAt: 0, ...opening }, clock);
}

const said = (content: string): ContentItem => ({ type: 'message', role: 'user', content });
const answered = (content: string): ContentItem => ({ type: 'message', role: 'assistant', content });

/** The run continues: the model answers, and the user says something else. */
function steered(state: RunState): RunState {
  recordEvent(state, clock, { author: 'a', content: [answered('I look.')] });
  recordEvent(state, clock, { author: 'user', content: [said('Only order 42')] });
  return state;
}

function continued(state: RunState): RunState {
  const options = { executions: 1, inbox: { messages: [], seen: [], paused: false } };
  const position = { type: 'call_model' as const, step: 1, purpose: 'think' as const };
  return fromContinueAsNewState(toContinueAsNewState(state, position as never, options)).state;
}

const earlier = [said('Hello'), answered('Hi'), said('And then?'), answered('Nothing.')];

test.each<[string, RunState, string]>([
  ['its input', stateOf({ input: 'Refund order 42' }), 'Refund order 42'],
  ['its input, also once it was steered', steered(stateOf({ input: 'Refund order 42' })), 'Refund order 42'],
  ['its input, also in the next execution', continued(steered(stateOf({ input: 'Refund order 42' }))), 'Refund order 42'],
  ['its input, after the conversation that it was given', steered(stateOf({ input: 'Now?', messages: earlier })), 'Now?'],
  ['the last message of that conversation, without an input', steered(stateOf({ messages: earlier.slice(0, 3) })), 'And then?'],
  [
    'the texts of an input with media',
    stateOf({
      input: [
        { type: 'text', text: 'What is this?' },
        { type: 'image', url: 'http://x/y' },
      ],
    }),
    'What is this? [Image]',
  ],
])('the question of a run is %s', (_, state, question) => {
  expect(runSubject('clerk', state)).toEqual({ agentName: 'clerk', question });
});

test('the question of a session is its newest message, and its title is shown with it', () => {
  const state = steered(stateOf({ input: 'Refund order 42' }));
  openAs(state, beginSession({ title: 'A lamp' }, { startedAt: 0, opens: false, overrides: {} }));
  expect(runSubject('clerk', state)).toEqual({ agentName: 'clerk', title: 'A lamp', question: 'Only order 42' });
});

test('the question of a program is its input', () => {
  const state = stateOf({ messages: [] });
  state.program = { input: { order: 42 } } as unknown as NonNullable<RunState['program']>;
  expect(runSubject('triage', state)).toEqual({ agentName: 'triage', question: '{"order":42}' });
  state.program.input = {};
  expect(runSubject('triage', state)).toEqual({ agentName: 'triage' });
});

test('a long question is cut, on one line', () => {
  const { question = '' } = runSubject('clerk', stateOf({ input: `a\n\n${'é '.repeat(100_000)}` }));
  expect(question).toMatch(/^a é é .*…$/);
  expect(utf8Length(question)).toBeLessThanOrEqual(300);
});

test('the identity on whose behalf a run acts is known before it has a state, without claims', () => {
  const principal = { tenant: 'acme', user: 'ada', claims: { roles: ['admin'] } };
  expect(runSubject('clerk', undefined, principal)).toEqual({ agentName: 'clerk', tenant: 'acme', user: 'ada' });
  const state = { ...stateOf({ input: 'Q' }, testSnapshot({ tags: ['vip'] })), principal };
  expect(runSubject('clerk', state)).toEqual({ agentName: 'clerk', tenant: 'acme', user: 'ada', tags: ['vip'], question: 'Q' });
});

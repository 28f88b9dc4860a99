import { z } from 'zod';
import { defineTool } from '../../../src/index.ts';
import { approve, callTool, cancelRun, hang, raiseLimits, reject, say, sendMessage, together } from '../../../src/testing/index.ts';
import { act, agentWith, scenario, toolThat } from './scenario.ts';

const look = toolThat('look', ({ text }, context) => (act(context, 'look') ? `seen${text ?? ''}` : 'seen again'));
const other = toolThat('other', () => 'other');
const asking = defineTool({
  name: 'asking',
  description: 'Waits for a decision',
  parameters: z.object({}),
  approval: 'always',
  execute: () => 'done',
});
const usage = { promptTokens: 100, completionTokens: 20, totalTokens: 120 };
const twice = together(callTool('look', { text: ' a' }), callTool('look', { text: ' b' }));

/** Limits of every kind. */
export const LIMITS = [
  scenario('the limit of steps ends a run', agentWith([look], { limits: { steps: 2 } }), {
    script: [callTool('look'), callTool('look')],
    timeline: [/calls/, 'look: seen', /calls/, 'look: seen'],
    status: 'max_iterations_reached',
  }),
  scenario('the limit of tool calls leaves the rest out and ends the run', agentWith([look], { limits: { toolCalls: 1 } }), {
    script: [twice],
    timeline: [/calls/, /calls/, 'look: seen a', /^look failed: Tool call was not executed: the limit/],
    status: 'limit_reached',
  }),
  scenario('the calls of one tool have a separate limit', agentWith([look, other], { limits: { toolCallsByName: { look: 1 } } }), {
    script: [together(callTool('look'), callTool('other'), callTool('look'))],
    timeline: [/calls/, /calls/, /calls/, 'look: seen', 'other: other', /^look failed/],
    status: 'limit_reached',
  }),
  scenario('tokens have a limit', agentWith([look], { limits: { totalTokens: 100 } }), {
    script: [{ ...callTool('look'), usage }],
    timeline: [/calls/, 'look: seen'],
    status: 'limit_reached',
  }),
  scenario('cost has a limit', agentWith([look], { limits: { costUsd: 0.001 } }), {
    script: [{ ...callTool('look'), usage }],
    prices: { 'scripted/m': { input: 10, output: 30 } },
    timeline: [/calls/, 'look: seen'],
    status: 'limit_reached',
  }),
  scenario('time has a limit, for a run that waits as well', agentWith([asking]), {
    script: [callTool('asking')],
    limits: { deadline: '3s' },
    timeline: [/calls/, /^asking failed: Tool call was interrupted/],
    status: 'limit_reached',
  }),
  scenario('a limit that a run has reached is raised', agentWith([look], { limits: { steps: 1 }, onLimit: 'ask' }), {
    script: [callTool('look'), say('Done.')],
    decide: ({ kind }) => (kind === 'limit' ? approve({ arguments: { steps: 5 }, by: 'ann' }) : undefined),
    timeline: [/calls/, 'look: seen', 'ann approves raise_limits', 'agent: Done.'],
  }),
  scenario('a limit that a run has reached is not raised', agentWith([look], { limits: { toolCalls: 1 }, onLimit: 'ask' }), {
    script: [twice],
    decide: () => reject('no more', { by: 'ann' }),
    timeline: [/calls/, /calls/, 'ann rejects raise_limits: no more', 'look: seen a', /^look failed/],
    status: 'limit_reached',
  }),
  scenario('a limit is raised before the run has come to it', agentWith([look], { limits: { steps: 1 } }), {
    script: [callTool('look'), say('Done.')],
    meanwhile: [raiseLimits({ steps: 2 }, { step: 1 })],
    timeline: [/calls/, 'look: seen', 'user raises {"steps":2}', 'agent: Done.'],
  }),
];

/** Requests to a run while it is open. */
export const MESSAGES = [
  scenario('a message is read after the current step', agentWith([look]), {
    script: [callTool('look'), say('Done.')],
    meanwhile: [sendMessage('Only this year', { step: 1 })],
    timeline: [/calls/, 'look: seen', 'user: Only this year', 'agent: Done.'],
  }),
  scenario('a message that steers keeps calls from starting', agentWith([look], { parallel: false }), {
    script: [twice, say('Done.')],
    meanwhile: [sendMessage('Stop', { step: 1, tool: 'look', mode: 'steer' })],
    timeline: [/calls/, /calls/, 'look: seen a', /^look failed: Tool call was interrupted/, 'user: Stop', 'agent: Done.'],
  }),
  scenario('a message that interrupts aborts the model call, and keeps its output so far', agentWith([look]), {
    script: [hang('I will first'), say('Done.')],
    meanwhile: [sendMessage('Stop', { step: 1, mode: 'interrupt' })],
    timeline: ['agent: I will first (interrupted)', 'user: Stop', 'agent: Done.'],
  }),
  scenario('a message that comes with the answer is answered, too', agentWith([]), {
    script: [say('Done.'), say('That, too.')],
    meanwhile: [sendMessage('And this?', { step: 1 })],
    timeline: ['agent: Done.', 'user: And this?', 'agent: That, too.'],
  }),
  scenario('a cancellation aborts the model call, and keeps its output so far', agentWith([]), {
    script: [hang('Let me')],
    meanwhile: [cancelRun('enough', { step: 1 })],
    timeline: ['agent: Let me (interrupted)'],
    status: 'cancelled',
  }),
  scenario('a cancellation does not wait for a tool', agentWith([look]), {
    script: [callTool('look')],
    meanwhile: [cancelRun('enough', { step: 1, tool: 'look' })],
    timeline: [/calls/, /^look failed: Tool call was running when the run was cancelled/],
    status: 'cancelled',
  }),
];

const big = toolThat('big', ({ text }) => `${text ?? ''}${'r'.repeat(2_000)}`);

/** Conversations that grow beyond their window. */
export const WINDOWS = [
  scenario('old results give way to a marker', agentWith([big], { window: { maxBytes: 5_000, keepResults: 1 } }), {
    script: [callTool('big', { text: 'a' }), callTool('big', { text: 'b' }), callTool('big', { text: 'c' }), say('Done.')],
    timeline: [/calls/, /^big: a/, /calls/, /^big: b/, /calls/, /^big: c/, /old results are removed from the window/, 'agent: Done.'],
  }),
];

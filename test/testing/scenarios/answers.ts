import { z } from 'zod';
import { defineAgent } from '../../../src/define/define-agent.ts';
import { callTool, failWith, malformed, rateLimit, say, scriptedModel, structured, together } from '../../../src/testing/index.ts';
import { agentWith, ran, type Scenario, scenario, toolThat } from './scenario.ts';

const plain = agentWith([]);
const look = toolThat('look', () => 'seen');
const lastWords = agentWith([look], { limits: { steps: 1 }, finalAttempt: true });
const typed = defineAgent({ name: 'agent', model: 'scripted/m', output: z.object({ answer: z.number() }), outputRetries: 1 });

/** Possible answers of a model, and their consequences. */
export const ANSWERS = [
  scenario('a plain answer ends the run', plain, { script: [say('Hello.')], timeline: ['agent: Hello.'] }),
  scenario('an answer of unknown cost is estimated', plain, { script: [say('Hello.', { usage: null })], timeline: ['agent: Hello.'] }),
  scenario('a call that waits for a batch elsewhere is made at once in a test', agentWith([], { tier: 'batch' }), {
    script: [say('Hello.')],
    timeline: ['agent: Hello.'],
  }),
  scenario('a refusal is an error', plain, {
    script: [say('', { refusal: 'I would rather not.' })],
    timeline: [/^agent:/],
    status: 'error',
  }),
  scenario('an answer that the provider withholds is asked for again', plain, {
    script: [say('Half', { finishReason: 'content_filter' }), say('Hello.')],
    timeline: ['agent: Hello.'],
  }),
  scenario('an answer that the provider keeps withholding is an error', agentWith([], { modelMaxAttempts: 2 }), {
    script: [say('', { finishReason: 'content_filter' }), say('', { finishReason: 'content_filter' })],
    timeline: ['a model call failed: content_filter'],
    status: 'error',
  }),
  scenario('an empty answer is asked for again', plain, { script: [say(' '), say('Hello.')], timeline: ['agent: Hello.'] }),
  scenario('after the last step one answer without tools is asked for', lastWords, {
    script: [callTool('look'), say('As far as I can see.')],
    timeline: ['agent calls look {}', 'look: seen', 'agent: As far as I can see.'],
    status: 'max_iterations_reached',
  }),
  scenario('a structured answer is the output', typed, { script: [structured({ answer: 4 })], timeline: ['agent: {"answer":4}'] }),
  scenario('an answer that does not fit goes back to the model', typed, {
    script: [say('four'), structured({ answer: 4 })],
    timeline: ['agent: four', /^user: Your previous answer did not fit/, 'agent: {"answer":4}'],
  }),
  scenario('an answer that never fits ends the run with an error', typed, {
    script: [say('four'), structured({ answer: 'four' })],
    timeline: ['agent: four', /^user: Your previous answer did not fit/, 'agent: {"answer":"four"}'],
    status: 'error',
  }),
  scenario('if the provider enforces no schema, the answer comes through a tool', typed, {
    script: [together(say('I know'), callTool('final_answer', { output: { answer: 'x' } })), structured({ answer: 4 })],
    model: { capabilities: { structuredOutput: false } },
    timeline: ['agent: I know', /^agent calls final_answer/, /^final_answer failed/, /^agent calls final_answer/, /^final_answer: /],
  }),

  scenario('a provider that limits the rate is asked again after the wait', plain, {
    script: [failWith('model_rate_limited', 'slow down', { retryAfter: 20 }), say('Hello.')],
    timeline: ['agent: Hello.'],
  }),
  scenario('a burst of 429 is waited out', plain, { script: [say('Hello.')], faults: [rateLimit(3)], timeline: ['agent: Hello.'] }),
  scenario('a provider that fails is asked again', plain, {
    script: [failWith('model_server_error', 'oops', { retryAfter: 10 }), say('Hello.')],
    timeline: ['agent: Hello.'],
  }),
  scenario('a provider that keeps failing ends the run', agentWith([], { modelMaxAttempts: 2, modelPatience: 0 }), {
    script: [failWith('model_server_error', 'oops', { retryAfter: 10 }), failWith('model_server_error', 'still oops')],
    timeline: [],
    status: 'error',
  }),
  scenario('a request that the provider rejects is not sent again', plain, {
    script: [failWith('model_bad_request', 'no such parameter')],
    timeline: [],
    status: 'error',
  }),
  scenario('an invalid answer of the provider is requested again', plain, {
    script: [failWith('model_bad_response', 'no JSON', { retryAfter: 10 }), say('Hello.')],
    timeline: ['agent: Hello.'],
  }),
  scenario('a model client that gives nothing gives no answer', agentWith([], { modelMaxAttempts: 1 }), {
    script: [malformed(null)],
    timeline: ['a model call failed: model_no_answer'],
    status: 'error',
  }),
  scenario('a model that does not answer in time is given up', agentWith([], { modelTimeout: '1s', modelMaxAttempts: 1 }), {
    script: [{ type: 'hang', text: 'half an ans' }],
    timeline: [/^a model call failed|^$/],
    status: 'error',
  }),
];

const FIRST = 'first/large';
const SECOND = 'second/small';
const agent = agentWith([look], { model: [FIRST, SECOND] });
const TIMELINE = ['user: Go', ...ran('look {}', 'seen'), 'agent: Done.'];

/** Agents with several models. */
export const MODEL_LISTS: readonly Scenario[] = [
  {
    name: 'a model that fails is followed by the next one, which makes all calls of the turn',
    agent,
    options: () => ({
      input: 'Go',
      model: { [FIRST]: scriptedModel([failWith('model_server_error')]), [SECOND]: scriptedModel([callTool('look'), say('Done.')]) },
    }),
    timeline: TIMELINE,
    status: 'completed',
  },
  {
    name: 'a model that fails in the middle of a turn is followed by the next one',
    agent,
    options: () => ({
      input: 'Go',
      model: { [FIRST]: scriptedModel([callTool('look'), failWith('model_unauthorized')]), [SECOND]: scriptedModel([say('Done.')]) },
    }),
    timeline: TIMELINE,
    status: 'completed',
  },
  {
    name: 'if all models of a list fail for good, the run ends with an error',
    agent,
    options: () => ({
      input: 'Go',
      model: { [FIRST]: scriptedModel([failWith('model_server_error')]), [SECOND]: scriptedModel([failWith('model_not_found')]) },
    }),
    timeline: ['user: Go'],
    status: 'error',
  },
];

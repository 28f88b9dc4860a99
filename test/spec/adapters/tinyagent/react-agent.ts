import { defineAgent } from '../../../../src/define/define-agent.ts';
import { say } from '../../../../src/testing/index.ts';
import type { Operation } from '../adapter.ts';
import { list, number, text } from '../fields.ts';
import { runWithKit } from '../kit-run.ts';
import { JSON_FORM, RUN_KEYS, toTheirRun } from './run-notation.ts';
import { suiteTools } from './suite-tools.ts';

/** A whole run of an agent that answers with JSON objects. The `mode` of a case changes nothing: there is one way to call tools. */
export const reactAgentRun: Operation = {
  input: ['replies', 'max_steps', 'mode'],
  expect: RUN_KEYS,
  perform: async ({ replies, max_steps }, expect) => {
    const agent = defineAgent({
      name: 'a',
      model: 'scripted/model',
      instructions: [],
      tools: suiteTools(['add', 'bad', 'big']),
      replyFormat: 'json',
      finalAttempt: true,
    });
    const script = list(replies).map((reply) => say(text(reply)));
    return toTheirRun(await runWithKit({ agent, script, input: 'Q', steps: number(max_steps, 10) }), expect, JSON_FORM);
  },
};

import type { JsonValue } from '../../../../src/core/domain/json/json.ts';
import { quickjs } from '../../../../src/define/code/quickjs.ts';
import { defineAgent } from '../../../../src/define/define-agent.ts';
import { say, type ScriptEntry } from '../../../../src/testing/index.ts';
import type { Operation } from '../adapter.ts';
import { CaseProblem, list, number, only, text } from '../fields.ts';
import { runWithKit } from '../kit-run.ts';
import { toOurLimits } from './execution-notation.ts';
import { CODE_FORM, RUN_KEYS, toTheirRun } from './run-notation.ts';
import { suiteTools } from './suite-tools.ts';

/** A whole run of an agent that answers with blocks of code. */
export const codeAgentRun: Operation = {
  input: ['replies', 'max_steps', 'tools', 'limits'],
  expect: RUN_KEYS,
  perform: async ({ replies, max_steps, tools, limits }, expect) => {
    const agent = defineAgent({
      name: 'a',
      model: 'scripted/model',
      instructions: [],
      tools: suiteTools(tools === undefined ? ['add'] : list(tools).map((name) => text(name))),
      code: { executor: quickjs({ limits: toOurLimits(limits) }) },
      replyFormat: 'code',
    });
    const script = list(replies).map(toReply);
    return toTheirRun(await runWithKit({ agent, script, input: 'Q', steps: number(max_steps, 10) }), expect, CODE_FORM);
  },
};

/** Translates a reply: a program, which is then the only block of code, or a text. */
function toReply(reply: JsonValue): ScriptEntry {
  if (typeof reply === 'string') return say(reply);
  const { javascript } = only('A reply', reply, ['python', 'javascript']);
  if (javascript === undefined) throw new CaseProblem('The case has no program in javascript');
  return say(`\`\`\`javascript\n${text(javascript)}\n\`\`\``);
}

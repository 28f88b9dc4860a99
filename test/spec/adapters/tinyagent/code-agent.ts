import type { CodeLanguage } from '../../../../src/core/domain/code.ts';
import type { JsonObject, JsonValue } from '../../../../src/core/domain/json.ts';
import { python, quickjs } from '../../../../src/define/code.ts';
import { defineAgent } from '../../../../src/define/define-agent.ts';
import { say, type ScriptEntry } from '../../../../src/testing/index.ts';
import type { Operation } from '../adapter.ts';
import { CaseProblem, list, number, only, text } from '../fields.ts';
import { runWithKit } from '../kit-run.ts';
import { toOurLimits } from './execution-notation.ts';
import { CODE_FORM, RUN_KEYS, toTheirRun } from './run-notation.ts';
import { suiteTools } from './suite-tools.ts';

const EXECUTORS = { javascript: quickjs, python };

/** A whole run of an agent that answers with blocks of code in a language. */
export function codeAgentRun(language: CodeLanguage): Operation {
  return {
    input: ['replies', 'max_steps', 'tools', 'limits'],
    expect: RUN_KEYS,
    perform: (input, expect) => runCodeAgent(language, input, expect),
  };
}

async function runCodeAgent(language: CodeLanguage, input: JsonObject, expect: JsonValue): Promise<JsonObject> {
  const { replies, max_steps, tools, limits } = input;
  const agent = defineAgent({
    name: 'a',
    model: 'scripted/model',
    instructions: [],
    tools: suiteTools(tools === undefined ? ['add'] : list(tools).map((name) => text(name))),
    code: { executor: EXECUTORS[language]({ limits: toOurLimits(limits) }) },
    replyFormat: 'code',
  });
  const script = list(replies).map((reply) => toReply(reply, language));
  const steps = number(max_steps, agent.limits.steps);
  return toTheirRun(await runWithKit({ agent, script, input: 'Q', steps }), expect, CODE_FORM);
}

/** Translates a reply: a program, which is then the only block of code, or a text. */
function toReply(reply: JsonValue, language: CodeLanguage): ScriptEntry {
  if (typeof reply === 'string') return say(reply);
  const code = only('A reply', reply, ['python', 'javascript'])[language];
  if (code === undefined) throw new CaseProblem(`The case has no program in ${language}`);
  return say(`\`\`\`${language}\n${text(code)}\n\`\`\``);
}

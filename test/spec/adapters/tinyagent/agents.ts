import { isJsonObject, type JsonValue } from '../../../../src/core/domain/json.ts';
import type { SuiteAdapter } from '../adapter.ts';
import type { CodeLanguage } from '../../../../src/core/domain/code.ts';
import { fencedBlock } from '../../../../src/core/domain/execution.ts';
import { text } from '../fields.ts';
import { mapTexts } from '../wording.ts';
import { codeAgentRun } from './code-agent.ts';
import { agentConstruct, keptDuplicate } from './construct-agent.ts';
import { conversationOperations } from './conversation.ts';
import { finalizerRun } from './finalizer.ts';
import { reactAgentRun } from './react-agent.ts';
import { rounded } from './run-notation.ts';
import { scratchpadRun } from './scratchpad.ts';

/** The product names the language that it runs. */
const PYTHON_BLOCK = 'a python block';

/** A case writes the text of a working memory, or `{"regex": …}` for a text that has it. */
function toMatcher(expect: JsonValue): JsonValue {
  return isJsonObject(expect) && typeof expect['regex'] === 'string' ? { $regex: inJavaScript(expect['regex']) } : expect;
}

/** Writes flags at the beginning of a pattern, and the ends of a text, as JavaScript has them. */
function inJavaScript(pattern: string): string {
  const [, flags, rest = pattern] = /^\(\?([ims]+)\)(.*)$/s.exec(pattern) ?? [];
  const anchored = rest.replace(/^\\A/, '^').replace(/\\Z$/, '$');
  return flags === undefined ? anchored : `(?${flags}:${anchored})`;
}

/** Suite `tinyagent.agents`: agents that answer in text alone, and the parts that they are made of. */
export function tinyagentAgentsSuite(language: CodeLanguage): Omit<SuiteAdapter, 'withoutCounterpart'> {
  return {
    operations: {
      'finalizer.run': finalizerRun,
      'agent.construct': agentConstruct,
      'code_agent.extract': { input: ['text'], expect: [], perform: (input) => fencedBlock(text(input['text'])) ?? null },
      'code_agent.run': codeAgentRun(language),
      'react_agent.run': reactAgentRun,
      'scratchpad.context': scratchpadRun,
      ...conversationOperations,
    },
    normalise: (expect, op) => {
      if (op === 'agent.construct') return mapTexts(expect, keptDuplicate);
      if (op === 'code_agent.run') return mapTexts(expect, (said) => said.replace(PYTHON_BLOCK, `a ${language} block`));
      if (op === 'scratchpad.context') return toMatcher(expect);
      if (!isJsonObject(expect) || !Array.isArray(expect['temperatures'])) return expect;
      return { ...expect, temperatures: expect['temperatures'].map(rounded) };
    },
  };
}

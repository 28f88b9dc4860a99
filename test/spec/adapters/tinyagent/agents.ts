import { isJsonObject } from '../../../../src/core/domain/json/json.ts';
import type { SuiteAdapter } from '../adapter.ts';
import type { CodeLanguage } from '../../../../src/core/domain/code/code-snapshot.ts';
import { fencedBlock } from '../../../../src/core/domain/code/fenced-block.ts';
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
      if (!isJsonObject(expect) || !Array.isArray(expect['temperatures'])) return expect;
      return { ...expect, temperatures: expect['temperatures'].map(rounded) };
    },
  };
}

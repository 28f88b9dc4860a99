import type { JsonObject } from '../../../../src/core/domain/json.ts';
import { TERMINAL_STATUSES, type TerminalStatus } from '../../../../src/core/domain/run.ts';
import { addUsage, noUsage } from '../../../../src/core/domain/usage.ts';
import { parseToolCall } from '../../../../src/model/interpret-response.ts';
import type { SuiteAdapter } from '../adapter.ts';
import { list } from '../fields.ts';
import { reactRun, RESULT_KEYS } from './react-run.ts';
import { reactStateOperations } from './react-state.ts';
import { reactStream } from './react-stream.ts';
import { RESULT_FIELDS, toOurResult, toOurStep, toOurUsage, toTheirResult, toTheirStep, toTheirTotals } from '../result-notation.ts';
import { keptWording, mapTexts } from '../wording.ts';

const TOTALS = Object.keys(toTheirTotals(noUsage()));

/** The seed has one limit, on steps: it has no status for the others. */
const OF_OTHER_LIMITS: TerminalStatus = 'limit_reached';

const STEP = Object.keys(toTheirStep(toOurStep(1)));

/** Suite `react.run_result`: the result model and the ReAct loop. */
export const reactRunResultSuite: Omit<SuiteAdapter, 'withoutCounterpart'> = {
  operations: {
    'react.run': reactRun,
    'react.stream': reactStream,
    ...reactStateOperations,
    'react.parse_tool_call': { input: ['shape'], expect: ['call_id', 'name', 'arguments', 'error'], perform: parseCall },
    'result.summary': { input: RESULT_FIELDS, expect: [], perform: (input) => toOurResult(input).summary() },
    'result.derived': { input: RESULT_FIELDS, expect: RESULT_KEYS, perform: (input) => toTheirResult(toOurResult(input)) },
    'result.to_dict_defaults': {
      input: RESULT_FIELDS,
      expect: RESULT_KEYS,
      perform: (input) => toTheirResult(toOurResult({ agent_name: 'agent', ...input })),
    },
    'result.status_values': {
      input: [],
      expect: ['values'],
      perform: () => ({ values: TERMINAL_STATUSES.filter((status) => status !== OF_OTHER_LIMITS) }),
    },
    'usage.aggregate': { input: ['usages'], expect: TOTALS, perform: aggregate },
    'step.defaults': { input: ['step'], expect: STEP, perform: ({ step = 1 }) => toTheirStep(toOurStep(step)) },
  },
  normalise: (expect) => mapTexts(expect, (text) => (text === 'tool_response' ? 'tool' : keptWording(text))),
};

function parseCall({ shape }: JsonObject): JsonObject {
  const parsed = parseToolCall(shape);
  return { call_id: parsed.toolCallId, name: parsed.name, arguments: parsed.arguments, error: parsed.problem !== undefined };
}

function aggregate({ usages }: JsonObject): JsonObject {
  const calls = list(usages).map((usage) => (usage === null ? null : toOurUsage(usage)));
  return toTheirTotals(calls.reduce(addUsage, noUsage()));
}

import type { JsonObject, JsonValue } from '../../../src/core/domain/json/json.ts';
import { TERMINAL_STATUSES } from '../../../src/core/domain/run/run-status.ts';
import { addUsage, noUsage } from '../../../src/core/domain/model/usage.ts';
import { parseToolCall } from '../../../src/model/parse-tool-call.ts';
import type { SuiteAdapter } from './adapter.ts';
import { list, object } from './fields.ts';
import { runReactCase } from './react-run.ts';
import { toOurResult, toOurStep, toOurUsage, toTheirResult, toTheirStep, toTheirTotals } from './result-notation.ts';
import { keptWording, mapTexts } from './wording.ts';

const NO_MEMORY = 'agents keep no conversation between runs: saving, loading and resetting it is not built';

/** Suite `react.run_result`: the result model and the ReAct loop. */
export const reactRunResultSuite: SuiteAdapter = {
  operations: {
    'react.run': runReactCase,
    'react.parse_tool_call': parseCall,
    'result.summary': (input) => toOurResult(object(input)).summary(),
    'result.derived': (input) => toTheirResult(toOurResult(object(input))),
    'result.to_dict_defaults': (input) => toTheirResult(toOurResult({ agent_name: 'agent', ...object(input) })),
    'result.status_values': () => ({ values: [...TERMINAL_STATUSES] }),
    'usage.aggregate': aggregate,
    'step.defaults': (input) => toTheirStep(toOurStep(object(input)['step'] ?? 1)),
  },
  notBuilt: {
    'react.stream': 'streams are not built',
    'agent.save_state': NO_MEMORY,
    'agent.load_state': NO_MEMORY,
    'agent.reset': NO_MEMORY,
  },
  normalise: (expect) => mapTexts(expect, (text) => (text === 'tool_response' ? 'tool' : keptWording(text))),
};

function parseCall(input: JsonValue): JsonObject {
  const parsed = parseToolCall(object(input)['shape']);
  return { call_id: parsed.toolCallId, name: parsed.name, arguments: parsed.arguments, error: parsed.problem !== undefined };
}

function aggregate(input: JsonValue): JsonObject {
  const usages = list(object(input)['usages']).map((usage) => (usage === null ? null : toOurUsage(usage)));
  return toTheirTotals(usages.reduce(addUsage, noUsage()));
}

import type { AgentSnapshot, ToolDescription } from '../domain/agent.ts';
import type { CodeLanguage, CodeSnapshot, ExecutorSnapshot } from '../domain/code.ts';
import type { ToolCall } from '../domain/content.ts';
import type { CodeCall } from '../domain/execution.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import { RUN_CODE, unknownTool } from '../domain/tool-calls.ts';
import { type CheckedArguments, invalidArguments, readArguments } from '../json-schema/read-by-schema.ts';
import { type CallingAgent, codeCallId, LANGUAGE_NAMES, toolsFor } from './callable-tools.ts';
import { describeFunctions } from './describe-functions.ts';

/** Returns the tool that an agent's model uses to run code, or undefined for an agent without code. */
export function runCodeTool({ code, tools }: Pick<AgentSnapshot, 'code' | 'tools'>): ToolDescription | undefined {
  if (code === undefined) return undefined;
  return { name: RUN_CODE, description: describeRunCode(code, { tools }), parameters: RUN_CODE_PARAMETERS, strict: true };
}

function describeRunCode(code: CodeSnapshot, snapshot: CallingAgent): string {
  const { language } = code.executor;
  const spoken = LANGUAGE_NAMES[language];
  return [
    `Runs ${spoken} code, isolated, and returns what it prints. Use it in place of several tool calls: call functions in loops, filter and combine their results, compute.`,
    '',
    `The code can call these functions, besides what ${spoken} has:`,
    '',
    describeFunctions(snapshot, language),
    '',
    'Rules:',
    ...codeRules(code, snapshot).map((rule) => `- ${rule}`),
  ].join('\n');
}

/** Returns the rules for code, in one or two sentences each. */
export function codeRules({ executor, injected }: CodeSnapshot, snapshot: CallingAgent): string[] {
  const { language, allowedImports } = executor;
  return [
    ...callRules(language, toolsFor('code', snapshot)[0]?.name ?? 'name'),
    'A call that fails, or that a person rejects, throws an error with the reason.',
    `${language === 'python' ? 'print(…)' : 'print(…), or console.log(…),'} writes to the output. You read the output, the final answer and errors, and nothing else: print what you need, and no more.`,
    'final_answer(value) gives the result of the code, as a JSON value.',
    'Variables and functions stay for the next code that you run.',
    ...injectedRule(injected),
    allowedImports.length === 0 ? 'Nothing can be imported.' : `Only these modules can be imported: ${allowedImports.join(', ')}.`,
    limitsRule(executor),
  ];
}

/** Returns the rules for calls. `name`: the function in the example. */
function callRules(language: CodeLanguage, name: string): string[] {
  return language === 'python'
    ? [
        `${name}(…) waits and returns the result. Pass arguments by their names.`,
        `tools.${name}(…) does not wait: it returns a promise, and promise.result() waits for its value. Calls that are pending together run together: promises = [tools.${name}(…) for …], then [promise.result() for promise in promises].`,
      ]
    : [
        `${name}({…}) waits and returns the result: it needs no await.`,
        `tools.${name}({…}) does not wait: it returns a promise. Calls that are pending together run together: await Promise.all(list.map((one) => tools.${name}({…}))).`,
      ];
}

/** Returns the rule about the predefined variables. */
function injectedRule(injected: JsonObject = {}): string[] {
  const named = Object.entries(injected).map(([name, value]) => `${name} (${kindOf(value)})`);
  return named.length === 0 ? [] : [`These variables are there from the start: ${named.join(', ')}.`];
}

function kindOf(value: JsonValue): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return `list of ${value.length}`;
  return typeof value === 'object' ? `object with ${Object.keys(value).slice(0, 20).join(', ') || 'no keys'}` : typeof value;
}

function limitsRule({ limits: { timeoutSeconds, maxMemoryMb, maxOutputBytes } }: ExecutorSnapshot): string {
  const time = timeoutSeconds > 0 ? `${timeoutSeconds} s of time, without the time in which it waits for calls; ` : '';
  return `Limits of one run of code: ${time}${maxMemoryMb} MB of memory; ${maxOutputBytes} bytes of output, after which it is cut.`;
}

/** The maximum characters of a cell's code. */
const MAX_CELL_LENGTH = 100_000;

/** The parameters of `run_code`, as sent to a provider. */
export const RUN_CODE_PARAMETERS: JsonObject = {
  type: 'object',
  properties: { code: { type: 'string', description: 'The code to run.' } },
  required: ['code'],
  additionalProperties: false,
};

const SCHEMA: JsonObject = {
  ...RUN_CODE_PARAMETERS,
  properties: { code: { type: 'string', maxLength: MAX_CELL_LENGTH } },
};

/** Checks the arguments of a `run_code` call: its code must not be empty or too long. */
export function checkRunCode(given: JsonValue): CheckedArguments {
  const checked = readArguments({ name: RUN_CODE, schema: SCHEMA }, given);
  if (checked.problem !== undefined) return checked;
  const { code } = checked.args;
  if (typeof code === 'string' && code.trim() !== '') return checked;
  return { ...checked, problem: invalidArguments(RUN_CODE, 'code: expected code, got empty text') };
}

interface CodeCallPlace {
  snapshot: CallingAgent;
  /** The id of the `run_code` call. */
  callId: string;
  /** The number of earlier calls by the cell. */
  before: number;
}

/** Calls made by code as recorded, and the reasons why some must not run, by call id. */
interface CheckedCodeCalls {
  calls: ToolCall[];
  problems?: Record<string, string>;
}

/**
 * Turns calls made by code into tool calls, named, identified and checked like a model's. A call that must not run has a problem, which the
 * code receives as an error.
 */
export function checkCodeCalls(codeCalls: readonly CodeCall[], { snapshot, callId, before }: CodeCallPlace): CheckedCodeCalls {
  const tools = new Map(toolsFor('code', snapshot).map((tool) => [tool.name, tool]));
  const problems: [id: string, problem: string][] = [];
  const calls = codeCalls.map(({ tool: name, arguments: given }, index): ToolCall => {
    const toolCallId = codeCallId(callId, before + index + 1);
    const tool = tools.get(name);
    // Python signatures have None as the default of optional arguments: reading the arguments removes the nulls that code passes on.
    const { args, problem } = tool === undefined ? { args: given, problem: unknownTool(name) } : readArguments(tool, given);
    if (problem !== undefined) problems.push([toolCallId, problem]);
    return { type: 'tool_call', toolCallId, name, arguments: args };
  });
  return { calls, ...(problems.length === 0 ? {} : { problems: Object.fromEntries(problems) }) };
}

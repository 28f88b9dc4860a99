import type { AgentSnapshot, ToolDescription } from '../domain/agent.ts';
import type { CodeLanguage, CodeSnapshot, ExecutorSnapshot } from '../domain/code.ts';
import type { JsonObject, JsonValue } from '../domain/json.ts';
import { RUN_CODE } from '../domain/tool-calls.ts';
import { toolsFor } from './callers.ts';
import { describeFunctions } from './describe-functions.ts';
import { LANGUAGE_NAMES } from './language-names.ts';
import { RUN_CODE_PARAMETERS } from './run-code-call.ts';

/** Returns the tool through which the model of an agent runs code; undefined for an agent without code. */
export function runCodeTool({ code, tools }: Pick<AgentSnapshot, 'code' | 'tools'>): ToolDescription | undefined {
  if (code === undefined) return undefined;
  return { name: RUN_CODE, description: describeRunCode(code, { tools }), parameters: RUN_CODE_PARAMETERS, strict: true };
}

function describeRunCode(code: CodeSnapshot, snapshot: Pick<AgentSnapshot, 'tools' | 'permissions'>): string {
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

/** Returns the rules of code, one sentence or two each. */
export function codeRules({ executor, injected }: CodeSnapshot, snapshot: Pick<AgentSnapshot, 'tools' | 'permissions'>): string[] {
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

/** Returns the rules of calls, with the name of a function for the example. */
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

/** Returns the rule that names the variables of the start. */
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

import { z } from 'zod';
import {
  type CodeLanguage,
  EMPTY_SCRATCHPAD,
  Finalizer,
  MultipleFinalAnswers,
  type Scratchpad,
  scratchpadContext,
  withFailedApproach,
  withObservation,
  withStoredValue,
} from '../../../src/core/domain/code.ts';
import {
  type ConversationStep,
  type Message,
  outputText,
  pruneSteps,
  type PruneStrategy,
  stepMessages,
} from '../../../src/core/domain/content.ts';
import { errorMessage } from '../../../src/core/domain/errors.ts';
import { fencedBlock } from '../../../src/core/domain/execution.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../src/core/domain/json.ts';
import type { TerminalStatus } from '../../../src/core/domain/run.ts';
import { python, quickjs } from '../../../src/define/code.ts';
import { defineAgent } from '../../../src/define/define-agent.ts';
import { defineTool } from '../../../src/define/define-tool.ts';
import type { ToolDefinition } from '../../../src/define/tool-definition.ts';
import { say, type ScriptEntry } from '../../../src/testing/index.ts';
import { CaseProblem, list, number, object, only, type Operation, type SuiteAdapter, text } from './adapter.ts';
import { endOf, type PlayedRun, runWithKit } from './kit-run.ts';
import { toOurLimits } from './tinyagent-executor.ts';
import { mapTexts } from './wording.ts';

/** The keys of the results of runs in the notation of the cases. */
const RUN_KEYS = ['output', 'state', 'steps_taken', 'source', 'error', 'feedback', 'temperatures'];

/** The words of the cases for the ways a run ends. */
const STATES: Readonly<Record<TerminalStatus, string>> = {
  completed: 'completed',
  max_iterations_reached: 'step_limit_reached',
  // The seed has one limit, on steps: a run that another one ends has failed.
  limit_reached: 'error',
  error: 'error',
  cancelled: 'error',
};

/** The message that asks for the final attempt. */
const LAST_WORDS = 'Return your best final answer now.';

/** The facts about runs that depend on the form of the answers. */
interface RunForm {
  /** Their text about a run without an answer. */
  limitText: string;
  /** Returns the messages that a request has and the one before had not. */
  newMessages(before: readonly Message[], after: readonly Message[]): readonly Message[];
}

/** Answers that are JSON objects: the conversation only grows. */
const JSON_FORM: RunForm = {
  limitText: 'StepLimitReached: Exceeded max steps without an answer.',
  newMessages: (before, after) => after.slice(before.length),
};

/** Answers that are code: the conversation is pruned, and each step adds an answer. */
const CODE_FORM: RunForm = {
  limitText: 'StepLimitReached: Exceeded max ReAct steps without an answer.',
  newMessages: (_, after) => after.slice(after.findLastIndex(({ role }) => role === 'assistant')),
};

/**
 * Returns a run in the notation of the cases: the attempt after the last step is not a step, and a run without an answer has an empty
 * output.
 */
function toTheirRun(played: PlayedRun, expect: JsonValue, form: RunForm): JsonObject {
  const { steps, requests } = played;
  const { status, output, error } = endOf(played);
  const attempt = steps.find(({ final }) => final === true);
  const source = status === 'completed' ? 'normal' : attempt !== undefined && attempt.toolCalls.length === 0 ? 'final_attempt' : null;
  return {
    output: source === null ? '' : outputText(output),
    state: STATES[status],
    steps_taken: steps.filter((step) => step !== attempt).length,
    source,
    error: status === 'max_iterations_reached' && source === null ? form.limitText : error,
    feedback: feedback(played, expect, form),
    temperatures: requests.map(({ settings }) => rounded(settings.temperature ?? null)),
  };
}

/** The messages to the model that the steps have added, by the requests. */
function feedback({ requests }: PlayedRun, expect: JsonValue, { newMessages }: RunForm): string[] {
  const conversations = requests.map(({ conversation }) =>
    conversation.flatMap(({ content }) => content.filter((item) => item.type === 'message')).filter((message) => !isLastWords(message)),
  );
  const added = conversations.flatMap((messages, index) =>
    index === 0
      ? []
      : newMessages(conversations[index - 1] ?? [], messages)
          .filter(({ role }) => role === 'user')
          .map(textOf),
  );
  // Some cases list the message that asks for the final attempt, too.
  const isListed = isJsonObject(expect) && list(expect['feedback']).includes(LAST_WORDS);
  const isAsked = requests.some(({ conversation }) =>
    conversation.some(({ content }) => content.some((item) => item.type === 'message' && isLastWords(item))),
  );
  return isListed && isAsked ? [...added, LAST_WORDS] : added;
}

function isLastWords(message: Message): boolean {
  return message.role === 'user' && textOf(message) === LAST_WORDS;
}

function textOf({ content }: Message): string {
  return outputText(content);
}

/** Rounds a temperature: sums of such fractions are not exact. */
function rounded(temperature: JsonValue): JsonValue {
  return typeof temperature === 'number' ? Math.round(temperature * 1e6) / 1e6 : temperature;
}

/** The tools of the suite. Upstream does not try a call again. */
const TOOLS: readonly ToolDefinition<never, JsonObject>[] = [
  defineTool({
    name: 'add',
    description: 'Add two numbers.',
    parameters: z.strictObject({ a: z.number(), b: z.number() }),
    maxAttempts: 1,
    execute: ({ a, b }) => a + b,
  }),
  defineTool({
    name: 'bad',
    description: 'Fails.',
    parameters: z.strictObject({ a: z.int() }),
    maxAttempts: 1,
    execute: () => {
      throw new Error('nope');
    },
  }),
  defineTool({
    name: 'big',
    description: 'Gives a long text.',
    parameters: z.strictObject({ n: z.int() }),
    maxAttempts: 1,
    execute: ({ n }) => 'x'.repeat(n),
  }),
];

/** Returns the tools of the suite with the given names. */
function suiteTools(names: readonly string[]): ToolDefinition<never, JsonObject>[] {
  return names.map((name) => {
    const tool = TOOLS.find((one) => one.name === name);
    if (tool === undefined) throw new CaseProblem(`The case uses a tool that the adapter does not know: "${name}"`);
    return tool;
  });
}

const EXECUTORS = { javascript: quickjs, python };

/** A whole run of an agent that answers with blocks of code in a language. */
function codeAgentRun(language: CodeLanguage): Operation {
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

/** A whole run of an agent that answers with JSON objects. The `mode` of a case changes nothing: there is one way to call tools. */
const reactAgentRun: Operation = {
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

/** The definition of an agent, and the error that it throws. */
const agentConstruct: Operation = {
  input: ['kind', 'tools'],
  expect: ['error'],
  perform: ({ kind, tools }) => {
    const format = formatOf(kind);
    const described = list(tools).map(toolName);
    try {
      defineAgent({ name: 'a', model: 'scripted/model', tools: described.map(toTool), ...format });
      return { error: null };
    } catch (error) {
      return { error: errorMessage(error) };
    }
  },
};

function formatOf(
  kind: JsonValue | undefined,
): { replyFormat: 'json' } | { replyFormat: 'code'; code: { executor: ReturnType<typeof quickjs> } } {
  if (kind === 'react' || kind === 'json') return { replyFormat: 'json' };
  if (kind === 'code') return { replyFormat: 'code', code: { executor: quickjs() } };
  throw new CaseProblem(`The case has an agent of a kind that the adapter does not know: ${JSON.stringify(kind)}`);
}

/** A tool of a case is its name, or an object with it. */
function toolName(tool: JsonValue): string {
  return typeof tool === 'string' ? tool : text(only('A tool', tool, ['name'])['name']);
}

function toTool(name: string): ToolDefinition<never, JsonObject> {
  return defineTool({ name, description: 'Does nothing.', parameters: z.looseObject({}), execute: () => null });
}

const DUPLICATE = /^Duplicate tool name(?: '(.+?)')?.*$/;

/** Returns a text about a tool that is there twice in the words of the product. */
function keptDuplicate(said: string): string {
  const [, name] = DUPLICATE.exec(said) ?? [said];
  return DUPLICATE.test(said) ? `two tools named${name === undefined ? '' : ` "${name}"`}` : said;
}

/** Steps of a conversation as messages, and steps after pruning. */
const conversationOperations: Readonly<Record<string, Operation>> = {
  'memory.to_messages': {
    input: ['steps'],
    expect: ['messages', 'step_numbers'],
    perform: ({ steps }) => {
      const ours = list(steps).map(toOurStep);
      // The product numbers no steps: a step is known by its place.
      return { messages: stepMessages(ours).map(({ role, content }) => ({ role, content })), step_numbers: [...ours.keys()] };
    },
  },
  'memory.prune': {
    input: ['steps', 'strategy'],
    expect: ['kept'],
    perform: ({ steps, strategy }) => ({ kept: pruneSteps(list(steps).map(toOurStep), toOurStrategy(strategy)).map(toTheirStep) }),
  },
};

const STEP = ['kind', 'text', 'reply', 'observation', 'error'];

function toOurStep(step: JsonValue): ConversationStep {
  const { kind, text: said, reply, observation, error } = only('A step', step, STEP);
  switch (kind) {
    case 'system':
      return { type: 'system', text: text(said) };
    case 'task':
      return { type: 'task', content: text(said) };
    case 'action':
      return {
        type: 'action',
        reply: text(reply),
        ...(observation === undefined ? {} : { observation: text(observation) }),
        ...(error === undefined ? {} : { error: text(error) }),
      };
    case 'scratchpad':
      return { type: 'scratchpad', reply: text(reply), note: text(said) };
    default:
      throw new CaseProblem(`The case has a step of a kind that the adapter does not know: ${JSON.stringify(kind)}`);
  }
}

function toTheirStep(step: ConversationStep): JsonObject {
  return { kind: step.type, ...(step.type === 'action' && step.observation !== undefined ? { observation: step.observation } : {}) };
}

/** The names of the strategies by their forms in the cases. */
const NONE = ['none', 'no_pruning'];
const OLD_OBSERVATIONS = ['prune_old_observations', 'old_observations', 'prune_old'];
const OF_OLD_OBSERVATIONS = ['full', 'keep_last_n', 'max_length'];

function toOurStrategy(strategy: JsonValue | undefined): PruneStrategy {
  if (strategy === undefined || strategy === null || NONE.includes(JSON.stringify(strategy).slice(1, -1))) return { strategy: 'none' };
  const known = only('The strategy', strategy, [...NONE, ...OLD_OBSERVATIONS, ...OF_OLD_OBSERVATIONS, 'keep_last']);
  if (NONE.some((name) => known[name] === true)) return { strategy: 'none' };
  const nested = OLD_OBSERVATIONS.map((name) => known[name]).find((value) => value !== undefined);
  if (nested !== undefined) return toOldObservations(isJsonObject(nested) ? nested : {});
  if (OF_OLD_OBSERVATIONS.some((name) => known[name] !== undefined)) return toOldObservations(known);
  return { strategy: 'last_steps', keep: number(object(strategy)['keep_last'], 0) };
}

function toOldObservations(options: JsonObject): PruneStrategy {
  const {
    full,
    keep_last_n = full,
    keep_last = keep_last_n,
    max_length,
  } = only('The strategy', options, [...OF_OLD_OBSERVATIONS, 'keep_last']);
  return {
    strategy: 'old_observations',
    ...(keep_last === undefined ? {} : { keep: number(keep_last, 0) }),
    ...(max_length === undefined ? {} : { maxLength: number(max_length, 0) }),
  };
}

/** The actions on a finalizer, with the result of each of them. */
const finalizerRun: Operation = {
  input: ['do'],
  expect: ['results'],
  perform: (input) => {
    const finalizer = new Finalizer();
    return { results: list(input['do']).map((action) => actOnFinalizer(finalizer, object(action))) };
  },
};

function actOnFinalizer(finalizer: Finalizer, action: JsonObject): JsonValue {
  const { set, get, is_set, reset } = only('An action', action, ['set', 'get', 'is_set', 'reset']);
  if (set !== undefined) return setAnswer(finalizer, only('An answer', set, ['value', 'source', 'metadata']));
  if (get === true) return toTheirAnswer(finalizer);
  if (is_set === true) return finalizer.isSet();
  if (reset !== true) throw new CaseProblem(`The case has an action that the adapter does not know: ${JSON.stringify(action)}`);
  finalizer.reset();
  return null;
}

function setAnswer(finalizer: Finalizer, { value = null, source, metadata }: JsonObject): JsonValue {
  try {
    finalizer.set(value, {
      now: 0,
      ...(source === 'normal' || source === 'final_attempt' ? { source } : refuse(source)),
      ...(metadata === undefined || metadata === null ? {} : { metadata: object(metadata) }),
    });
    return null;
  } catch (error) {
    if (!(error instanceof MultipleFinalAnswers)) throw error;
    return { error: error.message, first: error.first, attempted: error.attempted };
  }
}

/** A case may leave out the source, and has no other ones. */
function refuse(source: JsonValue | undefined): object {
  if (source === undefined || source === null) return {};
  throw new CaseProblem(`The case has a source that the adapter does not know: ${JSON.stringify(source)}`);
}

function toTheirAnswer(finalizer: Finalizer): JsonValue {
  const answer = finalizer.get();
  return answer === undefined ? null : { value: answer.value, source: answer.source, metadata: answer.metadata };
}

/** The text of a working memory after some actions. The values of the cases are written as in Python. */
const scratchpadRun: Operation = {
  input: ['do'],
  expect: [],
  perform: (input) => scratchpadContext(list(input['do']).reduce(actOnScratchpad, EMPTY_SCRATCHPAD), 'python'),
};

function actOnScratchpad(scratchpad: Scratchpad, action: JsonValue): Scratchpad {
  const { store, observe, fail, clear } = only('An action', action, ['store', 'observe', 'fail', 'clear']);
  if (store !== undefined) {
    const { name, value = null } = Array.isArray(store) ? { name: store[0], value: store[1] } : only('A value', store, ['name', 'value']);
    return withStoredValue(scratchpad, text(name), value);
  }
  if (observe !== undefined) return withObservation(scratchpad, text(observe));
  if (fail !== undefined) return withFailedApproach(scratchpad, text(fail));
  if (clear === true) return EMPTY_SCRATCHPAD;
  throw new CaseProblem(`The case has an action that the adapter does not know: ${JSON.stringify(action)}`);
}

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

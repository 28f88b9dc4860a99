import { DEFAULT_RECALL, type MemoryPolicy, type RecallBounds } from '../core/domain/agent.ts';
import { UsageError } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
import { MEMORY_TOOLS, memoryTools, REMEMBER } from '../core/domain/memory.ts';
import type { AgentOptionsAround, AgentPart } from './agent-part.ts';
import { nonEmpty, requireKnown, wholeNumber } from './option-checks.ts';

/** The options of the memory of an agent. */
export interface MemoryOptions {
  /**
   * True to give the first model call of a run the entries that match the newest user message, or the bounds of these entries.
   * Default true.
   */
  recall?: boolean | RecallOptions;
  /** True to give the model the tools `remember`, `recall` and `forget`. Default true. */
  tools?: boolean;
  /** The name of the memory. Agents with the same name share it, for the same tenant and user. Default: the name of the agent. */
  name?: string;
}

/** The bounds of the memory entries that a model call gets. */
export interface RecallOptions {
  /** The most entries, up to 50. Default 5. */
  topK?: number;
  /** The most bytes of their text, from 300 to 4,096. Default 4,096. */
  maxBytes?: number;
}

/** The largest `topK`. */
const MOST_ENTRIES = 50;

/** The bytes of the heading and one short entry. */
const LEAST_BYTES = 300;

/** Characters that the name of a memory may have. */
const NAME_CHARS = 100;

/** The agent option for memory. */
export interface AgentMemory {
  /**
   * A memory that outlasts the run, one for each tenant and user. The first model call of a run gets the entries that match the message,
   * and the model has the tools `remember`, `recall` and `forget`. The worker must have a `memory`. Default: none.
   */
  memory?: boolean | MemoryOptions;
}

/** The agent field for its memory. */
export interface MemoryFields {
  /** How it uses the memory of its worker. Absent: it does not. */
  readonly memory?: MemoryPolicy;
}

/** The memory as a part of an agent. */
export const memoryPart: AgentPart<AgentMemory, MemoryFields> = {
  options: { memory: ['`true`, or `{ recall, tools, name }`', 'none', 'a [memory](memory.md) that outlasts the run'] },
  define: (owner, options) => defined({ memory: agentMemory(owner, options) }),
  toolNames: ({ memory }) => memoryTools(memory).map(({ name }) => name),
  requireMeans(owner, { memory }, worker) {
    if (memory === undefined || worker.memory !== undefined) return;
    throw new UsageError(`${owner} has "memory", but the worker has none: give the worker "memory", such as fileMemory({ file })`);
  },
};

/**
 * Returns the memory of an agent; undefined if it has none. Throws a UsageError for values that cannot work, and for a tool whose name is
 * taken by a memory tool.
 */
function agentMemory(
  owner: string,
  { memory = false, tools = [], replyFormat }: AgentMemory & AgentOptionsAround,
): MemoryPolicy | undefined {
  if (memory === false) return undefined;
  const what = `${owner}: "memory"`;
  if (memory !== true && (typeof memory !== 'object' || memory === null || Array.isArray(memory)))
    throw new UsageError(`${what} is ${JSON.stringify(memory)}: write true, or { recall, tools, name }`);
  const options: MemoryOptions = memory === true ? {} : memory;
  requireKnown(what, options, { recall: true, tools: true, name: true });
  const recall = recallBounds(owner, options.recall ?? true);
  const hasTools = flag(`${owner}: "memory.tools"`, options.tools ?? true);
  if (recall === undefined && !hasTools) throw new UsageError(`${what} has neither "recall" nor "tools": leave it out, or set one to true`);
  const taken = hasTools ? tools.find(({ name }) => MEMORY_TOOLS.includes(name)) : undefined;
  if (taken !== undefined) {
    const instead = 'give the tool another name, or set "memory.tools" to false';
    throw new UsageError(`${owner} has a tool named "${taken.name}", which its "memory" gives it: ${instead}`);
  }
  if (hasTools && replyFormat === 'code')
    throw new UsageError(
      `${owner} answers in code, which cannot call ${REMEMBER}: set "memory.tools" to false, or leave "replyFormat" out`,
    );
  return {
    ...(options.name === undefined ? {} : { name: memoryName(`${owner}: "memory.name"`, options.name) }),
    ...defined({ recall }),
    ...(hasTools ? { tools: true } : {}),
  };
}

function recallBounds(owner: string, recall: boolean | RecallOptions): RecallBounds | undefined {
  if (recall === false) return undefined;
  if (recall === true) return DEFAULT_RECALL;
  if (typeof recall !== 'object' || recall === null || Array.isArray(recall))
    throw new UsageError(`${owner}: "memory.recall" is ${JSON.stringify(recall)}: write true, false, or { topK, maxBytes }`);
  requireKnown(`${owner}: "memory.recall"`, recall, { topK: true, maxBytes: true });
  const { topK = DEFAULT_RECALL.topK, maxBytes = DEFAULT_RECALL.maxBytes } = recall;
  return {
    topK: between(`${owner}: "memory.recall.topK"`, topK, { least: 1, most: MOST_ENTRIES }),
    maxBytes: between(`${owner}: "memory.recall.maxBytes"`, maxBytes, { least: LEAST_BYTES, most: DEFAULT_RECALL.maxBytes }),
  };
}

function between(what: string, value: number, { least, most }: { least: number; most: number }): number {
  if (wholeNumber(what, value, least) <= most) return value;
  throw new UsageError(`${what} is ${value}: write at most ${most}`);
}

function flag(what: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new UsageError(`${what} is ${JSON.stringify(value)}: write true or false`);
}

function memoryName(what: string, name: unknown): string {
  const text = nonEmpty(what, name);
  if (text.length <= NAME_CHARS && !/[\p{Cc}\p{Cs}]/u.test(text)) return text;
  throw new UsageError(`${what} is ${JSON.stringify(text.slice(0, NAME_CHARS))}: a name is one line of at most ${NAME_CHARS} characters`);
}

import type { AnyAgent } from '../../define/agent-definition.ts';
import type { AnyTool } from '../../define/tool-definition.ts';
import { memoryTools } from '../../core/domain/memory.ts';
import { UsageError } from '../../core/domain/errors.ts';
import { type Fault, faultText } from '../faults.ts';
import { type Moment, type Occurrence, occurrenceText } from '../meanwhile.ts';

type FaultOf<Type extends Fault['type']> = Extract<Fault, { type: Type }>;

/** The agent or the program that a test runs. */
export interface Tested {
  readonly kind: 'longhaul.agent' | 'longhaul.program';
  readonly name: string;
  readonly tools: readonly AnyTool[];
  readonly mcp?: AnyAgent['mcp'];
  readonly memory?: AnyAgent['memory'];
}

/** The plan of a test: faults and actions on the run, all of which must happen. */
export class Plan {
  readonly #faults: readonly Fault[];
  readonly #occurrences: readonly Occurrence[];
  readonly #happened = new Set<Fault | Occurrence>();

  /** Throws a UsageError for a tool that the agent does not have, or whose calls a test cannot act on. */
  constructor(agent: Tested, faults: readonly Fault[] = [], occurrences: readonly Occurrence[] = []) {
    for (const fault of faults) {
      if (!('tool' in fault)) continue;
      if (fault.type === 'delay') requireTool(agent, fault.tool, faultText(fault));
      else requireRemote(agent, fault.tool, faultText(fault));
    }
    for (const one of occurrences) {
      if (one.at.tool !== undefined) requireRemote(agent, one.at.tool, occurrenceText(one));
    }
    this.#faults = faults;
    this.#occurrences = occurrences;
  }

  /** Returns the first fault of a type that is due, if any, and marks it as happened. */
  take<Type extends Fault['type']>(type: Type, isDue: (fault: FaultOf<Type>) => boolean): FaultOf<Type> | undefined {
    const fault = this.of(type).find((one) => !this.#happened.has(one) && isDue(one));
    if (fault !== undefined) this.happened(fault);
    return fault;
  }

  /** Returns all faults of a type. */
  of<Type extends Fault['type']>(type: Type): FaultOf<Type>[] {
    return this.#faults.filter((fault): fault is FaultOf<Type> => fault.type === type);
  }

  /** Returns the actions that are due at that moment, and marks them as happened. */
  takeOccurrences({ step, tool, waiting }: Moment): Occurrence[] {
    const due = this.#occurrences.filter(
      (one) => !this.#happened.has(one) && one.at.step === step && one.at.tool === tool && one.at.waiting === waiting,
    );
    for (const one of due) this.happened(one);
    return due;
  }

  happened(one: Fault | Occurrence): void {
    this.#happened.add(one);
  }

  /** Throws an Error that names everything that did not happen. */
  assertHappened(): void {
    const missed = [
      ...this.#faults.filter((fault) => !this.#happened.has(fault)).map(faultText),
      ...this.#occurrences.filter((one) => !this.#happened.has(one)).map(occurrenceText),
    ];
    if (missed.length === 0) return;
    throw new Error(`The run ended before these planned faults and messages happened: ${missed.join(', ')}.`);
  }
}

function requireRemote(agent: Tested, name: string, what: string): void {
  if (memoryTools(agent.memory).some((tool) => tool.name === name)) return;
  requireTool(agent, name, what);
  if (agent.tools.find((tool) => tool.name === name)?.policy.tier !== 'local') return;
  throw new UsageError(`${what}: "${name}" is a local tool, whose calls run inside a workflow task: a test cannot act during one`);
}

function requireTool({ kind, name: agentName, tools, mcp }: Tested, name: string, what: string): void {
  // The tools of MCP servers are known only when the run starts.
  if (mcp !== undefined || tools.some((tool) => tool.name === name)) return;
  throw new UsageError(
    `${what}: ${kind.slice('longhaul.'.length)} "${agentName}" has no tool "${name}" (it has: ${tools.map((tool) => `"${tool.name}"`).join(', ') || 'none'})`,
  );
}

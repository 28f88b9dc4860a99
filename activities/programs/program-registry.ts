import { type Anchor, BUILT_IN_ANCHORS } from '../../src/anchors/anchors.ts';
import { type ErrorCode, LonghaulError, UsageError } from '../../src/core/domain/errors.ts';
import { knownText } from '../../src/core/domain/missing-definitions.ts';
import type { ProgramDocument } from '../../src/core/domain/program-document.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import type { AnyProgram } from '../../src/define/program/program-definition.ts';
import type { AnyTool } from '../../src/define/tool-definition.ts';
import { MissingOnWorkerError } from '../attempts/failure.ts';

/** The programs of a worker, and the tools that their steps call, by name. */
export class ProgramRegistry {
  readonly #programs = new Map<string, AnyProgram>();
  readonly #tools = new Map<string, AnyTool>();

  /** Throws a UsageError for two programs, or two different tools, with the same name. */
  constructor(programs: readonly AnyProgram[], tools: readonly AnyTool[]) {
    for (const tool of tools) this.#addTool(tool);
    for (const program of programs) {
      if (this.#programs.has(program.name)) throw new UsageError(`two programs are named "${program.name}": give each its own name`);
      this.#programs.set(program.name, program);
      for (const tool of program.tools) this.#addTool(tool);
    }
    for (const program of programs.flatMap((one) => one.programs)) this.#addUsed(program);
  }

  /** Adds a program that another program's step runs. */
  #addUsed(program: AnyProgram): void {
    const known = this.#programs.get(program.name);
    if (known !== undefined && known !== program) throw new UsageError(`two programs are named "${program.name}": give each its own name`);
    this.#programs.set(program.name, program);
  }

  #addTool(tool: AnyTool): void {
    if (tool.agent !== undefined)
      throw new UsageError(
        `tool "${tool.name}" runs an agent, which a step of a program cannot call: write an "agent" step for "${tool.agent.name}"`,
      );
    const known = this.#tools.get(tool.name);
    if (known !== undefined && known !== tool)
      throw new UsageError(`two tools for programs are named "${tool.name}": give each its own name`);
    this.#tools.set(tool.name, tool);
  }

  get toolNames(): string[] {
    return [...this.#tools.keys()];
  }

  get tools(): AnyTool[] {
    return [...this.#tools.values()];
  }

  get documents(): ProgramDocument[] {
    return [...this.#programs.values()].map(({ document }) => document);
  }

  /** Returns the agents, and the agents that steps of the programs run. Different agents with the same name stay in the list. */
  withAgents(agents: readonly AnyAgent[]): AnyAgent[] {
    return [...agents, ...new Set([...this.#programs.values()].flatMap((program) => program.agents))].filter(
      (agent, index, all) => index < agents.length || !all.slice(0, index).includes(agent),
    );
  }

  /** Returns a tool for steps of programs; undefined if this worker lacks it. */
  tool(name: string): AnyTool | undefined {
    return this.#tools.get(name);
  }

  /** Returns the document of a program. Throws `unknown_program` with the known names. */
  document(name: string): ProgramDocument {
    const program = this.#programs.get(name);
    if (program !== undefined) return program.toJSON();
    const thing = { kind: 'program' as const, name, known: [...this.#programs.keys()] };
    const code: ErrorCode = 'unknown_program';
    const error = new MissingOnWorkerError(code, `No program "${name}" is registered in this worker`, thing);
    error.message = `No program "${name}" is registered in this worker. ${knownText(thing)}`;
    throw error;
  }
}

/** The anchors of a worker by name: the built-in ones and its own. */
export class AnchorRegistry {
  readonly #anchors = new Map<string, Anchor>(BUILT_IN_ANCHORS.map((anchor) => [anchor.name, anchor]));

  /** Throws a UsageError for two anchors with the same name. */
  constructor(own: readonly Anchor[]) {
    for (const anchor of own) {
      if (this.#anchors.has(anchor.name)) throw new UsageError(`two anchors are named "${anchor.name}": give each its own name`);
      this.#anchors.set(anchor.name, anchor);
    }
  }

  get names(): string[] {
    return [...this.#anchors.keys()];
  }

  /** Returns anchors in the order of their names. A lenient program ignores unknown ones; otherwise throws `invalid_program`. */
  named(names: readonly string[], { lenient }: { lenient: boolean }): Anchor[] {
    return names.flatMap((name) => {
      const anchor = this.#anchors.get(name);
      if (anchor !== undefined) return [anchor];
      if (lenient) return [];
      throw new LonghaulError('invalid_program', `No anchor "${name}" is registered in this worker (it has: ${this.names.join(', ')})`);
    });
  }
}

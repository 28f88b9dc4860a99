import type { PruneStrategy } from '../../core/domain/content.ts';
import type { ExecutorSnapshot } from '../../core/domain/code.ts';
import type { JsonObject } from '../../core/domain/json.ts';
import type { CodeTool, Executor } from '../../core/domain/execution.ts';

/** An executor as `quickjs`, `python`, `custom` or `inProcess` returns it. The worker starts it with the first cell. */
export interface ExecutorDefinition extends Readonly<ExecutorSnapshot> {
  /** The program of a `custom` executor and its arguments. */
  readonly command?: readonly string[];
  /** The function that makes the executor of `inProcess`. */
  readonly create?: CreateOwnExecutor;
}

/** The settings of an executor that a user's function makes. */
export interface OwnExecutorSettings extends Readonly<ExecutorSnapshot> {
  /** The tools that code may call by their names. */
  readonly tools: readonly CodeTool[];
  /** True for an agent that answers with code, which has a working memory and signals. */
  readonly scratchpad: boolean;
}

/** Makes an executor for one namespace. */
export type CreateOwnExecutor = (settings: OwnExecutorSettings) => Executor | Promise<Executor>;

/** Returns the values that the code of a run has as variables from the start, by the deps of the run. */
export type Inject<Deps> = (context: { readonly deps: Deps }) => JsonObject | Promise<JsonObject>;

/** The way in which an agent runs code. */
export interface CodeDefinition {
  readonly executor: ExecutorDefinition;
  readonly tier: 'local' | 'remote';
  readonly inject?: Inject<never>;
  readonly prune?: PruneStrategy;
}

import type { PruneStrategy } from '../../core/domain/content/conversation/prune-steps.ts';
import type { ExecutorSnapshot } from '../../core/domain/code/code-snapshot.ts';

/** An executor as `quickjs`, `python` or `custom` returns it: data alone. The worker starts it with the first cell. */
export interface ExecutorDefinition extends Readonly<ExecutorSnapshot> {
  /** The program of a `custom` executor and its arguments. */
  readonly command?: readonly string[];
}

/** The way in which an agent runs code. */
export interface CodeDefinition {
  readonly executor: ExecutorDefinition;
  readonly tier: 'local' | 'remote';
  readonly prune?: PruneStrategy;
}

import type { LimitChanges } from '../agent/limits.ts';
import type { TreeLimits } from '../children/tree-limits.ts';
import type { HookSnapshot } from '../hooks/hook-snapshot.ts';
import type { Permissions } from '../permissions/permissions.ts';

/** The most runs above a run that a program starts. A program that runs itself ends there. */
export const MAX_RUN_DEPTH = 3;

/** The time between two checks that a run is alive which cannot tell of its own end. */
export const DEFAULT_CHILD_CHECK_MS = 3_600_000;

/** The run that started a run as its child. */
export interface ParentRun {
  runId: string;
  /** The Temporal run id of its first execution: another run may have the same id later. Absent if no workflow started the child. */
  firstRunId?: string;
  /** The number of runs above the child, from 1. */
  depth: number;
  /** Milliseconds between two checks of the parent, in case that it ended without cancelling its children. */
  checkMs: number;
  /** The time of the next check, in milliseconds since the epoch. Absent in the input of a run. */
  checkAt?: number;
  /** The part of the limits of the parent that the child has been given. Its own limits are no higher, and are not raised above it. */
  left?: LimitChanges;
  /** The limits of the runs below the child. Absent if the parent is a program. */
  tree?: TreeLimits;
  /** The policies that hold for the parent: each call of the child must pass them too. */
  permissions?: Permissions[];
  /** The hooks of the runs above: they hold for the child too. */
  hooks?: HookSnapshot[];
  /** The child is a session that the parent keeps: it tells the parent of the end of each turn, and takes its next message from it alone. */
  kept?: true;
}

/** The parent as the input of a child names it. */
export type ParentInput = Omit<ParentRun, 'checkAt'>;

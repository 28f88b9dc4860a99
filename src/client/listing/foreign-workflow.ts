import type { Client } from '@temporalio/client';
import { LonghaulError } from '../../core/domain/errors.ts';
import { shellCommand } from '../../core/domain/text.ts';
import { isRunType } from './run-types.ts';

/** Throws `not_a_run` for a workflow that is no run of an agent or a program, by its type. */
export function requireRun(client: Client, workflowId: string, type: string): void {
  if (isRunType(type)) return;
  throw new LonghaulError(
    'not_a_run',
    `"${workflowId}" in namespace "${client.options.namespace}" is a workflow of type "${type}", and no run of an agent or a program: ` +
      `"${shellCommand('show', { operands: [workflowId] })}" lists the runs that it has started`,
  );
}

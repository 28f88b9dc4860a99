import { mayCall } from '../../core/code/callable-tools.ts';
import { RUN_CODE } from '../../core/domain/tool-calls.ts';
import { transferToolName } from '../handoffs/handoff-options.ts';
import type { AnyAgent } from '../agent-definition.ts';

/** Returns the names of the tools that the model of an agent may call, without those of MCP servers. */
export function namesForModel({
  tools,
  code,
  handoffs,
}: Pick<AnyAgent, 'tools' | 'handoffs'> & { code?: AnyAgent['code'] | undefined }): string[] {
  const names = tools.filter((tool) => mayCall('model', tool)).map(({ name }) => name);
  return [...names, ...(code === undefined ? [] : [RUN_CODE]), ...transferToolName({ handoffs })];
}

import { mayCall } from '../../core/code/callers.ts';
import { RUN_CODE } from '../../core/domain/content/tool-text.ts';
import type { AnyAgent } from '../agent-definition.ts';

/** Returns the names of the tools that the model of an agent may call, without those of MCP servers. */
export function namesForModel({ tools, code }: Pick<AnyAgent, 'tools'> & { code?: AnyAgent['code'] | undefined }): string[] {
  const names = tools.filter((tool) => mayCall('model', tool)).map(({ name }) => name);
  return code === undefined ? names : [...names, RUN_CODE];
}

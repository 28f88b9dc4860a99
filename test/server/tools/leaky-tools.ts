import { z } from 'zod';
import type { ObjectSchema, ToolOptions } from '../../../src/define/define-tool.ts';
import {
  contextUpdate,
  defineAgent,
  defineTool,
  ModelRetry,
  resource,
  type RunContext,
  ToolFailure,
  toolOutput,
  withUpdate,
} from '../../../src/index.ts';

/** Each kind of escaping changes this value in another way. */
export const VALUE = 'tr4ce "of/a\\secrét+';

/** Writes the secret to one place. */
type Leak = (value: string, context: RunContext<Record<string, unknown>>) => unknown;

/** The secrets that the tools of this process have read, by the name of the tool. */
export const read = new Map<string, string>();

/** Resolved when the heartbeat of a tool has arrived, so that the tool continues. */
export const heard = Promise.withResolvers<void>();

function leakyTool(name: string, leak: Leak, options: Partial<ToolOptions<ObjectSchema, Record<string, unknown>, unknown>> = {}) {
  return defineTool({
    ...options,
    name,
    description: 'Cannot keep a secret',
    parameters: z.object({}),
    execute: async (_, context) => {
      const value = await context.secret('crm-token');
      read.set(name, value);
      return leak(value, context);
    },
  });
}

function throwing(error: (value: string) => Error): Leak {
  return (value) => {
    throw error(value);
  };
}

/** A tool for each place that a tool can write to. Its text begins with its name. */
export const leakyAgent = defineAgent({
  name: 'gossip',
  model: 'scripted/m',
  deps: z.looseObject({ note: z.string().optional() }),
  tools: [
    leakyTool('in_result', (value) => ({
      text: `in_result ${value}`,
      [`in_result_key ${value}`]: [encodeURIComponent(`in_result ${value}`), Buffer.from(`user:${value}`).toString('base64')],
    })),
    leakyTool(
      'in_error',
      throwing((value) => new Error(`in_error ${value}`, { cause: new Error(value) })),
      {
        maxAttempts: 2,
        backoff: { initial: 1 },
      },
    ),
    leakyTool('in_blocks', (value) => toolOutput([`in_blocks ${value}`, { type: 'text', text: value }, { type: 'json', [value]: value }])),
    leakyTool('in_heartbeat', async (value, { heartbeat }) => {
      heartbeat({ [`in_heartbeat_key ${value}`]: `in_heartbeat ${value}` });
      await heard.promise;
    }),
    leakyTool('in_log', (value, { log }) => {
      const fields = { [`in_log_key ${value}`]: { deep: [`in_log_field ${value}`] }, error: new Error(`in_log_error ${value}`) };
      log.debug(`in_log_debug ${value}`);
      log.info(`in_log_info ${value}`, fields);
      log.warn(`in_log_warn ${value}`, fields);
      log.error(`in_log_error ${value}`, fields);
    }),
    leakyTool('in_state', (value, { setState }) => setState(`in_state_key ${value}`, [{ text: `in_state ${value}` }])),
    leakyTool('in_update', (value) => withUpdate('in_update', contextUpdate().set('note', `in_update ${value}`))),
    leakyTool('in_update_key', (value) => withUpdate('in_update_key', contextUpdate().set(`in_update_key ${value}`, 1))),
    leakyTool('in_undone_update', (value) => withUpdate('in_undone_update', contextUpdate().set('gone', value).delete('gone'))),
    leakyTool(
      'in_model_retry',
      throwing((value) => new ModelRetry(`in_model_retry ${value}`)),
    ),
    leakyTool(
      'in_tool_failure',
      throwing((value) => new ToolFailure(`in_tool_failure ${value}`)),
    ),
    leakyTool('in_local_result', (value) => `in_local_result ${value}`, { tier: 'local' }),
    leakyTool(
      'in_local_error',
      throwing((value) => new Error(`in_local_error ${value}`)),
      { tier: 'local', maxAttempts: 2, backoff: { initial: 1 } },
    ),
    leakyTool('in_spilled', (value) => `in_spilled ${value}`.repeat(200), { maxResultBytes: 1_000, overflow: 'spill' }),
    leakyTool('in_resource', () => 'not reached', { resources: ['crm'], maxAttempts: 1 }),
  ],
});

/** A resource whose error repeats the secret. */
export const crm = resource({
  lazy: true,
  open: async ({ secret }) => {
    const value = await secret('crm-token');
    read.set('in_resource', value);
    throw new Error(`in_resource ${value}`);
  },
});
